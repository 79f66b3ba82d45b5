package rules

import (
	"bytes"
	"encoding/binary"
	"net/netip"
	"time"

	"github.com/chainwalk/chainwalk/netfilter"
	"github.com/chainwalk/chainwalk/netfilter/nftables"
	"github.com/chainwalk/chainwalk/netfilter/nftables/expr"
	"github.com/chainwalk/chainwalk/packetsim"
)

// nativeTable is a table of nft.
func nativeTable(kernel *nftables.Kernel, family netfilter.Family, of *nftables.Table) table {
	now := kernel.Clock().Now()
	wrap := func(c *nftables.Chain) chain {
		out := chain{name: c.Name, rules: len(c.Rules), facts: func(yield func(netfilter.Fact) bool) {
			for _, r := range c.Rules {
				if !eachFact(of, r, now, yield) {
					return
				}
			}
		}}
		if h := c.Hooking; h != nil && h.Hook < netfilter.NumHooks {
			out.hook, out.base = netfilter.Hook(h.Hook), true
		}
		return out
	}
	return table{
		name: of.Name, family: family,
		chains: func(yield func(chain) bool) {
			for _, c := range of.Chains() {
				if !yield(wrap(c)) {
					return
				}
			}
		},
		chain: func(name string) (chain, bool) {
			c := of.Chain(name)
			if c == nil {
				return chain{}, false
			}
			return wrap(c), true
		},
	}
}

// eachFact gives what a rule means; if the rule looks for the packet in a set, once for each element that it can be, and where that leads.
// It is false if nobody wants more.
func eachFact(of *nftables.Table, r *nftables.Rule, now time.Time, yield func(netfilter.Fact) bool) bool {
	fact := packetsim.FactOf(of, r)
	look, fields := lookUp(r.Exprs)
	if look == nil || of.Set(look.Set) == nil {
		return yield(fact)
	}
	for _, e := range of.Set(look.Set).Elements(now) {
		if e.Flags&nftables.ElementIntervalEnd != 0 {
			continue
		}
		one := fact
		if e.Flags&nftables.ElementCatchall == 0 {
			narrow(&one.Conditions, fields, e.Key)
		}
		if look.Map && look.Dreg == expr.RegVerdict && e.Data != nil && e.Data.Verdict != nil {
			one.Jump, one.Verdict = e.Data.Verdict.Chain, verdicts[e.Data.Verdict.Code]
		}
		if data := nftables.DecodeUserData(nftables.ElementUserData, e.UserData); data != nil && data.Comment != "" {
			one.Comment = data.Comment
		}
		if !yield(one) {
			return false
		}
	}
	return true
}

// verdicts are those of nf_tables that end a way.
var verdicts = map[expr.Code]netfilter.Verdict{expr.Accept: netfilter.Accept, expr.Drop: netfilter.Drop}

// field is what a part of a set's key is of the packet.
type field struct {
	is  string // "src", "dst", "protocol", "port", "in"; empty: another part
	len int    // in bytes
}

// lookUp is the first look into a set that a rule takes, and what it looks for; nil if there is none whose key is loaded right before.
func lookUp(exprs []expr.Expr) (*expr.Lookup, []field) {
	var fields []field
	for _, x := range exprs {
		if look, is := x.(*expr.Lookup); is {
			if look.Invert || len(fields) == 0 {
				return nil, nil
			}
			return look, fields
		}
		if f, is := fieldOf(x); is {
			fields = append(fields, f)
		} else {
			fields = nil
		}
	}
	return nil, nil
}

// fieldOf is what an expression loads; false if it does something else.
func fieldOf(x expr.Expr) (field, bool) {
	switch x := x.(type) {
	case *expr.Payload:
		if x.Writes {
			return field{}, false
		}
		return field{payloadFields[payload{x.Base, x.Offset, x.Len}], int(x.Len)}, true
	case *expr.Meta:
		switch {
		case x.Writes:
			return field{}, false
		case x.Key == expr.MetaL4proto:
			return field{"protocol", 1}, true
		case x.Key == expr.MetaIifname:
			return field{"in", 16}, true
		}
	}
	return field{}, false
}

// payload is a part of a packet's headers.
type payload struct {
	base        expr.PayloadBase
	offset, len uint32
}

var payloadFields = map[payload]string{
	{expr.NetworkHeader, 12, 4}: "src", {expr.NetworkHeader, 16, 4}: "dst", {expr.NetworkHeader, 8, 16}: "src",
	{expr.NetworkHeader, 24, 16}: "dst",
	{expr.NetworkHeader, 9, 1}:   "protocol", {expr.NetworkHeader, 6, 1}: "protocol", {expr.TransportHeader, 2, 2}: "port",
}

// narrow adds to conditions that the packet has what a key says. Each part of a key takes a multiple of four bytes.
func narrow(c *netfilter.Conditions, fields []field, key []byte) {
	for _, f := range fields {
		if len(key) < f.len {
			return
		}
		value := key[:f.len]
		key = key[min((f.len+3)/4*4, len(key)):]
		switch f.is {
		case "src", "dst":
			if addr, ok := netip.AddrFromSlice(value); ok {
				to := &c.Src
				if f.is == "dst" {
					to = &c.Dst
				}
				*to = netip.PrefixFrom(addr, addr.BitLen())
			}
		case "protocol":
			c.Protocol = value[0]
		case "port":
			port := binary.BigEndian.Uint16(value)
			c.DstPorts = netfilter.PortRange{Min: port, Max: port}
		case "in":
			name, _, _ := bytes.Cut(value, []byte{0})
			c.In = string(name)
		}
	}
}
