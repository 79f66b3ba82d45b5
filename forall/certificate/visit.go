package certificate

import (
	"fmt"
	"math/rand/v2"

	"github.com/chainwalk/chainwalk/packetsim"
	"github.com/chainwalk/chainwalk/packetsim/inet"
)

// visit checks what a box says of its packets on one host.
type visit struct {
	k      *checker
	h      *host
	class  *class
	six    bool
	claim  Distribution
	box    *cell
	random uint64
	cutAt  *cut // the last
}

// mistake is what does not hold.
type mistake struct{ what string }

func (m *mistake) Error() string { return m.what }

// whole checks the box, and the packet that is said to show what differs.
func (v *visit) whole(witness string) error {
	if witness != "" {
		in, err := inet.ParseInput(witness)
		if err != nil {
			return err
		}
		if err := v.exactly(in); err != nil {
			return err
		}
	}
	return v.cell(*v.box)
}

// cell checks packets: those of both parts, if something that the host asks of them cuts them, and otherwise some of them.
func (v *visit) cell(c cell) error {
	if v.k.left--; v.k.left < 0 {
		return errTooMany
	}
	v.k.report.Parts++
	if low, high, is := v.byUnlikeHeaders(&c); is {
		return v.both(low, high)
	}
	first, possible := v.corner(&c, false)
	if !possible {
		return nil // there are no such packets
	}
	outcomes, err := v.h.host.WalkWith(first, packetsim.WalkOptions{Missed: true, State: v.class.state})
	if err != nil {
		return err
	}
	v.k.report.Walks++
	for i := range outcomes {
		r := reader{host: v.h, class: v.class, cell: &c, six: v.six, state: unseen}
		if err := r.follow(&outcomes[i]); err != nil {
			return err
		}
		if r.cut != nil {
			low, high := c.parts(r.cut)
			v.cutAt = r.cut
			return v.both(low, high)
		}
	}
	return v.uniform(&c, first, trail(outcomes))
}

func (v *visit) both(low, high cell) error {
	if err := v.cell(low); err != nil {
		return err
	}
	return v.cell(high)
}

// byUnlikeHeaders parts packets that can be sent from those that cannot.
func (v *visit) byUnlikeHeaders(c *cell) (low, high cell, is bool) {
	if !v.six {
		return low, high, false
	}
	mapped := span{value{low: 0xffff << 32}, value{low: 0xffff<<32 | 0xffffffff}}
	for _, f := range [...]field{dst, src} {
		s := c.spans[f]
		switch {
		case s.first.less(mapped.first) && !s.last.less(mapped.first):
			low, high = c.parts(&cut{field: f, from: mapped.first})
			return low, high, true
		case s.has(mapped.last) && mapped.last.less(s.last):
			low, high = c.parts(&cut{field: f, from: mapped.last.next()})
			return low, high, true
		}
	}
	return low, high, false
}

// uniform checks packets that the host asks nothing that cuts them: all of them go the same way, by the reading of the rules, and some
// of them do, by walks.
func (v *visit) uniform(c *cell, first inet.Input, way string) error {
	if err := v.exactly(first); err != nil {
		return err
	}
	for _, in := range v.samples(c) {
		outcomes, err := v.h.host.WalkWith(in, packetsim.WalkOptions{State: v.class.state})
		if err != nil {
			return err
		}
		if v.k.report.Walks++; trail(outcomes) != way {
			return fmt.Errorf("%s and %s go different ways, though nothing was found that tells them apart", first, in)
		}
		if err := v.alike(in, outcomes); err != nil {
			return err
		}
	}
	return nil
}

// exactly compares the fates of a packet with those that are said, weights exactly.
func (v *visit) exactly(in inet.Input) error {
	found, err := fatesOf(v.h.host, v.class.state, in, v.k.c.Chance, v.k.c.Ignore)
	if err != nil {
		return err
	}
	v.k.report.Walks++
	if want := v.claim.of(&in, v.k.c.Ignore); !sameFates(found, want) {
		return v.otherwise(in, told(found), told(want))
	}
	return nil
}

