package packetsim

import (
	"encoding/binary"
	"net/netip"
	"strings"

	"github.com/chainwalk/chainwalk/netfilter"
	"github.com/chainwalk/chainwalk/netfilter/nftables"
	"github.com/chainwalk/chainwalk/netfilter/nftables/expr"
)

// nftValues are the rules of nf_tables that a host's packets met last, as traces have them. The zero value has none.
type nftValues struct {
	known  map[*nftables.Rule]*netfilter.Rule
	missed missedLooks[nftMissedRule]
}

// of is the rule as traces have it: as the kernel's speller spells it, and without one as its expressions. It is not to be written to.
func (v *nftValues) of(t *nftWalk, r *nftables.Rule) *netfilter.Rule {
	if value := v.known[r]; value != nil {
		return value
	}
	if v.known == nil {
		v.known = map[*nftables.Rule]*netfilter.Rule{}
	}
	if len(v.known) >= keptValues {
		clear(v.known)
	}
	value := &netfilter.Rule{Fact: FactOf(t.base.table, r)}
	if speller := t.targets.memory.nftSets.speller(); speller != nil {
		value.Text = speller.Rule(t.base.table, t.at.program.chain, r)
	} else {
		value.Text = exprsText(r.Exprs)
	}
	v.known[r] = value
	return value
}

// FactOf is what a rule of nf_tables means, as far as its expressions and its comment say it.
func FactOf(t *nftables.Table, r *nftables.Rule) netfilter.Fact {
	f := netfilter.Fact{Conditions: conditionsOf(t, r.Exprs)}
	if data := nftables.DecodeUserData(nftables.RuleUserData, r.UserData); data != nil {
		f.Comment = data.Comment
	}
	var regs factRegisters
	for _, x := range r.Exprs {
		regs.take(x)
		switch x := x.(type) {
		case *expr.Immediate:
			if x.Data.Verdict != nil {
				setVerdict(&f, x.Data.Verdict.Code, x.Data.Verdict.Chain)
			}
		case *expr.Reject:
			f.Reject = rejectText(x, t.Family == nftables.IPv6)
		case *expr.NAT, *expr.Masq, *expr.Redir:
			f.Translation = regs.translation(x)
		case *expr.Dynset:
			f.Memories = append(f.Memories, netfilter.Memory{Kind: netfilter.Set, Name: x.Set, Writes: x.Op != expr.DynsetDelete,
				Removes: x.Op == expr.DynsetDelete})
		case *expr.Meta:
			if x.Writes && x.Key == expr.MetaMark {
				f.Mark = regs.mark(x.Sreg)
			} else if x.Writes {
				f.Other = "meta set"
			}
		case *expr.Lookup:
			if set := t.Set(x.Set); set != nil && set.Flags&nftables.SetAnonymous == 0 {
				f.Memories = append(f.Memories, netfilter.Memory{Kind: netfilter.Set, Name: x.Set, Reads: true})
			}
		case *expr.Log, *expr.Notrack, *expr.QueueTo, *expr.Dup, *expr.Fwd, *expr.Tproxy, *expr.Synproxy, *expr.FlowOffload:
			f.Other = x.Name()
		case *expr.Opaque:
			f.Opaque = true
		}
	}
	return f
}

// setVerdict puts a verdict into the words of a fact.
func setVerdict(f *netfilter.Fact, code expr.Code, chain string) {
	switch code {
	case expr.Accept:
		f.Verdict = netfilter.Accept
	case expr.Drop:
		f.Verdict = netfilter.Drop
	case expr.Return:
		f.Verdict = netfilter.Return
	case expr.Queue:
		f.Verdict = netfilter.Queue
	case expr.Jump, expr.Goto:
		f.Jump, f.Goto = chain, code == expr.Goto
	}
}

// factRegisters are what constants fill registers with, and how the packet's mark is changed in one.
type factRegisters struct {
	data  map[expr.Register][]byte
	marks map[expr.Register]netfilter.Mark
}

// take is what an expression does to them.
func (r *factRegisters) take(x expr.Expr) {
	if r.data == nil {
		r.data, r.marks = map[expr.Register][]byte{}, map[expr.Register]netfilter.Mark{}
	}
	switch x := x.(type) {
	case *expr.Immediate:
		r.data[x.Dreg] = x.Data.Bytes
		delete(r.marks, x.Dreg)
	case *expr.Meta:
		if !x.Writes {
			delete(r.data, x.Dreg)
			delete(r.marks, x.Dreg)
			if x.Key == expr.MetaMark {
				r.marks[x.Dreg] = netfilter.Mark{}
			}
		}
	case *expr.Bitwise:
		if mark, is := r.marks[x.Sreg]; is && x.Op == expr.Bool && x.Len == 4 {
			mask, xor := word(x.Mask), word(x.Xor)
			r.marks[x.Dreg] = netfilter.Mark{Value: mark.Value&mask ^ xor, Mask: mark.Mask | ^mask}
		}
	case *expr.Lookup:
		if x.Map {
			delete(r.data, x.Dreg)
			delete(r.marks, x.Dreg)
		}
	case *expr.Payload:
		if !x.Writes {
			delete(r.data, x.Dreg)
			delete(r.marks, x.Dreg)
		}
	}
}

