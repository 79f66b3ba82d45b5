package certificate

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/chainwalk/chainwalk/netfilter"
)

// Options say how a certificate is checked.
type Options struct {
	// MostParts is into how many parts all boxes may have to be cut; 0: DefaultMostParts.
	MostParts int
}

// DefaultMostParts is into how many parts boxes are cut before Check gives up.
const DefaultMostParts = 5_000_000

// Report is what was checked.
type Report struct {
	// Boxes are those of the certificate, and Differ those of packets that both hosts treat otherwise. Parts are what they were cut into,
	// for both hosts together, and Walks the packets that were walked.
	Boxes, Differ, Parts, Walks int
	// Open are the boxes of which the certificate says nothing, by their reasons.
	Open []Open
	// Silent says of which families, or of which classes of them, the certificate says nothing, though a host has chains for them. diff
	// writes no such certificate.
	Silent []string
}

// Open is boxes of which a certificate says nothing.
type Open struct {
	Why   string
	Boxes int
	// Share is how much of all packets of the families and classes these are, from 0 to 1.
	Share float64
}

// Problem is what of a certificate does not hold.
type Problem struct {
	Family netfilter.Family
	// Class is the name of the class of the packets.
	Class string
	// Box is the number of the box among those of the family, from 0 on; -1: it is not about one.
	Box int
	// Packets are those of the box.
	Packets string
	What    string
}

// Error names the box and says what is wrong.
func (p *Problem) Error() string {
	switch {
	case p.Family == 0:
		return p.What
	case p.Box < 0:
		return fmt.Sprintf("%s: %s", nameOf(p.Family, p.Class), p.What)
	}
	return fmt.Sprintf("%s: box %d (%s): %s", nameOf(p.Family, p.Class), p.Box, p.Packets, p.What)
}

// nameOf is how messages call the packets of a family and class.
func nameOf(family netfilter.Family, class string) string {
	if class == New || class == "" {
		return fmt.Sprintf("IPv%d", family)
	}
	return fmt.Sprintf("IPv%d, %s", family, class)
}

func (b *Boxes) name() string { return nameOf(b.Family, b.Class) }

// Check verifies a certificate. Its error is a *Problem if the certificate does not hold; any other says why it cannot be checked.
func Check(c *Certificate, o Options) (*Report, error) {
	k := &checker{c: c, left: cmp.Or(o.MostParts, DefaultMostParts), open: map[string]*Open{}}
	most := k.left
	for side, input := range []*Input{&c.Before, &c.After} {
		h, err := input.Host()
		if err != nil {
			return nil, err
		}
		k.hosts[side] = &host{name: input.Name, host: h}
	}
	if err := k.silent(); err != nil {
		return nil, err
	}
	same := true
	for i := range c.Parts {
		if err := k.part(&c.Parts[i]); err != nil {
			if errors.Is(err, errTooMany) {
				err = fmt.Errorf("%w: %d", err, most)
			}
			return nil, err
		}
		same = same && !slices.ContainsFunc(c.Parts[i].Boxes, func(b Box) bool { return b.Witness != "" })
	}
	if same != c.Same {
		return nil, &Problem{What: fmt.Sprintf("it says same is %t, but its boxes say %t", c.Same, same)}
	}
	for _, why := range slices.Sorted(maps.Keys(k.open)) {
		one := *k.open[why]
		one.Share /= float64(len(c.Parts))
		k.report.Open = append(k.report.Open, one)
	}
	return &k.report, nil
}

// errTooMany says that boxes have to be cut too often.
var errTooMany = errors.New("the rules cut the boxes into more parts than are allowed")

// checker checks a certificate.
type checker struct {
	c      *Certificate
	hosts  [2]*host
	left   int // parts
	report Report
	open   map[string]*Open
}

