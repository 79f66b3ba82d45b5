package forall

import (
	"fmt"
	"slices"

	"github.com/chainwalk/chainwalk/fakeipt/xtables"
	"github.com/chainwalk/chainwalk/forall/internal/diagram"
	"github.com/chainwalk/chainwalk/packetsim"
	"github.com/chainwalk/chainwalk/packetsim/inet"
)

// cond is a condition in the making: what must hold of the variables, each for itself, and functions that must give yes. It is asked in
// a state.
type cond struct {
	b     *builder
	st    *state // that it is asked in, which is now
	now   state
	sets  [vNames]diagram.Set
	asked [vNames]bool
	never bool
	odds  diagram.Weight // of draws
	more  []diagram.ID   // functions whose leaves are yes, no, and ends
}

// newCond begins a condition. Its memory is used again once it is a function.
func (b *builder) newCond(st *state) *cond {
	var c *cond
	if n := len(b.conds); n > 0 {
		c, b.conds = b.conds[n-1], b.conds[:n-1]
	} else {
		c = &cond{}
	}
	*c = cond{b: b, now: *st, odds: diagram.Certain, more: c.more[:0]}
	c.st = &c.now
	return c
}

// need says that a variable is in a set, or not in it.
func (c *cond) need(v diagram.Var, in diagram.Set, invert bool) {
	limit := c.b.s.Limit(v)
	if invert {
		in = in.Not(limit)
	}
	if c.asked[v] {
		in = c.sets[v].And(in)
	}
	switch {
	case len(in) == 0:
		c.never = true
	case !in.IsAll(limit):
		c.sets[v], c.asked[v] = in, true
	}
}

// holds says that something is known to hold or not.
func (c *cond) holds(known bool) { c.never = c.never || !known }

// also says that a function must give yes.
func (c *cond) also(f diagram.ID, invert bool) {
	if invert {
		f = c.b.s.Replace(f, func(a diagram.Atom) diagram.ID { return c.b.s.One(yes + no - a) })
	}
	c.more = append(c.more, f)
}

// named says that a condition with a name holds.
func (c *cond) named(name string) { c.namedAs(name, nil) }

// namedAs is named, of a condition that a tool calls otherwise; says is asked once.
func (c *cond) namedAs(name string, says func() string) {
	b, of := c.b, ""
	if c.st.altered {
		of += " (of a header that a rule has changed)"
	}
	if b.ends == asReplies {
		of += " (of the reply)"
	}
	called := name
	name += of
	if _, known := b.w.nameVar[name]; !known && says != nil {
		if text := says(); text != "" && text != called {
			b.w.says[name] = text + of
		}
	}
	c.more = append(c.more, b.s.Choose(b.w.name(name), diagram.SetOf(diagram.Point(diagram.Number(1))), b.s.One(yes), b.s.One(no)))
}

// namedAt says that a condition holds that a rule asks for at one hook: what it counts may be another number at the next one.
func (c *cond) namedAt(text string, in *chain, number int) { c.namedAtAs(text, nil, in, number) }

// namedAtAs is namedAt, of a condition that a tool calls otherwise.
func (c *cond) namedAtAs(text string, says func() string, in *chain, number int) {
	at := " in " + place(in, number) + " at " + c.st.hook.String()
	if says == nil {
		c.named(text + at)
		return
	}
	c.namedAs(text+at, func() string {
		if part := says(); part != "" {
			return part + at
		}
		return ""
	})
}

// fails says that the answer is not known.
func (c *cond) fails(why string) { c.more = append(c.more, c.b.unmodelled(why)) }

// draw says that a draw falls so.
func (c *cond) draw(w diagram.Weight) { c.odds = c.odds.Times(w) }

