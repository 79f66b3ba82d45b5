package certificate

import (
	"errors"
	"fmt"
	"maps"
	"math/big"
	"slices"
	"strings"

	"github.com/chainwalk/chainwalk/packetsim"
	"github.com/chainwalk/chainwalk/packetsim/inet"
)

// draws follows one way that the draws of a walk can fall, and multiplies their exact probabilities.
type draws struct {
	ideal  bool
	path   []choice
	used   int
	weight *big.Rat
}

// choice is one of so many ways, from 0; the last is the greatest.
type choice struct{ way, last uint32 }

// whole is what iptables takes probabilities as parts of.
const whole = 1 << 31

// Draw is true with the probability k/2^31, or 1/n if that is as near to it as k can be.
func (d *draws) Draw(k uint32) bool {
	if d.ideal && k > 1<<12 && k < whole {
		n := (uint64(whole) + uint64(k)/2) / uint64(k)
		if off := int64(uint64(k)*n) - whole; off <= int64(n) && -off <= int64(n) {
			return d.Part(1, n)
		}
	}
	return d.Part(uint64(k), whole)
}

// Part is true with the probability part/of.
func (d *draws) Part(part, of uint64) bool {
	if part == 0 || part >= of {
		return part != 0
	}
	fell := d.choose(2) == 0
	if !fell {
		part = of - part
	}
	d.weight.Mul(d.weight, new(big.Rat).SetFrac(new(big.Int).SetUint64(part), new(big.Int).SetUint64(of)))
	return fell
}

// OneOf is each number below n, all equally likely.
func (d *draws) OneOf(n uint32) uint32 {
	if n <= 1 {
		return 0
	}
	d.weight.Mul(d.weight, big.NewRat(1, int64(n)))
	return d.choose(n)
}

func (d *draws) choose(ways uint32) uint32 {
	if d.used == len(d.path) {
		d.path = append(d.path, choice{last: ways - 1})
	}
	d.used++
	return d.path[d.used-1].way
}

// next turns to the next way; false if there is none.
func (d *draws) next() bool {
	d.path = d.path[:d.used]
	for n := len(d.path) - 1; n >= 0; n-- {
		if d.path[n].way < d.path[n].last {
			d.path[n].way++
			d.path = d.path[:n+1]
			return true
		}
	}
	return false
}

// mostWays is up to how many ways the draws of one packet may fall.
const mostWays = 1 << 16

// fatesOf are the exact fates of one packet, with what it has at the end though nothing translated it.
func fatesOf(h *packetsim.Host, state packetsim.PacketState, in inet.Input, chance Chance, ignore []Part) (map[Fate]*big.Rat, error) {
	d := &draws{ideal: chance == Ideal}
	out := map[Fate]*big.Rat{}
	for range mostWays {
		d.used, d.weight = 0, big.NewRat(1, 1)
		o, err := h.VerdictIn(state, in, d)
		if err != nil {
			return nil, err
		}
		f := walked(&o, ignore)
		if out[f] == nil {
			out[f] = new(big.Rat)
		}
		out[f].Add(out[f], d.weight)
		if !d.next() {
			return out, nil
		}
	}
	return nil, fmt.Errorf("%s: its draws can fall in more than %d ways", in, mostWays)
}

// walked is what became of a packet.
func walked(o *packetsim.Outcome, ignore []Part) Fate {
	f := Fate{Verdict: o.Verdict, To: o.To, RejectWith: o.RejectWith, Out: o.Out}
	if o.Verdict == packetsim.Accept {
		f.Dst, f.DstPort, f.Src, f.Mark = o.Final.Dst, o.Final.DstPort, o.Final.Src, o.Final.Mark
	}
	return f.without(ignore)
}

// without is the fate but for what is left out.
func (f Fate) without(ignore []Part) Fate {
	for _, part := range ignore {
		switch part {
		case Mark:
			f.Mark = 0
		case Source:
			f.Src = inet.Packet{}.Src
		case Detail:
			f = Fate{Verdict: f.Verdict, To: f.To, Out: f.Out}
		}
	}
	return f
}