// silent notes the families of which the certificate says nothing, and for which a host has chains.
func (k *checker) silent() error {
	for _, family := range []netfilter.Family{netfilter.IPv4, netfilter.IPv6} {
		missing, is := k.missing(family)
		if !is {
			continue
		}
		for _, h := range k.hosts {
			if err := h.look(family); err != nil {
				return err
			}
			if len(h.tables)+len(h.native) > 0 {
				text := fmt.Sprintf("it says nothing of %sIPv%d, and %s has chains for it", missing, family, h.name)
				k.report.Silent = append(k.report.Silent, text)
				break
			}
		}
	}
	return nil
}

// missing are the classes of which the certificate has boxes of the other family only, before the family's name; is is false if it has
// those of all classes.
func (k *checker) missing(family netfilter.Family) (before string, is bool) {
	have, all := map[string]bool{}, map[string]bool{}
	for i := range k.c.Parts {
		p := &k.c.Parts[i]
		all[p.class().name] = true
		if p.Family == family {
			have[p.class().name] = true
		}
	}
	if len(have) == 0 {
		return "", true
	}
	maps.DeleteFunc(all, func(name string, _ bool) bool { return have[name] })
	if len(all) == 0 {
		return "", false
	}
	return strings.Join(slices.Sorted(maps.Keys(all)), " and ") + " packets of ", true
}

// part checks the boxes of a family and class.
func (k *checker) part(p *Boxes) error {
	six := p.Family == netfilter.IPv6
	devices := map[string]bool{Host: true}
	for _, h := range k.hosts {
		if err := h.look(p.Family); err != nil {
			return err
		}
		for _, d := range h.terrain.Devices() {
			devices[d.Name] = true
		}
	}
	all := cover{six: six, devices: slices.Sorted(maps.Keys(devices))}
	for i := range p.Boxes {
		c := p.Boxes[i].cell()
		for _, d := range c.in {
			if !devices[d] {
				return &Problem{p.Family, p.Class, i, c.text(six), fmt.Sprintf("neither host has the device %q", d)}
			}
		}
		all.cells = append(all.cells, c)
	}
	var double *overlap
	switch err := all.check(); {
	case errors.As(err, &double):
		return &Problem{p.Family, p.Class, int(double.b), all.cells[double.b].text(six), err.Error()}
	case errors.Is(err, errTangled):
		return err
	case err != nil:
		return &Problem{p.Family, p.Class, -1, "", err.Error()}
	}
	for i := range p.Boxes {
		if err := k.box(p, i, &all.cells[i]); err != nil {
			return err
		}
	}
	return nil
}

// box checks one box.
func (k *checker) box(p *Boxes, number int, c *cell) error {
	b, six := &p.Boxes[number], p.Family == netfilter.IPv6
	k.report.Boxes++
	if b.Open != "" {
		if k.open[b.Open] == nil {
			k.open[b.Open] = &Open{Why: b.Open}
		}
		share := 1.0
		for f, s := range c.spans {
			share *= s.size() / field(f).whole(six).size()
		}
		k.open[b.Open].Boxes++
		k.open[b.Open].Share += share * float64(len(c.in)) / float64(k.devices())
		return nil
	}
	if b.Witness != "" {
		k.report.Differ++
	}
	for side, h := range k.hosts {
		v := &visit{k: k, h: h, class: p.class(), six: six, claim: k.c.Fates[b.on(side)], box: c, random: uint64(number)}
		err := v.whole(b.Witness)
		var wrong *mistake
		switch {
		case errors.As(err, &wrong):
			return &Problem{p.Family, p.Class, number, c.text(six), "on " + h.name + ", " + wrong.what}
		case err != nil:
			return fmt.Errorf("%s: box %d (%s): on %s: %w", p.name(), number, c.text(six), h.name, err)
		}
	}
	return nil
}

// devices is by how many devices packets may come.
func (k *checker) devices() int {
	all := map[string]bool{Host: true}
	for _, h := range k.hosts {
		for _, d := range h.terrain.Devices() {
			all[d.Name] = true
		}
	}
	return len(all)
}