// id is the condition as a function with the leaves yes and no, and ends. Nothing may be added to it then.
func (c *cond) id() diagram.ID {
	s := c.b.s
	defer func() { c.b.conds = append(c.b.conds, c) }()
	if c.never {
		return s.One(no)
	}
	at := s.One(yes)
	if rest := c.odds.Rest(); !rest.IsZero() {
		at = s.Leaf([]diagram.Share{{Atom: yes, Weight: c.odds}, {Atom: no, Weight: rest}})
	}
	for i := len(c.more) - 1; i >= 0; i-- {
		next := at
		at = s.Replace(c.more[i], func(a diagram.Atom) diagram.ID {
			if a == yes {
				return next
			}
			return s.One(a)
		})
	}
	sets := s.One(yes)
	for v := vNames; v > 0; v-- {
		if c.asked[v-1] {
			sets = s.Choose(v-1, c.sets[v-1], sets, s.One(no))
		}
	}
	if sets == s.One(yes) {
		return at
	}
	return s.Replace(sets, func(a diagram.Atom) diagram.ID {
		if a == yes {
			return at
		}
		return s.One(a)
	})
}

// decide puts what happens in the place of the condition's leaves, where that decides later variables only. Otherwise it is false.
func (c *cond) decide(holds, fails diagram.ID) (diagram.ID, bool) {
	s := c.b.s
	if len(c.more) > 0 || c.odds != diagram.Certain {
		return 0, false
	}
	at, last := holds, min(s.Decides(holds), s.Decides(fails))
	for v := vNames; v > 0; v-- {
		if !c.asked[v-1] {
			continue
		}
		if last <= v-1 {
			return 0, false
		}
		at = s.Choose(v-1, c.sets[v-1], at, fails)
	}
	c.b.conds = append(c.b.conds, c)
	return at, true
}

// then puts what happens in the place of a condition's leaves.
func (b *builder) then(condition, holds, fails diagram.ID) diagram.ID {
	return b.s.Replace(condition, func(a diagram.Atom) diagram.ID {
		if a == yes {
			return holds
		}
		return fails
	})
}

// dst is a condition of the destination as it is now.
func (c *cond) dst(in diagram.Set, invert bool) {
	c.holds(in.Has(c.b.views[c.st.view].value) != invert)
}

// src is a condition of the source as it is now.
func (c *cond) src(in diagram.Set, invert bool) {
	if c.st.home && !in.IsAll(c.b.s.Limit(vSrc)) {
		c.fails(ofHome)
		return
	}
	if c.st.src != 0 {
		c.holds(in.Has(valueOf(c.b.sources.at(c.st.src))) != invert)
		return
	}
	c.need(vSrc, in, invert)
}

// srcOf is src in a chain: what the chain translates to is one of the sources that vWho tells apart.
func (c *cond) srcOf(in *chain, of diagram.Set, invert bool) {
	whole := c.st.home || c.st.src != 0 || c.b.ends == asReplies
	if whole || len(of) != 1 || of[0].First != of[0].Last || !slices.Contains(in.goals, of[0].First) {
		c.src(of, invert)
		return
	}
	c.need(vWho, diagram.Set{diagram.Point(c.b.names.source(of[0].First))}, invert)
}

// dstPort is a condition of the destination port as it is now, of a packet that has one.
func (c *cond) dstPort(in diagram.Set, invert bool) {
	if c.st.port == chosen && !in.IsAll(c.b.s.Limit(vDstPort)) {
		c.fails("a destination port that the kernel chose")
		return
	}
	if c.st.port >= 0 {
		c.holds(in.Has(diagram.Number(uint64(c.st.port))) != invert)
		return
	}
	c.need(vDstPort, in, invert)
}

// portsOf is a condition of both ports.
func (c *cond) portsOf(src, dst xtables.PortRange, invSrc, invDst bool) {
	if src != anyPort || invSrc {
		c.srcPort(ports(src), invSrc)
	}
	if dst != anyPort || invDst {
		c.dstPort(ports(dst), invDst)
	}
}

// srcPort is a condition of the source port as it is now.
func (c *cond) srcPort(in diagram.Set, invert bool) {
	if c.st.anyPort && !in.IsAll(c.b.s.Limit(vSrcPort)) {
		c.fails("a source port that the kernel chose")
		return
	}
	if c.st.home && !in.IsAll(c.b.s.Limit(vSrcPort)) {
		c.fails(ofHome)
		return
	}
	c.need(vSrcPort, in, invert)
}

