package forall

import (
	"encoding/binary"
	"math/bits"
	"net/netip"
	"slices"
	"strings"

	"github.com/chainwalk/chainwalk/fakeipt/ruleset"
	"github.com/chainwalk/chainwalk/fakeipt/target"
	"github.com/chainwalk/chainwalk/fakeipt/xtables"
	"github.com/chainwalk/chainwalk/forall/internal/diagram"
	"github.com/chainwalk/chainwalk/packetsim"
	"github.com/chainwalk/chainwalk/packetsim/inet"

	"github.com/chainwalk/chainwalk/netfilter"
)

// iptRule is a rule of iptables.
type iptRule struct {
	*xtables.Rule
	dst diagram.Set
	any bool   // destination
	to  *chain // that it leads to, once that was looked up
}

// hasPorts says whether all packets that match the rule are of protocols that have ports.
func (r *iptRule) hasPorts() bool {
	return !r.Proto.Invert && portedProtos.Has(diagram.Number(uint64(r.Proto.Number)))
}

func (r *iptRule) destinations() diagram.Set {
	if r.any {
		return nil
	}
	return r.dst
}

func (r *iptRule) leadsTo() []string {
	if jump, is := r.Target.(*xtables.Jump); is {
		return []string{jump.Chain}
	}
	return nil
}

func (read *readChains) iptChain(rules *ruleset.Ruleset, table *ruleset.Table, c *ruleset.Chain) *chain {
	return read.iptChainOf(table, c, rules.Family(), rules.Dialect())
}

// iptChainOf is a chain of a table.
func (read *readChains) iptChainOf(table *ruleset.Table, c *ruleset.Chain, family netfilter.Family, dialect netfilter.Dialect) *chain {
	if known := read.chains[c]; known != nil {
		return known
	}
	made := &chain{name: table.Name() + " " + c.Name, table: table, family: family, dialect: dialect}
	rules := c.Rules
	if read.points != nil && !read.whole && len(rules) >= read.indexed {
		made.numbers = read.pointsOf(c).meeting(read.to)
		made.partly = len(made.numbers) < len(rules)
		rules = make([]*xtables.Rule, len(made.numbers))
		for i, number := range made.numbers {
			rules[i] = c.Rules[number]
		}
	}
	made.rules = make([]rule, len(rules))
	room, sets := make([]iptRule, len(rules)), make(diagram.Set, 0, len(rules))
	for i, r := range rules {
		room[i] = iptRule{Rule: r, any: true}
		made.rules[i] = &room[i]
		for _, m := range r.Matches {
			if set, is := read.typesOf(m); is {
				room[i].narrow(set)
			}
		}
		if r.Dst == nil {
			continue
		}
		in, some, known := addrInterval(r.Dst)
		switch {
		case !known:
		case r.Dst.Invert && !some:
		case r.Dst.Invert:
			room[i].narrow(diagram.Set{in}.Not(read.s.Limit(vDst)))
		case !some:
			room[i].narrow(nil)
		default:
			sets = append(sets, in)
			room[i].narrow(sets[len(sets)-1 : len(sets) : len(sets)])
		}
	}
	read.chains[c] = made
	return made
}

// narrow says that the rule may match these destinations only.
func (r *iptRule) narrow(to diagram.Set) {
	if !r.any {
		to = r.dst.And(to)
	}
	if r.any, r.dst = false, to; to == nil {
		r.dst = diagram.Set{}
	}
}

// addrSet is the addresses of a match, without its inversion. It is false for a mask that is no prefix.
func addrSet(m *xtables.AddrMatch) (diagram.Set, bool) {
	if m == nil {
		return nil, true
	}
	switch in, some, known := addrInterval(m); {
	case some:
		return diagram.Set{in}, true
	default:
		return diagram.Set{}, known
	}
}

// addrInterval is the addresses of a match, without its inversion, if there are some. They are not known for a mask that is no prefix.
func addrInterval(m *xtables.AddrMatch) (in diagram.Interval, some, known bool) {
	bits, isPrefix := prefixBits(m.Mask)
	if !isPrefix {
		return in, false, false
	}
	p := netip.PrefixFrom(m.Addr, bits)
	if p.Masked().Addr() != m.Addr {
		return in, false, true // bits that the mask hides are never equal to those that are set
	}
	return prefixInterval(p), true, true
}

// prefixBits is the length of the prefix that a mask is of.
func prefixBits(mask netip.Addr) (int, bool) {
	if mask.Is4() {
		raw := mask.As4()
		word := binary.BigEndian.Uint32(raw[:])
		length := bits.LeadingZeros32(^word)
		return length, word<<length == 0
	}
	bits, ended := 0, false
	for _, octet := range mask.AsSlice() {
		for bit := byte(0x80); bit != 0; bit >>= 1 {
			switch {
			case octet&bit == 0:
				ended = true
			case ended:
				return 0, false
			default:
				bits++
			}
		}
	}
	return bits, true
}

