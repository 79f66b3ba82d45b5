package packetsim

import (
	"encoding/binary"
	"fmt"
	"net/netip"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/chainwalk/chainwalk/netfilter"
	"github.com/chainwalk/chainwalk/netfilter/nftables"
	"github.com/chainwalk/chainwalk/netfilter/nftables/expr"
)

// nftText makes a table of nf_tables by changes.
type nftText struct {
	family  nftables.Family
	table   string
	changes []nftables.Change
	sets    uint32
}

func newNFTText(family nftables.Family, table string) *nftText {
	n := &nftText{family: family, table: table}
	n.changes = append(n.changes, &nftables.AddTable{TableSpec: nftables.TableSpec{Family: family, Name: table}})
	return n
}

func (n *nftText) chain(names ...string) {
	for _, name := range names {
		n.changes = append(n.changes, &nftables.AddChain{Family: n.family, Table: n.table, Chain: nftables.ChainSpec{Name: name}})
	}
}

func (n *nftText) base(name, kind string, at hook, priority int32) {
	n.changes = append(n.changes, &nftables.AddChain{Family: n.family, Table: n.table, Chain: nftables.ChainSpec{Name: name,
		Hooking: &nftables.Hooking{Type: kind, Hook: uint32(at), Priority: priority}}})
}

func (n *nftText) rule(chain string, parts ...[]expr.Expr) {
	var exprs []expr.Expr
	for _, p := range parts {
		exprs = append(exprs, p...)
	}
	n.changes = append(n.changes, &nftables.AddRule{Family: n.family, Table: n.table, Chain: chain, Exprs: exprs})
}

func (n *nftText) set(spec nftables.SetSpec, elements ...nftables.ElementSpec) {
	n.sets++
	spec.ID = n.sets
	n.changes = append(n.changes, &nftables.AddSet{Family: n.family, Table: n.table, Set: spec})
	if len(elements) > 0 {
		n.changes = append(n.changes, &nftables.AddElements{Family: n.family, Table: n.table, Set: spec.Name, SetID: spec.ID, Elements: elements})
	}
}

// anonymous adds a set without a name, and gives the number by which rules look it up.
func (n *nftText) anonymous(spec nftables.SetSpec, elements ...nftables.ElementSpec) uint32 {
	spec.Name = "__set%d"
	spec.Flags |= nftables.SetAnonymous | nftables.SetConstant
	n.set(spec, elements...)
	return n.sets
}

// into commits the changes to the kernel of a namespace.
func (n *nftText) into(tb testing.TB, space *netfilter.Namespace) *nftables.Kernel {
	tb.Helper()
	k := nftables.Of(space)
	require.Empty(tb, k.Commit(n.changes))
	return k
}

// Registers of 4 bytes, from the first on.
func reg(n int) expr.Register {
	if n%4 == 0 {
		return expr.Reg1 + expr.Register(n/4)
	}
	return expr.Reg32 + expr.Register(n)
}

func list(exprs ...expr.Expr) []expr.Expr { return exprs }

func loadNet(offset, length uint32, to int) expr.Expr {
	return &expr.Payload{Base: expr.NetworkHeader, Offset: offset, Len: length, Dreg: reg(to)}
}

func loadTransport(offset, length uint32, to int) expr.Expr {
	return &expr.Payload{Base: expr.TransportHeader, Offset: offset, Len: length, Dreg: reg(to)}
}

func loadMeta(key expr.MetaKey, to int) expr.Expr { return &expr.Meta{Key: key, Dreg: reg(to)} }

func cmpEq(data ...byte) expr.Expr { return &expr.Cmp{Sreg: reg(0), Op: expr.Eq, Data: data} }

func masked(mask uint32, xor uint32) expr.Expr {
	return &expr.Bitwise{Sreg: reg(0), Dreg: reg(0), Len: 4, Mask: little(mask), Xor: little(xor)}
}

func little(n uint32) []byte { return binary.LittleEndian.AppendUint32(nil, n) }

func port(n uint16) []byte { return binary.BigEndian.AppendUint16(nil, n) }

func verdictOf(code expr.Code, chain string) []expr.Expr {
	return list(&expr.Immediate{Data: expr.Data{Verdict: &expr.Verdict{Code: code, Chain: chain}}})
}

// stateNew is "ct state new".
func stateNew() []expr.Expr {
	return list(&expr.CT{Key: expr.CTState, Dreg: reg(0)}, masked(8, 0), &expr.Cmp{Sreg: reg(0), Op: expr.Neq, Data: little(0)})
}

// service is "ip daddr . meta l4proto . th dport".
func service() []expr.Expr {
	return list(loadNet(16, 4, 0), loadMeta(expr.MetaL4proto, 1), loadTransport(2, 2, 2))
}

func serviceKey(addr netip.Addr, proto byte, to uint16) []byte {
	key := append(addr.AsSlice(), proto, 0, 0, 0)
	return append(append(key, port(to)...), 0, 0)
}

func vmap(set string) []expr.Expr {
	return list(&expr.Lookup{Sreg: reg(0), Set: set, Map: true, Dreg: expr.RegVerdict})
}

func markXor(bit uint32, or bool) []expr.Expr {
	mask := ^uint32(0)
	if or {
		mask &^= bit
	}
	return list(loadMeta(expr.MetaMark, 0), masked(mask, bit), &expr.Meta{Key: expr.MetaMark, Writes: true, Sreg: reg(0)})
}

