// Package walked compares the fates of all packets with walks of single packets through the host.
package walked

import (
	"encoding/binary"
	"fmt"
	"math"
	"math/rand/v2"
	"net/netip"
	"slices"
	"strings"

	"github.com/chainwalk/chainwalk/forall"
	"github.com/chainwalk/chainwalk/packetsim/inet"
)

// Report is what a comparison found.
type Report struct {
	// Boxes are those of the function, Asked the packets whose fates were compared.
	Boxes, Asked int
	// Failed are packets of which the walk cannot say what becomes of them.
	Failed int
	// Unmodelled are packets whose fate is not known, Named those of boxes that a condition with a name must hold for, and Impossible those
	// that cannot be sent.
	Unmodelled, Named, Impossible int
	// Wrong are disagreements.
	Wrong []string
}

// String is the numbers.
func (r *Report) String() string {
	return fmt.Sprintf("%d boxes, %d packets walked, %d that cannot be walked, %d not modelled, "+
		"%d under a condition with a name, %d impossible, %d disagreements",
		r.Boxes, r.Asked, r.Failed, r.Unmodelled, r.Named, r.Impossible, len(r.Wrong))
}

// Add adds the numbers of another comparison.
func (r *Report) Add(other *Report) {
	r.Boxes, r.Asked, r.Failed, r.Unmodelled = r.Boxes+other.Boxes, r.Asked+other.Asked, r.Failed+other.Failed, r.Unmodelled+other.Unmodelled
	r.Named, r.Impossible, r.Wrong = r.Named+other.Named, r.Impossible+other.Impossible, append(r.Wrong, other.Wrong...)
}

// Text is the numbers and the disagreements.
func (r *Report) Text() string { return r.String() + "\n" + strings.Join(r.Wrong, "\n") }

// mostWrong is the number of disagreements after which a comparison ends.
const mostWrong = 5

// Compare walks random packets of random boxes, about so many, and compares their fates. The fates must have been worked out with
// forall.Exact, and of the host as it is.
func Compare(f *forall.Fates, r *rand.Rand, packets int) *Report {
	report := &Report{}
	stride := f.Size().Boxes / float64(packets)
	each := max(1, min(16, int(1/stride)))
	next := 0.0
	for space, want := range f.Boxes() {
		if report.Boxes++; float64(report.Boxes) < next {
			continue
		}
		next = float64(report.Boxes) + stride*(0.5+r.Float64())
		for range each {
			report.one(f, &space, want, r)
		}
		if len(report.Wrong) >= mostWrong {
			break
		}
	}
	return report
}

// one walks a random packet of a box.
func (r *Report) one(f *forall.Fates, space *forall.Space, want forall.Distribution, random *rand.Rand) {
	if slices.ContainsFunc(space.Names, func(n forall.Named) bool { return n.Holds || !isFirstClient(n.Name) }) {
		r.Named++ // nobody has told the walk whether it holds
		return
	}
	in, possible := Draw(space, random)
	switch {
	case !possible:
		r.Impossible++
	case !want.Known():
		r.Unmodelled++
	default:
		r.compare(f, &in, space, want)
	}
}

// isFirstClient says whether a condition is one of session affinity, which does not hold of a client that a host has not seen.
func isFirstClient(name string) bool {
	return strings.HasPrefix(name, "-m recent --rcheck") && strings.Contains(name, "--name KUBE-SEP-")
}

// tolerance is what probabilities may differ by.
const tolerance = 1e-8

// compare walks a packet and compares.
func (r *Report) compare(f *forall.Fates, in *inet.Input, space *forall.Space, want forall.Distribution) {
	otherwise, err := f.Confirm(space.Class, *in, want, tolerance)
	if err != nil { // a rule asks for what packets here do not say, whether or not it matters
		r.Failed++
		return
	}
	r.Asked++
	if otherwise != "" {
		r.Wrong = append(r.Wrong, fmt.Sprintf("%s\n  %s\n  in %s", in.Full(), otherwise, space))
	}
}

// Draw is a random packet of a box; false if it is one that cannot be sent.
func Draw(s *forall.Space, r *rand.Rand) (in inet.Input, possible bool) {
	port := func(p forall.Ports) uint16 { return p.First + uint16(r.IntN(int(p.Last-p.First)+1)) }
	p := inet.Packet{Proto: inet.Proto(port(s.Protos)), Dst: drawAddr(s.Dst, r), Src: drawAddr(s.Src, r), DstPort: port(s.DstPorts),
		SrcPort: port(s.SrcPorts)}
	usual := [...]inet.Proto{inet.TCP, inet.UDP, inet.SCTP, inet.ICMP, inet.ICMPv6}
	if u := usual[r.IntN(len(usual))]; s.Protos.Has(uint16(u)) {
		p.Proto = u
	}
	in = inet.Input{Packet: forall.Usual(p, s.Class), In: s.In[r.IntN(len(s.In))]}
	in.Local = in.In == ""
	return in, Possible(&in)
}

// Possible says whether a packet of given addresses and protocol can be sent.
func Possible(in *inet.Input) bool {
	return !noPacket(in.Dst.Is6(), in.Proto) && !in.Dst.Is4In6() && !in.Src.Is4In6()
}

// noPacket says whether a protocol is none of a family's packets: that of the other family, or a header of IPv6 behind which another one
// comes.
func noPacket(six bool, p inet.Proto) bool {
	switch p {
	case inet.ICMP, 0, 43, 44, inet.AH, 60:
		return six
	case inet.ICMPv6:
		return !six
	}
	return false
}

// drawAddr is a random address, every second time one of the ends.
func drawAddr(a forall.Addrs, r *rand.Rand) netip.Addr {
	switch r.IntN(4) {
	case 0:
		return a.First
	case 1:
		return a.Last
	}
	first, last := a.First.As16(), a.Last.As16()
	drawn := first
	if high, end := binary.BigEndian.Uint64(first[:8]), binary.BigEndian.Uint64(last[:8]); high != end {
		binary.BigEndian.PutUint64(drawn[:8], high+r.Uint64N(end-high))
		binary.BigEndian.PutUint64(drawn[8:], r.Uint64())
	} else if low, end := binary.BigEndian.Uint64(first[8:]), binary.BigEndian.Uint64(last[8:]); end-low < math.MaxUint64 {
		binary.BigEndian.PutUint64(drawn[8:], low+r.Uint64N(end-low+1))
	}
	out := netip.AddrFrom16(drawn)
	if a.First.Is4() {
		out = out.Unmap()
	}
	if !a.Has(out) {
		return a.First
	}
	return out
}