// alike compares the fates of a packet, which goes the same way as one that was compared exactly.
func (v *visit) alike(in inet.Input, outcomes []packetsim.Outcome) error {
	want := v.claim.of(&in, v.k.c.Ignore)
	for i := range outcomes {
		if f := walked(&outcomes[i], v.k.c.Ignore); want[f] == nil {
			return v.otherwise(in, f.String(), told(want))
		}
	}
	return nil
}

func (v *visit) otherwise(in inet.Input, found, want string) error {
	text := fmt.Sprintf("%s has other fates: a walk says %s; the certificate says %s", in, found, want)
	if v.cutAt != nil {
		text += " (" + v.cutAt.text(v.six) + ")"
	}
	return &mistake{text}
}

// corner is the packet of the first values of a cell, or of the last ones. Of protocols it takes one that there is.
func (v *visit) corner(c *cell, last bool) (inet.Input, bool) {
	at, in := c.first(), c.in[0]
	if last {
		at, in = c.last(), c.in[len(c.in)-1]
	}
	if p, possible := v.anyProto(c, at[proto]); possible {
		at[proto] = p
	}
	return v.class.packet(v.six, at, in)
}

func (c *cell) first() (at [fields]value) {
	for f, s := range c.spans {
		at[f] = s.first
	}
	return at
}

func (c *cell) last() (at [fields]value) {
	for f, s := range c.spans {
		at[f] = s.last
	}
	return at
}

// anyProto is a protocol of the cell that packets may have, if possible the given one.
func (v *visit) anyProto(c *cell, like value) (value, bool) {
	if isFirst(v.six, inet.Proto(like.low)) {
		return like, true
	}
	for p := c.spans[proto].first; !c.spans[proto].last.less(p); p = p.next() {
		if isFirst(v.six, inet.Proto(p.low)) {
			return p, true
		}
	}
	return like, false
}

// usualProtos are the protocols that conntrack and NAT each treat in a way of their own.
var usualProtos = [...]inet.Proto{inet.TCP, inet.UDP, inet.SCTP, inet.ICMP, inet.ICMPv6}

// samples are packets of a cell beside that of its first values: that of the last ones, one inside, and one of each usual protocol.
func (v *visit) samples(c *cell) []inet.Input {
	var out []inet.Input
	add := func(at [fields]value, in string) {
		if p, possible := v.class.packet(v.six, at, in); possible {
			out = append(out, p)
		}
	}
	if p, possible := v.corner(c, true); possible {
		out = append(out, p)
	}
	v.random++
	r := rand.New(rand.NewPCG(v.random, 0))
	inside := c.first()
	for f, s := range c.spans {
		inside[f] = s.random(r)
	}
	add(inside, c.in[r.IntN(len(c.in))])
	for _, p := range usualProtos {
		if at := c.first(); c.spans[proto].has(number(uint64(p))) {
			at[proto] = number(uint64(p))
			add(at, c.in[0])
		}
	}
	return out
}

// random is a value of the span.
func (s span) random(r *rand.Rand) value {
	out := s.first
	if s.first.high != s.last.high {
		out = value{s.first.high + r.Uint64N(s.last.high-s.first.high), r.Uint64()}
	} else if n := s.last.low - s.first.low + 1; n != 0 {
		out.low += r.Uint64N(n)
	}
	if !s.has(out) {
		return s.last
	}
	return out
}

// trail is the way of a packet: the rules that it meets, in all of its outcomes.
func trail(outcomes []packetsim.Outcome) string {
	var b []byte
	for i := range outcomes {
		o := &outcomes[i]
		for k := range o.Steps {
			s := &o.Steps[k]
			b = append(b, s.Hook...)
			b = append(b, s.Table...)
			b = append(b, s.Dialect...)
			b = append(b, s.Family...)
			b = append(b, s.Chain...)
			b = append(b, byte(s.Number), byte(s.Number>>8), byte(s.Number>>16))
			b = append(b, s.Verdict...)
		}
		b = append(b, '\n')
	}
	return string(b)
}
