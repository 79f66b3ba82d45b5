// Package certify writes certificates: the fates that package forall has computed of two hosts, in a form that package certificate checks
// without it.
package certify

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"

	"github.com/chainwalk/chainwalk/forall"
	"github.com/chainwalk/chainwalk/forall/certificate"
	"github.com/chainwalk/chainwalk/forall/walked"
	"github.com/chainwalk/chainwalk/netfilter"
	"github.com/chainwalk/chainwalk/packetsim"
	"github.com/chainwalk/chainwalk/packetsim/inet"
)

// Options say what a certificate is about.
type Options struct {
	// Families are those of the packets; empty: both.
	Families []netfilter.Family
	// Classes are those of the packets; empty: forall.New.
	Classes []forall.Class
	Chance  forall.Chance
	// Ignore is what fates do not say.
	Ignore forall.Part
	// MostBoxes is how many boxes it may have for each family and class; 0: DefaultMostBoxes.
	MostBoxes int
}

// DefaultMostBoxes is how many boxes a certificate has at most: about 40 MB of text.
const DefaultMostBoxes = 200_000

// TooManyError says that a certificate would have too many boxes.
type TooManyError struct {
	Family netfilter.Family
	Class  forall.Class
	Boxes  float64
	Most   int
}

// Error says how many.
func (e *TooManyError) Error() string {
	return fmt.Sprintf("certificate: %s has %.0f boxes of packets, more than %d: allow more of them, or compare hosts with fewer rules",
		nameOf(e.Family, e.Class), e.Boxes, e.Most)
}

// nameOf is how messages call the packets of a family and class.
func nameOf(family netfilter.Family, class forall.Class) string {
	if class == forall.New {
		return fmt.Sprintf("IPv%d", family)
	}
	return fmt.Sprintf("IPv%d, %s", family, class)
}

// Of is the certificate of two hosts.
func Of(before, after certificate.Input, o Options) (*certificate.Certificate, error) {
	if len(o.Families) == 0 {
		o.Families = []netfilter.Family{netfilter.IPv4, netfilter.IPv6}
	}
	if len(o.Classes) == 0 {
		o.Classes = []forall.Class{forall.New}
	}
	if o.MostBoxes == 0 {
		o.MostBoxes = DefaultMostBoxes
	}
	c := &certificate.Certificate{Version: certificate.Version, Before: before, After: after, Chance: certificate.Ideal, Same: true}
	if o.Chance == forall.Exact {
		c.Chance = certificate.Exact
	}
	for part, name := range map[forall.Part]certificate.Part{
		forall.Mark: certificate.Mark, forall.Source: certificate.Source, forall.Detail: certificate.Detail,
	} {
		if o.Ignore&part != 0 {
			c.Ignore = append(c.Ignore, name)
		}
	}
	slices.Sort(c.Ignore)
	w := writer{c: c}
	var err error
	for side, input := range [...]*certificate.Input{&before, &after} {
		if w.hosts[side], err = input.Host(); err != nil {
			return nil, err
		}
	}
	for _, family := range o.Families {
		if err := w.family(family, &o); err != nil {
			return nil, err
		}
	}
	return c, nil
}

// writer writes a certificate.
type writer struct {
	c     *certificate.Certificate
	hosts [2]*packetsim.Host
	known map[int]int // the certificate's numbers of distributions, by those of the family
}

func (w *writer) family(family netfilter.Family, o *Options) error {
	options := forall.Options{Families: []netfilter.Family{family}, Classes: o.Classes, Chance: o.Chance, Ignore: o.Ignore}
	var fates [2]*forall.Fates
	for side, h := range w.hosts {
		var err error
		if fates[side], err = forall.Of(h, options); err != nil {
			return err
		}
		options.Against = fates[0]
	}
	for _, class := range o.Classes {
		if err := w.class(fates[0].Both(fates[1], family, class, saysOf(class)), family, class, o.MostBoxes); err != nil {
			return err
		}
	}
	return nil
}

// class writes the boxes of a family and class.
func (w *writer) class(both *forall.Both, family netfilter.Family, class forall.Class, most int) error {
	if n := both.Count(); n > float64(most) {
		return &TooManyError{family, class, n, most}
	}
	part := certificate.Boxes{Family: family, Class: class.String(), Boxes: []certificate.Box{}}
	w.known = map[int]int{}
	for p := range both.Boxes() {
		box, err := w.box(&p)
		if err != nil {
			return fmt.Errorf("certificate: %s: %w", nameOf(family, class), err)
		}
		part.Boxes = append(part.Boxes, box)
	}
	w.c.Parts = append(w.c.Parts, part)
	return nil
}

