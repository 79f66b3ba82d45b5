package decompile_test

import (
	"testing"
	"time"

	"github.com/chainwalk/chainwalk/fakenft/decompile"
	"github.com/chainwalk/chainwalk/fakenft/print"
	"github.com/chainwalk/chainwalk/netfilter/nftables"
	"github.com/chainwalk/chainwalk/netfilter/nftables/expr"
)

// empty is a table without sets and chains.
type empty nftables.Family

func (f empty) Family() nftables.Family                            { return nftables.Family(f) }
func (empty) Set(string) (*nftables.SetSpec, uint64)               { return nil, 0 }
func (empty) Elements(string) []*nftables.Element                  { return nil }
func (empty) Chain(string) (*nftables.ChainSpec, []*nftables.Rule) { return nil, nil }

// bytecode takes numbers of a text of bytes, 0 behind its end.
type bytecode []byte

func (b *bytecode) next() int {
	if len(*b) == 0 {
		return 0
	}
	n := (*b)[0]
	*b = (*b)[1:]
	return int(n)
}

func (b *bytecode) take(count int) []byte {
	count = min(count, len(*b))
	list := (*b)[:count]
	*b = (*b)[count:]
	return list
}

func (b *bytecode) register() expr.Register { return expr.Register(b.next() % 24) }

func (b *bytecode) expr() expr.Expr {
	switch b.next() % 12 {
	case 0:
		return &expr.Payload{Base: expr.PayloadBase(b.next() % 4), Offset: uint32(b.next()), Len: uint32(b.next() % 20), Dreg: b.register()}
	case 1:
		return &expr.Cmp{Sreg: b.register(), Op: expr.CmpOp(b.next() % 6), Data: b.take(b.next() % 20)}
	case 2:
		return &expr.Meta{Key: expr.MetaKey(b.next() % 40), Dreg: b.register()}
	case 3:
		n := b.next() % 20
		return &expr.Bitwise{Sreg: b.register(), Dreg: b.register(), Len: n, Mask: b.take(n), Xor: b.take(n), Op: expr.BitwiseOp(b.next() % 3)}
	case 4:
		return &expr.CT{Key: expr.CTKey(b.next() % 30), Dreg: b.register()}
	case 5:
		return &expr.Byteorder{Sreg: b.register(), Dreg: b.register(), Len: b.next() % 20, Size: 2}
	case 6:
		return &expr.Immediate{Dreg: b.register(), Data: expr.Data{Bytes: b.take(b.next() % 20)}}
	case 7:
		return &expr.Range{Sreg: b.register(), Op: expr.CmpOp(b.next() % 2), From: b.take(b.next() % 20), To: b.take(b.next() % 20)}
	case 8:
		family := uint8(b.next() % 12)
		return &expr.NAT{Family: family, AddrMin: b.register(), AddrMax: b.register(), ProtoMin: b.register(), ProtoMax: b.register()}
	case 9:
		base := expr.PayloadBase(b.next() % 4)
		return &expr.Payload{Base: base, Offset: uint32(b.next()), Len: uint32(b.next() % 20), Writes: true, Sreg: b.register()}
	case 10:
		op := expr.ExthdrOp(b.next() % 4)
		return &expr.Exthdr{Op: op, Type: uint8(b.next()), Offset: uint32(b.next()), Len: uint32(b.next() % 20), Dreg: b.register()}
	default:
		return &expr.Meta{Key: expr.MetaKey(b.next() % 40), Writes: true, Sreg: b.register()}
	}
}

// FuzzRule holds that bytecode that nobody has written is decompiled and printed, or refused by name, all the same.
func FuzzRule(f *testing.F) {
	f.Add(uint8(nftables.Inet), []byte{2, 16, 1, 1, 1, 0, 1, 6, 0, 2, 2, 2, 1, 1, 1, 0, 2, 0, 80})
	f.Fuzz(func(_ *testing.T, family uint8, data []byte) {
		families := []nftables.Family{nftables.Inet, nftables.IPv4, nftables.IPv6, nftables.ARP, nftables.Bridge, nftables.Netdev}
		table := empty(families[int(family)%len(families)])
		code := bytecode(data)
		var exprs []expr.Expr
		for len(code) > 0 {
			exprs = append(exprs, code.expr())
		}
		rule := decompile.New(table, time.Time{}).Rule(&nftables.Rule{Exprs: exprs})
		_, _ = print.AppendRule(nil, rule, &print.Options{})
	})
}