// iptAsks is what a rule asks for of destinations, and what else of the state.
func (b *builder) iptAsks(c *chain, r *iptRule) (asks []asked, read reads) {
	of := xtables.Reads{DstMasks: []*xtables.AddrMatch{r.Dst}}
	for _, m := range r.Matches {
		m.AddReads(&of)
	}
	if r.In != nil || r.Out != nil {
		of.Reading |= netfilter.ReadsDevices
	}
	if r.Target != nil {
		of.Reading |= r.Target.Reads()
	}
	for _, m := range of.DstMasks {
		if set, known := addrSet(m); known {
			asks = alone(asks, set...)
		}
	}
	for _, d := range of.Dst {
		asks = alone(asks, diagram.Interval{First: valueOf(d.Min), Last: valueOf(d.Max)})
	}
	if t, is := r.Target.(*target.DNAT); is && t.Range.MinAddr.IsValid() {
		to := valueOf(t.Range.MinAddr)
		b.goals = append(b.goals, diagram.Point(to))
		if len(c.goals) < fewAsks && !slices.Contains(c.goals, to) {
			c.goals = append(c.goals, to)
		}
	}
	return asks, b.stateOfReading(of.Reading) | marks // targets do not say that they change it
}

// stateOfReading is what of a state is looked at or changed by what reads so.
func (b *builder) stateOfReading(r netfilter.Reading) (read reads) {
	b.needs.original = b.needs.original || r.Has(netfilter.ReadsFirst)
	for _, of := range [...]struct {
		reading netfilter.Reading
		read    reads
	}{
		{netfilter.ReadsDevices, readsDevices | readsHook},
		{netfilter.ReadsRoute, readsWay | readsDevices | readsHook},
		{netfilter.ReadsHost | netfilter.ReadsTranslated | netfilter.ReadsFirst, readsView},
		{netfilter.ReadsHook | netfilter.ReadsHeader | netfilter.ReadsCount | netfilter.ReadsElse | netfilter.ReadsUnknown, readsHook},
		{netfilter.ReadsMark | netfilter.ReadsRoute | netfilter.ReadsHost | netfilter.ReadsElse | netfilter.ReadsUnknown, marks},
		{netfilter.ChangesDst, translates},
	} {
		if r.Has(of.reading) {
			read |= of.read
		}
	}
	return read
}

// run is what the rule does.
func (r *iptRule) run(b *builder, c *chain, number int, st state) diagram.ID {
	if r.Target == nil && !r.writes() {
		return b.is(fell, st)
	}
	q := b.iptCondition(r.Rule, c, number, &st)
	fails := b.is(fell, st)
	if q.never {
		q.id()
		return fails
	}
	met := st
	met.wrote = st.wrote || r.writes()
	holds := b.iptAction(r, c, met)
	if made, is := q.decide(holds, fails); is {
		return made
	}
	return b.then(q.id(), holds, fails)
}

// iptCondition is whether a rule's conditions hold.
func (b *builder) iptCondition(r *xtables.Rule, c *chain, number int, st *state) *cond {
	q := b.newCond(st)
	q.addr(r.Dst, (*cond).dst, "-d with an odd mask")
	src := (*cond).src
	if len(c.goals) > 0 {
		src = func(q *cond, in diagram.Set, invert bool) { q.srcOf(c, in, invert) }
	}
	q.addr(r.Src, src, "-s with an odd mask")
	if r.In != nil {
		q.in(func(d *packetsim.Device) bool { return deviceMatches(r.In, d) })
	}
	if r.Out != nil {
		q.holds(deviceMatches(r.Out, b.out(st)))
	}
	if n := r.Proto.Number; n != 0 {
		q.holds(n <= 255 || r.Proto.Invert)
		if n <= 255 {
			q.protos(r.Proto.Invert, inet.Proto(n))
		}
	}
	q.holds(r.Fragment != xtables.FragmentOnly)
	for _, m := range r.Matches {
		if q.never {
			break
		}
		q.match(m, c, number)
	}
	return q
}

func (q *cond) addr(m *xtables.AddrMatch, ask func(*cond, diagram.Set, bool), odd string) {
	switch set, known := addrSet(m); {
	case m == nil:
	case !known:
		q.fails(odd)
	default:
		ask(q, set, m.Invert)
	}
}

// deviceMatches is -i and -o; a hook without a device has the empty name.
func deviceMatches(m *xtables.IfaceMatch, dev *packetsim.Device) bool {
	name := ""
	if dev != nil {
		name = dev.Name
	}
	if m.Prefix {
		return strings.HasPrefix(name, m.Name) != m.Invert
	}
	return (name == m.Name) != m.Invert
}

// matchText is a match as iptables-save prints it.
func (c *chain) matchText(m xtables.Match) string {
	r := xtables.Rule{Matches: []xtables.Match{m}}
	return strings.TrimSpace(strings.TrimPrefix(r.Text("", c.family, c.dialect), "-A "))
}

// ports is the ports of a range.
func ports(ranges ...xtables.PortRange) diagram.Set {
	in := make(diagram.Set, len(ranges))
	for i, r := range ranges {
		in[i] = diagram.Interval{First: diagram.Number(uint64(r.Min)), Last: diagram.Number(uint64(r.Max))}
	}
	if len(in) == 1 && ranges[0].Min <= ranges[0].Max {
		return in
	}
	return diagram.SetOf(in...)
}