// mark is what a register makes of the packet's mark; nil if that is not known.
func (r *factRegisters) mark(from expr.Register) *netfilter.Mark {
	if mark, is := r.marks[from]; is {
		return &mark
	}
	if data := r.data[from]; len(data) == 4 {
		return &netfilter.Mark{Value: word(data), Mask: ^uint32(0)}
	}
	return nil
}

func (r *factRegisters) translation(x expr.Expr) netfilter.Translation {
	switch x := x.(type) {
	case *expr.NAT:
		to := netfilter.Translation{Kind: netfilter.DNAT, Of: netfilter.Destination, MinAddr: r.addr(x.AddrMin), MinPort: r.port(x.ProtoMin)}
		if x.Source {
			to.Kind, to.Of = netfilter.SNAT, netfilter.Source
		}
		if x.Flags&expr.NATNetmap != 0 {
			to.Kind = netfilter.Netmap
		}
		if to.MaxAddr, to.MaxPort = to.MinAddr, to.MinPort; x.AddrMax != 0 {
			to.MaxAddr = r.addr(x.AddrMax)
		}
		if x.ProtoMax != 0 {
			to.MaxPort = r.port(x.ProtoMax)
		}
		return to
	case *expr.Masq:
		return netfilter.Translation{Kind: netfilter.Masquerade, Of: netfilter.Source, MinPort: r.port(x.ProtoMin),
			MaxPort: max(r.port(x.ProtoMin), r.port(x.ProtoMax))}
	case *expr.Redir:
		return netfilter.Translation{Kind: netfilter.Redirect, Of: netfilter.Destination, MinPort: r.port(x.ProtoMin),
			MaxPort: max(r.port(x.ProtoMin), r.port(x.ProtoMax))}
	}
	return netfilter.Translation{}
}

func (r *factRegisters) addr(from expr.Register) netip.Addr {
	addr, _ := netip.AddrFromSlice(r.data[from])
	return addr
}

func (r *factRegisters) port(from expr.Register) uint16 {
	if data := r.data[from]; len(data) >= 2 {
		return binary.BigEndian.Uint16(data)
	}
	return 0
}

// conditionsOf are what expressions ask of a packet.
func conditionsOf(t *nftables.Table, exprs []expr.Expr) netfilter.Conditions {
	var c netfilter.Conditions
	for i := 0; i < len(exprs); {
		n := takeCondition(&c, t, exprs[i:])
		i += max(n, 1)
	}
	return c
}

// takeCondition reads a condition that the words of netfilter.Conditions have, and says of how many expressions; 0 if the first begins
// none.
func takeCondition(c *netfilter.Conditions, t *nftables.Table, exprs []expr.Expr) int {
	name, dreg := conditionName(exprs[0])
	if name == "" {
		return 0
	}
	mask, used := []byte(nil), 1
	if len(exprs) > used {
		if b, is := exprs[used].(*expr.Bitwise); is && b.Sreg == dreg && b.Op == expr.Bool && isZero(b.Xor) {
			mask, used = b.Mask, used+1
		}
	}
	if len(exprs) > used {
		if cmp, is := exprs[used].(*expr.Cmp); is && cmp.Sreg == dreg {
			if cmp.Op != expr.Eq && !asksByMask(name) || !setCondition(c, t.Family, name, mask, cmp) {
				c.Others = append(c.Others, name)
			}
			return used + 1
		}
	}
	if name == "numgen" {
		c.Chance = true
	}
	if name != nameState || len(exprs) > used {
		c.Others = append(c.Others, name)
	}
	return used
}

// The names of what conntrack says of a packet and of its connection.
const (
	nameState  = "ct state"
	nameStatus = "ct status"
)

// asksByMask says whether nft asks for bits of a value, of which one at least must be set.
func asksByMask(name string) bool { return name == nameState || name == nameStatus }

