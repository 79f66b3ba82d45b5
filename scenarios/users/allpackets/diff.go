package allpackets

import (
	"fmt"
	"slices"

	"github.com/chainwalk/chainwalk/forall"
	"github.com/chainwalk/chainwalk/netfilter"
	"github.com/chainwalk/chainwalk/packetsim"
	"github.com/chainwalk/chainwalk/packetsim/inet"
	"github.com/chainwalk/chainwalk/scenarios/explain/names"
)

// Side is a host that is compared.
type Side struct {
	// Name is what people call it: a file, a node.
	Name string
	Host *packetsim.Host
	// Families are those of which it has rules.
	Families []netfilter.Family
	// Unread is what was not read of it, each with the reason.
	Unread []string
	// Names are those of the objects there; nil: none are known.
	Names *names.Book
}

// Diff is how two hosts differ, for all packets.
type Diff struct {
	Version int    `json:"version"`
	Answer  string `json:"answer"`
	// Same says that all packets are treated alike.
	Same        bool         `json:"same"`
	Differences []Difference `json:"differences"`
	// Unknown are kinds of packets whose fate is not known on a side, since it is not modelled.
	Unknown []string `json:"unknown,omitempty"`
	// Unread is what was not read of a side.
	Unread []string `json:"unread,omitempty"`

	// All has WriteText write every kind of packets, and not one of those about which the same rules decide.
	All bool `json:"-"`

	sides [2]Side
}

// Difference is one kind of difference.
type Difference struct {
	Kind
	Before forall.Distribution `json:"before"`
	After  forall.Distribution `json:"after"`
	// DecidedBefore and DecidedAfter are the last rules that the packet meets, by a walk of it.
	DecidedBefore []string `json:"decidedBefore,omitempty"`
	DecidedAfter  []string `json:"decidedAfter,omitempty"`

	witness *inet.Input // nil if it cannot be walked
}

// Compare finds every kind of difference between two hosts. The families of the options are those of which a side has rules.
func Compare(sides [2]Side, o forall.Options) (*Diff, error) {
	d := &Diff{Version: 1, Same: true, Differences: []Difference{}, sides: sides}
	for i := range sides {
		for _, text := range sides[i].Unread {
			d.Unread = append(d.Unread, sides[i].Name+": "+text)
		}
	}
	for _, family := range FamiliesOf(sides[:]) {
		if err := d.compare(family, o); err != nil {
			return nil, err
		}
	}
	d.conclude()
	return d, nil
}

// FamiliesOf are those of the packets that a side may treat otherwise than every host does.
func FamiliesOf(sides []Side) (out []netfilter.Family) {
	for _, family := range []netfilter.Family{netfilter.IPv4, netfilter.IPv6} {
		if slices.ContainsFunc(sides, func(s Side) bool { return slices.Contains(s.Families, family) }) {
			out = append(out, family)
		}
	}
	return out
}

// compare adds the differences of a family.
func (d *Diff) compare(family netfilter.Family, o forall.Options) error {
	o.Families = []netfilter.Family{family}
	var fates [2]*forall.Fates
	for i := range d.sides {
		var err error
		o.Against = fates[0]
		if fates[i], err = forall.Of(d.sides[i].Host, o); err != nil {
			return fmt.Errorf("%s: %w", d.sides[i].Name, err)
		}
	}
	if fates[0].Equal(fates[1]) {
		return nil
	}
	d.Same = false
	for found := range fates[0].Diff(fates[1]) {
		if !found.Here.Known() || !found.There.Known() {
			d.Unknown = append(d.Unknown, fmt.Sprintf("%s: before %s; after %s", found.Space.String(), found.Here, found.There))
			continue
		}
		one, err := Tell(d.sides, &found, o.Ignore)
		if err != nil {
			return err
		}
		d.Differences = append(d.Differences, one)
	}
	return nil
}

// Tell says of a difference between two hosts what people ask: the names of a likely packet's ends and, by walks, what decides on either
// side. The error is that a walk says something else than was worked out.
func Tell(sides [2]Side, found *forall.Difference, ignore forall.Part) (Difference, error) {
	one := Difference{Kind: kindOf(&found.Space, found.Share, &found.Witness, nil), Before: found.Here, After: found.There}
	one.Ends = endsOfBoth(&sides, &found.Witness)
	if !found.Space.Walkable() {
		return one, nil
	}
	for i, want := range [2]forall.Distribution{found.Here, found.There} {
		if err := confirm(sides[i].Host, found.Space.Class, found.Witness, want, ignore); err != nil {
			return one, fmt.Errorf("%s: %w", sides[i].Name, err)
		}
	}
	one.witness = &found.Witness
	one.DecidedBefore = decided(sides[0].Host, found.Space.Class, found.Witness)
	one.DecidedAfter = decided(sides[1].Host, found.Space.Class, found.Witness)
	return one, nil
}

// conclude puts the answer into words.
func (d *Diff) conclude() {
	before, after := d.sides[0].Name, d.sides[1].Name
	switch n := len(d.Differences); {
	case d.Same && len(d.Unread) > 0:
		d.Answer = fmt.Sprintf("cannot say: parts of a side were not read; by the rest, %s and %s treat all packets alike", before, after)
	case d.Same:
		d.Answer = fmt.Sprintf("%s and %s treat all packets alike", before, after)
	case n == 0:
		d.Answer = fmt.Sprintf("cannot say: what becomes of %s of packets is not known", kinds(len(d.Unknown)))
	case n == 1:
		d.Answer = "1 kind of packets is treated otherwise"
	default:
		d.Answer = kinds(n) + " of packets are treated otherwise"
	}
	if len(d.Unknown) > 0 && len(d.Differences) > 0 {
		d.Answer = fmt.Sprintf("what becomes of %s of packets is not known; %s", kinds(len(d.Unknown)), d.Answer)
	}
}

// Open says that nothing was found, and that something is not known.
func (d *Diff) Open() bool { return len(d.Unknown)+len(d.Unread) > 0 && len(d.Differences) == 0 }

// kinds is "1 kind", "2 kinds".
func kinds(n int) string {
	if n == 1 {
		return "1 kind"
	}
	return fmt.Sprintf("%d kinds", n)
}