// kubeProxy is what kube-proxy writes for so many services of five endpoints each, as service-ips of serviceAddr.
func kubeProxy(services int) *nftText {
	n := newNFTText(nftables.IPv4, "kube-proxy")
	for _, b := range []struct {
		name, kind string
		at         hook
		priority   int32
	}{
		{"filter-prerouting-pre-dnat", "filter", preRouting, -110}, {"filter-output-pre-dnat", "filter", output, -110},
		{"filter-input", "filter", input, 0}, {"filter-forward", "filter", forward, 0}, {"filter-output", "filter", output, 0},
		{"nat-prerouting", "nat", preRouting, -100}, {"nat-output", "nat", output, -100}, {"nat-postrouting", "nat", postRouting, 100},
	} {
		n.base(b.name, b.kind, b.at, b.priority)
	}
	n.chain("service-endpoints-check", "firewall-check", "cluster-ips-check", "services", "masquerading", "reject-chain")
	serviceMap := nftables.SetSpec{Flags: nftables.SetMap, KeyLen: 12, DataType: nftables.DataVerdict, DataLen: 16}
	named := func(name string) nftables.SetSpec {
		spec := serviceMap
		spec.Name = name
		return spec
	}
	n.set(named("no-endpoint-services"))
	n.set(named("firewall-ips"))
	n.set(nftables.SetSpec{Name: "hairpin-connections", KeyLen: 16})
	var ips, goes []nftables.ElementSpec
	for s := range services {
		chain := fmt.Sprintf("service-%08X-ns/svc%d/tcp/http", s*7919, s)
		n.chain(chain)
		ips = append(ips, nftables.ElementSpec{Key: serviceAddr(s).AsSlice()})
		goes = append(goes, nftables.ElementSpec{Key: serviceKey(serviceAddr(s), 6, 80),
			Data: &expr.Data{Verdict: &expr.Verdict{Code: expr.Goto, Chain: chain}}})
		var ends []nftables.ElementSpec
		for e := range 5 {
			end := append(netip.AddrFrom4([4]byte{10, 244, 0, byte(11 + e%2)}).AsSlice(), port(8080)...)
			ends = append(ends, nftables.ElementSpec{Key: little(uint32(e)), Data: &expr.Data{Bytes: append(end, 0, 0)}})
		}
		id := n.anonymous(nftables.SetSpec{Flags: nftables.SetMap, KeyLen: 4, DataLen: 8, Size: 5}, ends...)
		n.rule(chain, list(loadMeta(expr.MetaL4proto, 0), cmpEq(6), &expr.Numgen{Random: true, Modulus: 5, Dreg: reg(0)},
			&expr.Lookup{Sreg: reg(0), SetID: id, Set: "__set%d", Map: true, Dreg: reg(0)},
			&expr.NAT{Family: 2, AddrMin: reg(0), ProtoMin: reg(1), Flags: expr.NATMapIPs | expr.NATProtoSpecified}))
	}
	n.set(nftables.SetSpec{Name: "cluster-ips", KeyLen: 4}, ips...)
	n.set(named("service-ips"), goes...)
	n.rule("filter-prerouting-pre-dnat", stateNew(), verdictOf(expr.Jump, "firewall-check"))
	n.rule("filter-output-pre-dnat", stateNew(), verdictOf(expr.Jump, "firewall-check"))
	for _, chain := range []string{"filter-forward", "filter-output"} {
		n.rule(chain, stateNew(), verdictOf(expr.Jump, "service-endpoints-check"))
		n.rule(chain, stateNew(), verdictOf(expr.Jump, "cluster-ips-check"))
	}
	n.rule("nat-prerouting", verdictOf(expr.Jump, "services"))
	n.rule("nat-output", verdictOf(expr.Jump, "services"))
	n.rule("nat-postrouting", verdictOf(expr.Jump, "masquerading"))
	n.rule("firewall-check", service(), vmap("firewall-ips"))
	n.rule("service-endpoints-check", service(), vmap("no-endpoint-services"))
	inClusterIPs := list(loadNet(16, 4, 0), &expr.Lookup{Sreg: reg(0), Set: "cluster-ips"})
	outside := list(loadNet(12, 4, 0), masked(0xffff, 0), &expr.Cmp{Sreg: reg(0), Op: expr.Neq, Data: []byte{10, 244, 0, 0}})
	n.rule("services", inClusterIPs, outside, markXor(0x4000, true))
	n.rule("services", service(), vmap("service-ips"))
	n.rule("masquerading", list(loadMeta(expr.MetaMark, 0), masked(0x4000, 0), &expr.Cmp{Sreg: reg(0), Op: expr.Neq, Data: little(0)}),
		markXor(0x4000, false), list(&expr.Masq{Flags: expr.NATProtoFullRandom}))
	n.rule("masquerading", list(&expr.CT{Key: expr.CTStatus, Dreg: reg(0)}, masked(32, 0),
		&expr.Cmp{Sreg: reg(0), Op: expr.Neq, Data: little(0)}, loadNet(12, 4, 0), loadNet(16, 4, 1), loadMeta(expr.MetaL4proto, 2),
		loadTransport(2, 2, 3),
		&expr.Lookup{Sreg: reg(0), Set: "hairpin-connections"}, &expr.Masq{Flags: expr.NATProtoFullRandom}))
	n.rule("cluster-ips-check", inClusterIPs, list(&expr.Reject{Code: 3}))
	return n
}