func (w *writer) box(p *forall.Pair) (certificate.Box, error) {
	s := &p.Space
	b := certificate.Box{
		Dst: certificate.Addrs(s.Dst), DstPorts: certificate.Numbers(s.DstPorts), Protos: certificate.Numbers(s.Protos),
		Src: certificate.Addrs(s.Src), SrcPorts: certificate.Numbers(s.SrcPorts), In: s.In,
	}
	if b.Open = open(p); b.Open != "" {
		return b, nil
	}
	before, err := w.fates(p, 0, p.Here)
	after, err2 := w.fates(p, 1, p.There)
	switch err := errors.Join(err, err2); {
	case errors.Is(err, errNone):
		b.Open = errNone.Error()
	case err != nil:
		return b, err
	case p.Numbers[0] == p.Numbers[1]:
		b.Fates = &before
	default:
		witness, possible := witnessOf(p)
		if !possible {
			b.Open = errNone.Error()
			return b, nil
		}
		b.Before, b.After, b.Witness = &before, &after, witness.Full()
		w.c.Same = false
	}
	return b, nil
}

// witnessOf is a packet of a pair, as likely a one as there is, of those that can be sent; false if none was found.
func witnessOf(p *forall.Pair) (in inet.Input, possible bool) {
	in = p.Witness
	random := rand.New(rand.NewPCG(0, 0))
	for n := 0; !walked.Possible(&in) && n < tries; n++ {
		in, _ = walked.Draw(&p.Space, random)
	}
	return in, walked.Possible(&in)
}

// errNone says that a box has no packets that can be sent.
var errNone = errors.New("there are no such packets")

// open says why nothing is said of a pair; empty: both fates are known.
func open(p *forall.Pair) string {
	var why []string
	for _, d := range [...]forall.Distribution{p.Here, p.There} {
		for _, s := range d {
			if s.Fate.Unmodelled != "" && !slices.Contains(why, s.Fate.Unmodelled) {
				why = append(why, s.Fate.Unmodelled)
			}
		}
	}
	slices.Sort(why)
	return strings.Join(why, "; ")
}

// fates is the number of the fates on a host.
func (w *writer) fates(p *forall.Pair, side int, d forall.Distribution) (int, error) {
	if n, is := w.known[p.Numbers[side]]; is {
		return n, nil
	}
	measured, err := w.measure(p, side, d)
	if err != nil {
		return 0, err
	}
	n := len(w.c.Fates)
	w.c.Fates = append(w.c.Fates, measured)
	w.known[p.Numbers[side]] = n
	return n, nil
}

// tries is how many packets of a box are walked to find one whose fates can be told apart.
const tries = 16

// measure finds the exact weights of fates by a walk. Fates that are not told apart by what a packet has already, as of one that is for
// an endpoint to which it would be translated, need another packet.
func (w *writer) measure(p *forall.Pair, side int, d forall.Distribution) (certificate.Distribution, error) {
	fates := make([]certificate.Fate, len(d))
	for i, s := range d {
		f := &s.Fate
		fates[i] = certificate.Fate{Verdict: f.Verdict, To: f.To, RejectWith: f.RejectWith, Out: f.Out, Dst: f.Dst, DstPort: f.DstPort,
			Src: f.Src, Mark: f.Mark}
	}
	random := rand.New(rand.NewPCG(uint64(p.Numbers[side]), 0))
	in, err := p.Witness, error(nil)
	for range tries {
		var found certificate.Distribution
		if found, err = w.measured(p, side, in, d, fates); err == nil {
			return found, nil
		}
		drawn, possible := walked.Draw(&p.Space, random)
		for n := 0; !possible && n < tries; n++ {
			drawn, possible = walked.Draw(&p.Space, random)
		}
		if !possible {
			return nil, errNone
		}
		in = drawn
	}
	return nil, fmt.Errorf("of %s: %w", p.Space.String(), err)
}

func (w *writer) measured(p *forall.Pair, side int, in inet.Input, d forall.Distribution, fates []certificate.Fate,
) (certificate.Distribution, error) {
	found, err := certificate.Measure(w.hosts[side], p.Space.Class.String(), in, fates, w.c.Chance, w.c.Ignore)
	if err != nil {
		return nil, err
	}
	for i, s := range found {
		if weight, _ := s.Weight.Float64(); math.Abs(weight-d[i].Probability) > tolerance {
			return nil, fmt.Errorf("%s: %s has the weight %s by a walk, but was worked out to have %g (please report this mistake of chainwalk)",
				in, s.Fate, s.Weight.RatString(), d[i].Probability)
		}
	}
	return found, nil
}

// tolerance is what sums of floats may be off by.
const tolerance = 1e-9
