package packetsim

import (
	"math"
	"net/netip"
	"sync/atomic"

	"github.com/chainwalk/chainwalk/fakeipt/match"
	"github.com/chainwalk/chainwalk/fakeipt/ruleset"
	"github.com/chainwalk/chainwalk/fakeipt/target"
	"github.com/chainwalk/chainwalk/fakeipt/xtables"
	"github.com/chainwalk/chainwalk/netfilter"
	"github.com/chainwalk/chainwalk/packetsim/inet"
)

// program is a chain as walks read it, kept in the chain's Memo. A packet for one of many services finds nothing of that service's rules in
// the processor's cache, and each look-up that waits for another one's memory costs it as much as all else of a rule: what most walks
// need of a short chain lies together, the first rule and the endpoint that it translates to at a fixed place.
//
// Without rules behind it a program is 128 bytes, which many processors fetch at once.
type program struct {
	// table is one that is known to have the chain, so that a jump that led here before leads here again.
	table   atomic.Pointer[ruleset.TableID]
	chain   *ruleset.Chain
	long    *longChain // nil: first and more are the chain's rules
	more    []compiledRule
	rules   int32
	port    uint16     // of the rule with toEndpoint
	bound   bool       // there is one
	address netip.Addr // of that rule
	first   compiledRule
}

// longChain is what a chain has whose rules are not compiled, or only with its index.
type longChain struct {
	walks atomic.Int32
	index atomic.Pointer[chainIndex]
}

// programOf is the chain's program. Several goroutines may ask at once: all get the same.
func (p indexPolicy) programOf(chain *ruleset.Chain) *program {
	if known, _ := chain.Memo.Load().(*program); known != nil {
		return known
	}
	chain.Memo.CompareAndSwap(nil, p.newProgram(chain))
	return chain.Memo.Load().(*program)
}

func (p indexPolicy) newProgram(chain *ruleset.Chain) *program {
	rules := len(chain.Rules)
	if p.plain || rules >= p.rules {
		return &program{chain: chain, rules: int32(rules), long: &longChain{}}
	}
	x := roomFor(rules)
	x.chain, x.rules = chain, int32(rules)
	for i, rule := range chain.Rules {
		r := x.short(i)
		r.compile(rule)
		if target, ok := rule.Target.(*target.DNAT); ok && x.holdEndpoint(target) {
			r.op = toEndpoint
		}
	}
	return x
}

// holdEndpoint keeps what the target translates to, if that is the only one in the chain and an address with a port.
func (x *program) holdEndpoint(t *target.DNAT) bool {
	address, port := t.Range.MinAddr, t.Range.MinPort
	if x.bound || *t != (target.DNAT{Range: endpointRange(address, port)}) {
		return false
	}
	x.bound, x.address, x.port = true, address, port
	return true
}

// endpointRange is the range of -j DNAT --to-destination ADDRESS:PORT.
func endpointRange(address netip.Addr, port uint16) netfilter.NATRange {
	return netfilter.NATRange{MinAddr: address, MaxAddr: address, MinPort: port, MaxPort: port, HasPorts: true}
}

// roomFor is a program and its rules in one piece of memory, if they are as few as a service's.
func roomFor(rules int) *program {
	switch {
	case rules <= 1:
		return &program{}
	case rules <= 2:
		x := &struct {
			program
			room [1]compiledRule
		}{}
		x.more = x.room[:]
		return &x.program
	case rules <= 4:
		x := &struct {
			program
			room [3]compiledRule
		}{}
		x.more = x.room[:]
		return &x.program
	case rules <= 6:
		x := &struct {
			program
			room [5]compiledRule
		}{}
		x.more = x.room[:]
		return &x.program
	}
	return &program{more: make([]compiledRule, rules-1)}
}

// short is a rule of a chain that is not long.
func (x *program) short(number int) *compiledRule {
	if number == 0 {
		return &x.first
	}
	return &x.more[number-1]
}

// indexOf is the index of a long chain, nil if it has none yet. Several goroutines may ask at once: each gets a whole index or none.
func (p indexPolicy) indexOf(x *program) *chainIndex {
	if index := x.long.index.Load(); index != nil {
		return index
	}
	if p.plain || x.long.walks.Add(1) != p.walks {
		return nil // one of those that ask at once builds it
	}
	index := newChainIndex(x.chain.Rules, p.least)
	x.long.index.Store(index)
	return index
}

// compiledRule is what a walk needs of most rules. A rule with a condition that has no place here says so by its flags, and is asked
// itself: for the matches from the one number rest on, or for everything.
type compiledRule struct {
	to    atomic.Pointer[program] // where a jump led last
	addr  inet.Bits               // of the destination, else of the source, under a prefix of so many bits
	other *xtables.AddrMatch      // the address that is not in addr; nil: none
	draw  uint32                  // of -m statistic
	ports xtables.PortRange       // of the destination
	bits  uint8                   // 0: addr is not compared
	proto inet.Proto              // 0: any
	rest  uint8
	op    ruleOp
	flags ruleFlags
}

// ruleOp is what a rule's target does.
type ruleOp uint8