// protos is a condition of the protocol.
func (c *cond) protos(invert bool, are ...inet.Proto) {
	c.need(vProto, protoSet(are...), invert)
}

// eachProto is the protocols one by one.
var eachProto = func() (each [256]diagram.Interval) {
	for p := range each {
		each[p] = diagram.Point(diagram.Number(uint64(p)))
	}
	return each
}()

// protoSet is a set of protocols, which is not to be written to.
func protoSet(protos ...inet.Proto) diagram.Set {
	if len(protos) == 1 {
		return eachProto[protos[0] : int(protos[0])+1 : int(protos[0])+1]
	}
	in := make(diagram.Set, len(protos))
	for i, p := range protos {
		in[i] = eachProto[p]
	}
	return diagram.SetOf(in...)
}

// portedProtos are the protocols that have ports.
var portedProtos = protoSet(inet.TCP, inet.UDP, inet.SCTP)

// in is a condition of the device that the hook sees the packet come in by; nil: none.
func (c *cond) in(holds func(*packetsim.Device) bool) {
	b := c.b
	switch {
	case c.st.origin == fromHost:
		c.holds(holds(nil))
	case c.st.origin == fromLo:
		c.holds(holds(b.device(loopback)))
	default:
		var in []diagram.Interval
		for i := range b.devices {
			if holds(&b.devices[i]) {
				in = append(in, diagram.Point(diagram.Number(uint64(b.number[b.devices[i].Name]))))
			}
		}
		c.need(vIn, diagram.SetOf(in...), false)
	}
}

// out is the device that the hook sees the packet leave by; nil: none.
func (l *links) out(st *state) *packetsim.Device {
	if st.out == 0 {
		return nil
	}
	return l.device(l.w.devices[st.out-1])
}

// eachIn is a function of the device by which the packet came, from what it is for each.
func (l *links) eachIn(st *state, of func(*packetsim.Device) diagram.ID) diagram.ID {
	switch {
	case st.origin == fromHost:
		return of(nil)
	case st.origin == fromLo:
		return of(l.device(loopback))
	}
	limit := len(l.w.devices)
	last, kids, by := make([]diagram.Value, limit+1), make([]diagram.ID, limit+1), make([]diagram.ID, limit+1)
	for i := range limit + 1 {
		last[i], kids[i], by[i] = diagram.Number(uint64(i)), l.s.One(diagram.Atom(i)), l.unmodelled(noDevice)
	}
	for i := range l.devices {
		by[l.number[l.devices[i].Name]] = of(&l.devices[i])
	}
	return l.s.Replace(l.s.Node(vIn, last, kids), func(a diagram.Atom) diagram.ID { return by[a] })
}

// where says for which addresses something holds, which is the same between two cuts of the terrain.
func (p *places) where(name string, holds func(diagram.Value) bool) diagram.Set {
	if known, is := p.typed[name]; is {
		return known
	}
	var in []diagram.Interval
	for i, first := range p.terrain {
		if !holds(first) {
			continue
		}
		last := p.s.Limit(vSrc)
		if i+1 < len(p.terrain) {
			last = p.terrain[i+1].Prev()
		}
		in = append(in, diagram.Interval{First: first, Last: last})
	}
	set := diagram.SetOf(in...)
	p.typed[name] = set
	return set
}

// drawOf is the weight of a draw of k/2^31.
func (b *builder) drawOf(k uint32) diagram.Weight {
	const whole = 1 << 31
	if b.chance == Ideal && k > 1<<12 && k < whole {
		n := (uint64(whole) + uint64(k)/2) / uint64(k)
		if off := int64(uint64(k)*n) - whole; off <= int64(n) && -off <= int64(n) {
			return diagram.Fraction(1, n)
		}
	}
	return diagram.Fraction(uint64(k), whole)
}

// place names where a rule stands.
func place(c *chain, number int) string { return fmt.Sprintf("%s rule %d", c.name, number+1) }
