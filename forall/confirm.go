package forall

import (
	"fmt"
	"math"
	"slices"

	"github.com/chainwalk/chainwalk/packetsim"
	"github.com/chainwalk/chainwalk/packetsim/inet"
)

// Confirm walks a packet of a class through a host and compares what becomes of it with a distribution of fates, but for the parts that
// these leave out. It returns what the walk says instead; empty if that is the same. Probabilities may differ by the tolerance. The error
// is the walk's, which cannot say what becomes of every packet.
func Confirm(h *packetsim.Host, class Class, in inet.Input, want Distribution, left Part, tolerance float64) (otherwise string, err error) {
	outcomes, err := h.VerdictsIn(class.State(), in)
	if err != nil {
		return "", err
	}
	have, should := map[Fate]float64{}, map[Fate]float64{}
	for i := range outcomes {
		have[walkedFate(&outcomes[i]).without(left)] += outcomes[i].Probability
	}
	for _, s := range want {
		should[s.Fate.completed(&in).without(left)] += s.Probability
	}
	return compared(have, should, tolerance), nil
}

// Confirm compares what becomes of a packet of a class with fates of this kind, as the function Confirm does: with those of its reply, and
// through the other nodes, if the fates say these, which are of new packets alone.
func (f *Fates) Confirm(class Class, in inet.Input, want Distribution, tolerance float64) (otherwise string, err error) {
	switch {
	case f.options.Replies:
		return f.confirmReplies(in, want, tolerance)
	case len(f.options.Through) > 0:
		return f.confirmThrough(in, want, tolerance)
	}
	return Confirm(f.host, class, in, want, f.options.Ignore, tolerance)
}

// confirmReplies follows with a walk the likeliest way of a reply, which must be one of those that were worked out.
func (f *Fates) confirmReplies(in inet.Input, want Distribution, tolerance float64) (otherwise string, err error) {
	outcomes, err := f.host.WalkWith(in, packetsim.WalkOptions{Back: true})
	if err != nil {
		return "", err
	}
	have, should := map[Fate]float64{}, map[Fate]float64{}
	backs := map[Fate][]Back{}
	for _, s := range want {
		fate := s.Fate.completed(&in).without(f.options.Ignore)
		back := fate.Back
		fate.Back = Back{}
		should[fate] += s.Probability
		backs[fate] = append(backs[fate], back)
	}
	for i := range outcomes {
		fate := walkedFate(&outcomes[i]).without(f.options.Ignore)
		have[fate] += outcomes[i].Probability
		back, known := walkedBack(outcomes[i].Back)
		is := func(b Back) bool { return b == back || b.Unmodelled != "" }
		if known && len(backs[fate]) > 0 && !slices.ContainsFunc(backs[fate], is) {
			return fmt.Sprintf("%s: walked the reply %+v, worked out %+v", fate, back, backs[fate]), nil
		}
	}
	return compared(have, should, tolerance), nil
}

// confirmThrough walks a packet through one node after the other.
func (f *Fates) confirmThrough(in inet.Input, want Distribution, tolerance float64) (otherwise string, err error) {
	have, should := map[Fate]float64{}, map[Fate]float64{}
	walk := f.walkThrough(in, (*packetsim.Host).Verdicts)
	walk.ended = func(fate Fate, probability float64) { have[fate.without(f.options.Ignore)] += probability }
	if err := walk.from(0, in, "", 1, mostNodes-1); err != nil {
		return "", err
	}
	for _, s := range want {
		should[s.Fate.completed(&in).without(f.options.Ignore)] += s.Probability
	}
	return compared(have, should, tolerance), nil
}

// Passes walks a packet through the host and the other nodes that it goes through, and calls each with what every node does with it.
func (f *Fates) Passes(in inet.Input, each func(node string, o *packetsim.Outcome)) error {
	walk := f.walkThrough(in, (*packetsim.Host).Walk)
	walk.passed, walk.ended = each, func(Fate, float64) {}
	return walk.from(0, in, "", 1, mostNodes-1)
}

// walkThrough is a walk through nodes.
type walkThrough struct {
	*entrances
	walk   func(*packetsim.Host, inet.Input) ([]packetsim.Outcome, error)
	passed func(node string, o *packetsim.Outcome)
	ended  func(fate Fate, probability float64)
}

func (f *Fates) walkThrough(in inet.Input, walk func(*packetsim.Host, inet.Input) ([]packetsim.Outcome, error)) *walkThrough {
	return &walkThrough{entrances: newEntrances(f.options.nodes(f.host), inet.FamilyOf(in.Dst)), walk: walk,
		passed: func(string, *packetsim.Outcome) {}}
}

// from walks a packet that comes to a node and may pass so many more.
func (w *walkThrough) from(node int, in inet.Input, way string, probability float64, more int) error {
	outcomes, err := w.walk(w.nodes[node].Host, in)
	if err != nil {
		return err
	}
	way += w.nodes[node].Name
	for i := range outcomes {
		o := &outcomes[i]
		w.passed(w.nodes[node].Name, o)
		e, likely := w.entered(node, o), probability*o.Probability
		switch {
		case e == nil:
			fate := walkedFate(o)
			fate.Way = way
			w.ended(fate, likely)
		case more == 0:
			w.ended(Fate{Unmodelled: tooMany}, likely)
		default:
			next := inet.Input{Packet: o.Packet, In: e.device}
			next.Mark, next.Socket = 0, nil
			if err := w.from(e.node, next, way+" > ", likely, more-1); err != nil {
				return err
			}
		}
	}
	return nil
}

// entered is where a packet comes in that leaves a node; nil: nowhere.
func (w *walkThrough) entered(node int, o *packetsim.Outcome) *entrance {
	if o.Verdict != packetsim.Accept || o.To != packetsim.ToForward {
		return nil
	}
	all := w.of(node, o.Out)
	for i := range all {
		if slices.Contains(all[i].owns, o.NextHop) {
			return &all[i]
		}
	}
	return nil
}

// compared is what was walked and what was worked out, if they are not the same.
func compared(have, should map[Fate]float64, tolerance float64) string {
	if sameFates(have, should, tolerance) {
		return ""
	}
	return fmt.Sprintf("walked %v, worked out %v", have, should)
}

func sameFates(a, b map[Fate]float64, tolerance float64) bool {
	if len(a) != len(b) {
		return false
	}
	for fate, p := range a {
		if math.Abs(b[fate]-p) > tolerance {
			return false
		}
	}
	return true
}

// walkedFate is an outcome as a completed Fate.
func walkedFate(o *packetsim.Outcome) Fate {
	f := Fate{Verdict: o.Verdict, To: o.To, RejectWith: o.RejectWith, Out: o.Out}
	if o.Verdict == packetsim.Accept {
		f.Dst, f.DstPort, f.Src, f.Mark = o.Final.Dst, o.Final.DstPort, o.Final.Src, o.Final.Mark
	}
	return f
}

// completed is the fate with what a packet has that nothing translates.
func (f Fate) completed(in *inet.Input) Fate {
	if f.Verdict != packetsim.Accept {
		return f
	}
	if !f.Dst.IsValid() {
		f.Dst = in.Dst
	}
	if !f.Src.IsValid() {
		f.Src = in.Src
	}
	if f.DstPort == 0 {
		f.DstPort = in.DstPort
	}
	return f
}