const (
	toNext ruleOp = iota // there is none
	toAccept
	toDrop
	toReturn
	toChain
	toChainForGood // a goto
	toEndpoint     // the one of the program
	toTarget       // what the rule itself says
)

// ruleFlags say how the fields of a compiledRule are to be read.
type ruleFlags uint16

const (
	asksRule ruleFlags = 1 << iota // nothing is compiled but the target
	asksMatches
	addrOfSource // and other is of the destination
	invertsAddr
	invertsProto
	comparesPorts
	invertsPorts
	draws
	invertsDraw
)

// compile makes a rule of the zero value.
func (c *compiledRule) compile(r *xtables.Rule) {
	c.op = opOf(r.Target)
	if r.In != nil || r.Out != nil || r.Fragment == xtables.FragmentOnly || r.Proto.Number > math.MaxUint8 ||
		len(r.Matches) > math.MaxUint8 || !c.compileAddrs(r) {
		c.flags |= asksRule
		return
	}
	c.proto = inet.Proto(r.Proto.Number)
	c.setIf(invertsProto, r.Proto.Invert)
	for i, m := range r.Matches {
		if !c.compileMatch(r, m) {
			c.rest = uint8(i)
			c.flags |= asksMatches
			return
		}
	}
}

// opOf is what a target does, but for toEndpoint, which is for programs that have its address.
func opOf(t xtables.Target) ruleOp {
	switch t := t.(type) {
	case nil:
		return toNext
	case *xtables.TargetVerdict:
		switch t.Kind {
		case xtables.VerdictAccept:
			return toAccept
		case xtables.VerdictDrop:
			return toDrop
		}
		return toReturn
	case *xtables.Jump:
		if t.Goto {
			return toChainForGood
		}
		return toChain
	}
	return toTarget
}

func (c *compiledRule) setIf(f ruleFlags, set bool) {
	if set {
		c.flags |= f
	}
}

// compileAddrs is false if the rule has addresses and none of them is of a prefix.
func (c *compiledRule) compileAddrs(r *xtables.Rule) bool {
	inline, other, source := r.Dst, r.Src, false
	if inline == nil || other != nil && maskLength(inline.Mask) == 0 {
		inline, other, source = r.Src, r.Dst, true
	}
	if inline == nil {
		return true
	}
	length := maskLength(inline.Mask)
	if length == 0 {
		return false
	}
	if inline.Addr.Is4() {
		length += inet.MappedBits
	}
	c.addr, c.bits, c.other = inet.BitsOf(inline.Addr), uint8(length), other
	c.setIf(addrOfSource, source)
	c.setIf(invertsAddr, inline.Invert)
	return true
}

// compileMatch adds a match of the rule, whose conditions before it are compiled. It is false if the match has no place.
func (c *compiledRule) compileMatch(r *xtables.Rule, m xtables.Match) bool {
	if comment, ok := m.(*match.Comment); ok {
		return comment != nil
	}
	if c.flags&draws != 0 {
		return false // what comes behind a draw is asked for after it
	}
	switch m := m.(type) {
	case *match.TCP:
		if m.FlagMask != 0 || m.FlagComp != 0 || m.InvFlags || m.Option != 0 {
			return false
		}
		return c.compilePorts(r, inet.TCP, &match.UDP{SrcPorts: m.SrcPorts, DstPorts: m.DstPorts, InvSrc: m.InvSrc, InvDst: m.InvDst})
	case *match.UDP:
		return c.compilePorts(r, inet.UDP, m)
	case *match.Statistic:
		if m.Mode != match.StatisticRandom {
			return false
		}
		c.draw = m.Probability
		c.flags |= draws
		c.setIf(invertsDraw, m.Invert)
		return true
	}
	return false
}

// compilePorts compiles what a match asks of the ports, if it is for the rule's own protocol and for none of the source.
func (c *compiledRule) compilePorts(r *xtables.Rule, proto inet.Proto, m *match.UDP) bool {
	anyPort := xtables.PortRange{Max: math.MaxUint16}
	if inet.Proto(r.Proto.Number) != proto || r.Proto.Invert || m.SrcPorts != anyPort || m.InvSrc || c.flags&comparesPorts != 0 {
		return false
	}
	c.ports = m.DstPorts
	c.flags |= comparesPorts
	c.setIf(invertsPorts, m.InvDst)
	return true
}

// comparesEqual says whether the packet meets the compiled conditions that leave nothing to chance.
func (c *compiledRule) comparesEqual(s *skb) bool {
	source := c.flags&addrOfSource != 0
	if c.bits != 0 {
		have := inet.BitsOf(addrOf(s, source)).Masked(inet.PrefixMask(int(c.bits), false))
		if (have == c.addr) == (c.flags&invertsAddr != 0) {
			return false
		}
	}
	if c.other != nil && !addrMatches(c.other, addrOf(s, !source)) {
		return false
	}
	if c.proto != 0 && (c.proto == s.Proto) == (c.flags&invertsProto != 0) {
		return false
	}
	return c.flags&comparesPorts == 0 || c.ports.Contains(s.DstPort) != (c.flags&invertsPorts != 0)
}

func addrOf(s *skb, source bool) netip.Addr {
	if source {
		return s.Src
	}
	return s.Dst
}