// conditionName is what an expression loads into a register; empty if it loads nothing.
func conditionName(x expr.Expr) (string, expr.Register) {
	switch x := x.(type) {
	case *expr.Payload:
		if !x.Writes {
			return payloadName(x), x.Dreg
		}
	case *expr.Meta:
		if !x.Writes {
			if name := metaConditions[x.Key]; name != "" {
				return name, x.Dreg
			}
			return "meta", x.Dreg
		}
	case *expr.CT:
		switch {
		case x.Writes:
		case x.Key == expr.CTState:
			return nameState, x.Dreg
		case x.Key == expr.CTStatus:
			return nameStatus, x.Dreg
		default:
			return "ct", x.Dreg
		}
	case *expr.Numgen:
		return "numgen", x.Dreg
	case *expr.Fib:
		return "fib", x.Dreg
	case *expr.RT:
		return "rt", x.Dreg
	case *expr.Hash:
		return "hash", x.Dreg
	case *expr.Exthdr:
		if !x.Writes {
			return "exthdr", x.Dreg
		}
	case *expr.Limit, *expr.Quota, *expr.Connlimit:
		return x.Name(), 0
	}
	return "", 0
}

var metaConditions = map[expr.MetaKey]string{expr.MetaIifname: "in", expr.MetaOifname: "out", expr.MetaL4proto: "protocol",
	expr.MetaNfproto: "nfproto", expr.MetaMark: "mark", expr.MetaPRandom: "numgen"}

func payloadName(x *expr.Payload) string {
	at := [...]uint32{uint32(x.Base), x.Offset, x.Len}
	switch {
	case at == [...]uint32{1, 12, 4}, at == [...]uint32{1, 8, 16}:
		return "source"
	case at == [...]uint32{1, 16, 4}, at == [...]uint32{1, 24, 16}:
		return "destination"
	case at == [...]uint32{1, 9, 1}, at == [...]uint32{1, 6, 1}:
		return "protocol"
	case at == [...]uint32{2, 2, 2}:
		return "dport"
	case x.Base == expr.NetworkHeader && x.Offset >= 12 && x.Offset < 20 || x.Base == expr.NetworkHeader && x.Len < 16 && x.Offset >= 24:
		return prefixName(x)
	}
	return "payload"
}

// prefixName is the address of which some bytes are loaded, as of a prefix of whole bytes.
func prefixName(x *expr.Payload) string {
	switch x.Offset {
	case 12:
		return "source"
	case 16, 24:
		return "destination"
	}
	return "payload"
}

// setCondition puts a comparison into the words of conditions, if they have some for it.
func setCondition(c *netfilter.Conditions, family nftables.Family, name string, mask []byte, cmp *expr.Cmp) bool {
	switch name {
	case "source", "destination":
		prefix := prefixOf(mask, cmp.Data)
		if !prefix.IsValid() {
			return false
		}
		if name == "source" {
			c.Src = prefix
		} else {
			c.Dst = prefix
		}
	case "in", "out":
		device := strings.TrimRight(string(cmp.Data), "\x00")
		if len(cmp.Data) < nameSize {
			device += "+"
		}
		if name == "in" {
			c.In = device
		} else {
			c.Out = device
		}
	case "protocol":
		c.Protocol = cmp.Data[0]
	case "dport":
		if mask != nil {
			return false
		}
		port := binary.BigEndian.Uint16(cmp.Data)
		c.DstPorts = netfilter.PortRange{Min: port, Max: port}
	case nameStatus:
		if cmp.Op != expr.Neq || !isZero(cmp.Data) || len(mask) != 4 || word(mask) != statusDstNAT || c.States != nil {
			return false
		}
		c.States = []string{"DNAT"}
	case nameState:
		if cmp.Op != expr.Neq || !isZero(cmp.Data) || mask == nil || c.States != nil {
			return false
		}
		for r, bit := range nftStates {
			if word(mask)&bit != 0 {
				c.States = append(c.States, stateNames[r])
			}
		}
	case "nfproto":
		return family == nftables.Inet
	default:
		return false
	}
	return true
}

// prefixOf is the prefix that an address is compared with: all of its bytes, the first of them, or those under a mask.
func prefixOf(mask, data []byte) netip.Prefix {
	size := 4
	if len(data) > 4 || len(mask) > 4 {
		size = 16
	}
	raw, bits := make([]byte, size), 8*len(data)
	copy(raw, data)
	if mask != nil {
		bits = 0
		for _, b := range mask {
			for bit := byte(0x80); bit != 0 && b&bit != 0; bit >>= 1 {
				bits++
			}
			if b != 0xff {
				break
			}
		}
	}
	addr, _ := netip.AddrFromSlice(raw)
	return netip.PrefixFrom(addr, bits)
}
