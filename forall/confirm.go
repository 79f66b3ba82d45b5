package forall

import (
	"fmt"
	"math"

	"github.com/chainwalk/chainwalk/packetsim"
	"github.com/chainwalk/chainwalk/packetsim/inet"
)

// Confirm walks a packet through a host and compares what becomes of it with a distribution of fates, but for the parts that these leave
// out. It returns what the walk says instead; empty if that is the same. Probabilities may differ by the tolerance. The error is the
// walk's, which cannot say what becomes of every packet.
func Confirm(h *packetsim.Host, in inet.Input, want Distribution, left Part, tolerance float64) (otherwise string, err error) {
	outcomes, err := h.Verdicts(in)
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
	if sameFates(have, should, tolerance) {
		return "", nil
	}
	return fmt.Sprintf("walked %v, worked out %v", have, should), nil
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