// Of is the fate as one packet has it: with its own address and port where nothing translates them.
func (f Fate) Of(in *inet.Input, ignore []Part) Fate {
	if f.Verdict == packetsim.Accept {
		if !f.Dst.IsValid() {
			f.Dst = in.Dst
		}
		if !f.Src.IsValid() {
			f.Src = in.Src
		}
		if f.DstPort == 0 {
			f.DstPort = in.DstPort
		}
	}
	return f.without(ignore)
}

// Measure gives the fates of a packet of a class, by its name, their exact weights, as a walk of it finds them. Two fates that are the
// same for the packet cannot be told apart, which is an error, and so is a packet that has other fates.
func Measure(h *packetsim.Host, class string, in inet.Input, fates []Fate, chance Chance, ignore []Part) (Distribution, error) {
	of := classes[class]
	if of == nil {
		return nil, fmt.Errorf("class %q: want %s", class, classNames)
	}
	found, err := fatesOf(h, of.state, in, chance, ignore)
	if err != nil {
		return nil, err
	}
	var out Distribution
	for _, f := range fates {
		as := f.Of(&in, ignore)
		weight := found[as]
		if weight == nil {
			return nil, fmt.Errorf("%s: no walk ends so: %s", in, f)
		}
		delete(found, as)
		out = append(out, Share{Weight{weight}, f})
	}
	if len(found) > 0 {
		return nil, fmt.Errorf("%s: a walk ends otherwise: %s", in, told(found))
	}
	return out, nil
}

// of is the distribution as one packet has it.
func (d Distribution) of(in *inet.Input, ignore []Part) map[Fate]*big.Rat {
	out := map[Fate]*big.Rat{}
	for _, s := range d {
		f := s.Of(in, ignore)
		if out[f] == nil {
			out[f] = new(big.Rat)
		}
		out[f].Add(out[f], s.Weight.Rat)
	}
	return out
}

// check says what is wrong with a distribution.
func (d Distribution) check() error {
	sum := new(big.Rat)
	for _, s := range d {
		if s.Weight.Rat == nil {
			return errors.New("a fate has no weight")
		}
		sum.Add(sum, s.Weight.Rat)
	}
	if sum.Cmp(certain) != 0 {
		return fmt.Errorf("the weights add up to %s, want 1", sum.RatString())
	}
	return nil
}

// sameFates says whether two packets' fates are the same.
func sameFates(a, b map[Fate]*big.Rat) bool {
	return maps.EqualFunc(a, b, func(v, w *big.Rat) bool { return v.Cmp(w) == 0 })
}

// told is fates as text, in a stable order.
func told(fates map[Fate]*big.Rat) string {
	var texts []string
	for f, w := range fates {
		if text := f.String(); w.Cmp(certain) == 0 {
			texts = append(texts, text)
		} else {
			texts = append(texts, w.RatString()+": "+text)
		}
	}
	slices.Sort(texts)
	return strings.Join(texts, "; ")
}

// String is the fate in a few words.
func (f Fate) String() string {
	var b strings.Builder
	b.WriteString(string(f.Verdict))
	switch {
	case f.RejectWith != "":
		b.WriteString(" with " + f.RejectWith)
	case f.To == packetsim.ToLocal:
		b.WriteString(" local")
	case f.To == packetsim.ToForward:
		b.WriteString(" out of " + f.Out)
	}
	if f.Dst.IsValid() {
		b.WriteString(", to " + f.Dst.String())
	}
	if f.DstPort != 0 {
		fmt.Fprintf(&b, " port %d", f.DstPort)
	}
	if f.Src.IsValid() {
		b.WriteString(", from " + f.Src.String())
	}
	if f.Mark != 0 {
		fmt.Fprintf(&b, ", mark %#x", f.Mark)
	}
	return b.String()
}
