package forall

import (
	"fmt"
	"math"
	"math/rand/v2"
	"net/netip"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/chainwalk/chainwalk/forall/internal/diagram"
	"github.com/chainwalk/chainwalk/packetsim"
	"github.com/chainwalk/chainwalk/packetsim/inet"
)

// checked is what a comparison with concrete walks found.
type checked struct {
	boxes, asked, unmodelled, named, impossible int
	wrong                                       []string
}

func (c *checked) String() string {
	return fmt.Sprintf("%d boxes, %d packets asked, %d not modelled, %d with names, %d impossible, %d wrong", c.boxes, c.asked, c.unmodelled, c.named,
		c.impossible, len(c.wrong))
}

// check walks random packets of random boxes, up to so many, and compares their fates with what the function says.
func check(t testing.TB, f *Fates, r *rand.Rand, most int) *checked {
	t.Helper()
	c := &checked{}
	for i := range f.parts {
		p := &f.parts[i]
		total := p.world.store.CountPaths(p.root)
		stride := total / float64(most)
		at, next := 0.0, 0.0
		p.world.store.Paths(p.root, func(path []diagram.Edge, leaf diagram.ID) bool {
			c.boxes++
			if at++; at < next {
				return true
			}
			next = at + stride*(0.5+r.Float64())
			space := p.world.space(p.family, p.class, path)
			for range max(1, min(8, int(1/stride))) {
				c.one(t, f, p, &space, p.distribution(leaf), r)
			}
			return len(c.wrong) < 5
		})
	}
	return c
}

// one walks a random packet of a box.
func (c *checked) one(t testing.TB, f *Fates, p *part, space *Space, want Distribution, r *rand.Rand) {
	if slices.ContainsFunc(space.Names, func(n Named) bool { return n.Holds }) {
		c.named++
		return
	}
	in, possible := draw(space, r)
	if !possible {
		c.impossible++
		return
	}
	c.compare(t, f, in, want)
}

func (c *checked) compare(t testing.TB, f *Fates, in inet.Input, want Distribution) {
	t.Helper()
	if !want.Known() {
		c.unmodelled++
		return
	}
	c.asked++
	outcomes, err := f.host.Verdicts(in)
	if err != nil {
		c.wrong = append(c.wrong, fmt.Sprintf("%s\n  walk %v\n  forall %s", in.Full(), err, want))
		return
	}
	have, should := map[string]float64{}, map[string]float64{}
	for i := range outcomes {
		have[walkedFate(&outcomes[i])] += outcomes[i].Probability
	}
	for _, s := range want {
		should[endOf(&s.Fate, &in)] += s.Probability
	}
	same := len(have) == len(should)
	for k, v := range have {
		same = same && math.Abs(should[k]-v) < 1e-8
	}
	if !same {
		c.wrong = append(c.wrong, fmt.Sprintf("%s\n  walk   %v\n  forall %v", in.Full(), have, should))
	}
	require.NotEmpty(t, outcomes)
}

// walkedFate is an outcome in the words of endOf.
func walkedFate(o *packetsim.Outcome) string {
	f := Fate{Verdict: o.Verdict, To: o.To, RejectWith: o.RejectWith, Out: o.Out}
	if o.Verdict != packetsim.Accept {
		return fmt.Sprintf("%+v", f)
	}
	f.Dst, f.DstPort, f.Src, f.Mark = o.Final.Dst, o.Final.DstPort, o.Final.Src, o.Final.Mark
	return fmt.Sprintf("%+v", f)
}

// endOf is a fate with what a packet has that nothing translates.
func endOf(f *Fate, in *inet.Input) string {
	end := *f
	if f.Verdict != packetsim.Accept {
		return fmt.Sprintf("%+v", end)
	}
	if !end.Dst.IsValid() {
		end.Dst = in.Dst
	}
	if !end.Src.IsValid() {
		end.Src = in.Src
	}
	if end.DstPort == 0 {
		end.DstPort = in.DstPort
	}
	return fmt.Sprintf("%+v", end)
}

// draw is a random packet of a box; false if there is none that can be sent.
func draw(s *Space, r *rand.Rand) (inet.Input, bool) {
	port := func(p Ports) uint16 { return p.First + uint16(r.IntN(int(p.Last-p.First)+1)) }
	var p inet.Packet
	p.Proto = inet.Proto(port(s.Protos))
	usual := [...]inet.Proto{inet.TCP, inet.UDP, inet.SCTP, inet.ICMP, inet.ICMPv6}
	if u := usual[r.IntN(len(usual))]; s.Protos.Has(uint16(u)) {
		p.Proto = u
	}
	p.Dst, p.Src = drawAddr(s.Dst, r), drawAddr(s.Src, r)
	p.DstPort, p.SrcPort = port(s.DstPorts), port(s.SrcPorts)
	in := inet.Input{Packet: Usual(p, s.Class), In: s.In[r.IntN(len(s.In))]}
	in.Local = in.In == ""
	six := p.Dst.Is6()
	return in, !(six && p.Proto == inet.ICMP || !six && p.Proto == inet.ICMPv6)
}

// drawAddr is a random address, often near one of the ends.
func drawAddr(a Addrs, r *rand.Rand) netip.Addr {
	first, last := valueOf(a.First), valueOf(a.Last)
	if first == last {
		return a.First
	}
	switch r.IntN(4) {
	case 0:
		return a.First
	case 1:
		return a.Last
	}
	v := first
	if first.High != last.High {
		v = diagram.Value{High: first.High + 1 + r.Uint64N(last.High-first.High), Low: r.Uint64()}
		if last.Less(v) {
			v = last
		}
	} else if span := last.Low - first.Low; span < math.MaxUint64 {
		v.Low += r.Uint64N(span + 1)
	}
	return addrOf(v, a.First.Is6())
}

func (c *checked) require(t testing.TB) {
	t.Helper()
	if len(c.wrong) > 0 {
		t.Errorf("%s:\n%s", c, strings.Join(c.wrong, "\n"))
	}
}
