package print_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/chainwalk/chainwalk/fakenft/print"
	"github.com/chainwalk/chainwalk/fakenft/syntax"
	"github.com/chainwalk/chainwalk/netfilter/nftables"
	"github.com/chainwalk/chainwalk/netfilter/nftables/expr"
)

// num is a number of a type.
func num(t *syntax.Datatype, n uint64) *syntax.Value {
	return &syntax.Value{Common: syntax.Common{Type: t, Order: t.Order, Bits: t.Bits}, Num: syntax.Num{Lo: n}}
}

func word(name string) *syntax.Symbol { return &syntax.Symbol{Value: syntax.Value{Text: name}} }

// services is a table such as kube-proxy's, with so many services of five endpoints each.
func services(n int) *syntax.TableDecl {
	t := &syntax.TableDecl{Handle: syntax.Handle{Family: nftables.IPv4, Table: "kube-proxy", Number: 1}}
	key := syntax.ConcatType(syntax.TypeIPv4Addr, syntax.TypeInetProto, syntax.TypeInetService)
	items := make([]syntax.Expr, 0, n)
	for i := range n {
		name := fmt.Sprintf("service-%08X-ns/svc-%d/tcp/http", i, i)
		items = append(items, &syntax.Mapping{
			Key: &syntax.Element{Key: &syntax.Concat{Common: syntax.Common{Type: key}, Parts: []syntax.Expr{
				num(syntax.TypeIPv4Addr, uint64(0xac1e0000+i)), num(syntax.TypeInetProto, 6), num(syntax.TypeInetService, 80),
			}}},
			Data: &syntax.Verdict{Common: syntax.Common{Type: syntax.TypeVerdict}, Code: expr.Goto, Chain: word(name)},
		})
		t.Chains = append(t.Chains, service(name, i))
	}
	t.Sets = []*syntax.SetDecl{{
		Handle: syntax.Handle{Name: "service-ips"}, Map: true, Flags: nftables.SetMap,
		Key: &syntax.Value{Common: syntax.Common{Type: key}}, Data: &syntax.Value{Common: syntax.Common{Type: syntax.TypeVerdict}},
		Elements: &syntax.Set{Items: items},
	}}
	return t
}

// service is the chain of a service: a rule that chooses one of five endpoints, and four more.
func service(name string, i int) *syntax.ChainDecl {
	endpoints := &syntax.Set{}
	for e := range 5 {
		endpoints.Items = append(endpoints.Items, &syntax.Mapping{
			Key: &syntax.Element{Key: num(syntax.TypeInteger, uint64(e))},
			Data: &syntax.Concat{Parts: []syntax.Expr{
				num(syntax.TypeIPv4Addr, uint64(0x0a000000+5*i+e)), num(syntax.TypeInetService, 8080),
			}},
		})
	}
	daddr := &syntax.Payload{Header: syntax.HeaderIP, Field: syntax.HeaderIP.Field("daddr")}
	data := &syntax.Value{Common: syntax.Common{Type: syntax.ConcatType(syntax.TypeIPv4Addr, syntax.TypeInetService)}}
	choice := &syntax.Map{
		Key: &syntax.Numgen{Random: true, Modulus: 5},
		Mappings: &syntax.SetRef{Name: "__map", Set: &syntax.SetDecl{
			Flags: nftables.SetAnonymous | nftables.SetMap, Data: data, Elements: endpoints,
		}},
	}
	c := &syntax.ChainDecl{Handle: syntax.Handle{Chain: name}}
	mark := &syntax.Match{Expr: &syntax.Relational{Op: syntax.OpEq, Left: daddr, Right: num(syntax.TypeIPv4Addr, uint64(0xac1e0000+i))}}
	for range 4 {
		c.Rules = append(c.Rules, &syntax.Rule{Stmts: []syntax.Stmt{mark, &syntax.VerdictStmt{
			Expr: &syntax.Verdict{Code: expr.Jump, Chain: word("mark-for-masquerade")},
		}}, Comment: "a comment", HasComment: true})
	}
	c.Rules = append(c.Rules, &syntax.Rule{Stmts: []syntax.Stmt{&syntax.NAT{Kind: syntax.DNAT, Family: 2, Addr: choice}}})
	return c
}

func BenchmarkText(b *testing.B) {
	tables := []*syntax.TableDecl{services(10000)}
	var out []byte
	for b.Loop() {
		var err error
		out, err = print.AppendRuleset(out[:0], tables, nil)
		require.NoError(b, err)
	}
	b.SetBytes(int64(len(out)))
}

func BenchmarkJSON(b *testing.B) {
	tables := []*syntax.TableDecl{services(10000)}
	var out []byte
	for b.Loop() {
		var err error
		out, err = print.AppendJSON(out[:0], tables, nil)
		require.NoError(b, err)
	}
	b.SetBytes(int64(len(out)))
}
