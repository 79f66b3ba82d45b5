package expr_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/chainwalk/chainwalk/netfilter"
	"github.com/chainwalk/chainwalk/netfilter/nftables/expr"
)

func counted(packets, bytes uint64) *expr.Counter {
	c := &expr.Counter{Counters: &netfilter.Counters{}}
	c.Set(packets, bytes)
	return c
}

var original = uint8(0)

// textRows are expressions and what `nft --debug=netlink` of nft 1.0.6 with libnftnl 1.2.4 prints of them.
var textRows = []struct {
	want string
	e    expr.Expr
}{
	{"[ meta load l4proto => reg 1 ]", &expr.Meta{Key: expr.MetaL4proto, Dreg: 1}},
	{"[ meta set nftrace with reg 1 ]", &expr.Meta{Key: expr.MetaNftrace, Writes: true, Sreg: 1}},
	{"[ meta load sdifname => reg 1 ]", &expr.Meta{Key: expr.MetaSdifname, Dreg: 1}},
	{"[ cmp eq reg 1 0x00000006 ]", &expr.Cmp{Sreg: 1, Data: []byte{6}}},
	{"[ cmp neq reg 1 0x04030201 0x00000605 ]", &expr.Cmp{Sreg: 1, Op: expr.Neq, Data: []byte{1, 2, 3, 4, 5, 6}}},
	{"[ range neq reg 1 0x00000100 0x00000a00 ]", &expr.Range{Sreg: 1, Op: expr.Neq, From: []byte{0, 1}, To: []byte{0, 10}}},
	{"[ payload load 2b @ transport header + 2 => reg 9 ]", &expr.Payload{Base: expr.TransportHeader, Offset: 2, Len: 2, Dreg: 9}},
	{"[ payload write reg 1 => 2b @ transport header + 2 csum_type 1 csum_off 16 csum_flags 0x0 ]",
		&expr.Payload{Base: expr.TransportHeader, Offset: 2, Len: 2, Writes: true, Sreg: 1, CsumType: 1, CsumOffset: 16}},
	{"[ exthdr load tcpopt 1b @ 5 + 0 present => reg 1 ]", &expr.Exthdr{Op: expr.ExthdrTCPOption, Type: 5, Len: 1, Present: true, Dreg: 1}},
	{"[ exthdr write tcpopt reg 1 => 2b @ 2 + 2 ]", &expr.Exthdr{Op: expr.ExthdrTCPOption, Type: 2, Offset: 2, Len: 2, Writes: true, Sreg: 1}},
	{"[ exthdr reset tcpopt 4 ]", &expr.Exthdr{Op: expr.ExthdrTCPOption, Type: 4}},
	{"[ exthdr load 1b @ 1 + 0 present => reg 1 ]", &expr.Exthdr{Op: expr.ExthdrSCTP, Type: 1, Len: 1, Present: true, Dreg: 1}},
	{"[ bitwise reg 1 = ( reg 1 & 0x00000008 ) ^ 0x00000000 ]",
		&expr.Bitwise{Sreg: 1, Dreg: 1, Len: 4, Mask: []byte{8, 0, 0, 0}, Xor: make([]byte, 4)}},
	{"[ bitwise reg 1 = ( reg 1 >> 0x00000003 ) ]", &expr.Bitwise{Sreg: 1, Dreg: 1, Op: expr.RightShift, Len: 4, Shift: 3}},
	{"[ byteorder reg 1 = hton(reg 1, 8, 16) ]", &expr.Byteorder{Sreg: 1, Dreg: 1, Len: 16, Size: 8}},
	{"[ ct load src_ip => reg 1 , dir original ]", &expr.CT{Key: expr.CTSrcIP, Dir: &original, Dreg: 1}},
	{"[ ct set zone with reg 1 , dir original ]", &expr.CT{Key: expr.CTZone, Dir: &original, Writes: true, Sreg: 1}},
	{"[ ct load unknown => reg 1 ]", &expr.CT{Key: expr.CTID, Dreg: 1}},
	{"[ rt load tcpmss => reg 1 ]", &expr.RT{Key: 3, Dreg: 1}},
	{"[ socket load wildcard => reg 1 ]", &expr.Socket{Key: 2, Dreg: 1}},
	{"[ osf dreg 1 ]", &expr.Osf{Dreg: 1}},
	{"[ xfrm load out 1 saddr4 => reg 1 ]", &expr.XFRM{Key: 3, SPNum: 1, Dir: 1, Dreg: 1}},
	{"[ fib saddr . mark . iif oif => reg 1 ]",
		&expr.Fib{Flags: expr.FibSaddr | expr.FibMark | expr.FibIif, Result: expr.FibOif, Dreg: 1}},
	{"[ fib saddr . iif oif present => reg 1 ]",
		&expr.Fib{Flags: expr.FibSaddr | expr.FibIif | expr.FibPresent, Result: expr.FibOif, Dreg: 1}},
	{"[ numgen reg 1 = random mod 3 offset 2 ]", &expr.Numgen{Random: true, Modulus: 3, Offset: 2, Dreg: 1}},
	{"[ numgen reg 1 = inc mod 3 ]", &expr.Numgen{Modulus: 3, Dreg: 1}},
	{"[ hash reg 1 = jhash(reg 2, 4, 0xdead) % mod 5 ]", &expr.Hash{Sreg: 2, Len: 4, Seed: 0xdead, HasSeed: true, Modulus: 5, Dreg: 1}},
	{"[ hash reg 1 = symhash() % mod 5 offset 3 ]", &expr.Hash{Symmetric: true, Modulus: 5, Offset: 3, Dreg: 1}},
	{"[ lookup reg 1 set m dreg 0 ]", &expr.Lookup{Sreg: 1, Set: "m", Map: true}},
	{"[ lookup reg 1 set cc 0x1 ]", &expr.Lookup{Sreg: 1, Set: "cc", Invert: true}},
	{"[ dynset update reg_key 1 set dm sreg_data 2 ]", &expr.Dynset{Op: expr.DynsetUpdate, Key: 1, Set: "dm", HasData: true, Data: 2}},
	{"[ dynset update reg_key 1 set s timeout 5000ms expr [ counter pkts 0 bytes 0 ] expr " +
		"[ limit rate 5/second burst 5 type packets flags 0x0 ] ]",
		&expr.Dynset{Op: expr.DynsetUpdate, Key: 1, Set: "s", Timeout: 5 * time.Second,
			Exprs: []expr.Expr{counted(0, 0), &expr.Limit{Rate: 5, Unit: time.Second, Burst: 5}}}},
	{"[ objref type 1 name k ]", &expr.Objref{Type: expr.ObjectCounter, Object: "k"}},
	{"[ objref sreg 1 set mo ]", &expr.Objref{Sreg: 1, Set: "mo"}},
	{"[ counter pkts 3 bytes 4 ]", counted(3, 4)},
	{"[ quota bytes 10485760 consumed 0 flags 1 ]", &expr.Quota{Bytes: 10485760, Over: true}},
	{"[ limit rate 10240/hour burst 3 type bytes flags 0x1 ]",
		&expr.Limit{Rate: 10240, Unit: time.Hour, Burst: 3, Bytes: true, Over: true}},
	{"[ limit rate 1/week burst 5 type packets flags 0x0 ]", &expr.Limit{Rate: 1, Unit: 7 * 24 * time.Hour, Burst: 5}},
	{"[ connlimit count 3 flags 1 ]", &expr.Connlimit{Count: 3, Over: true}},
	{"[ log prefix abc level 6 tcpseq tcpopt ]", &expr.Log{Prefix: "abc", HasLevel: true, Level: 6, Flags: 3}},
	{"[ log tcpseq tcpopt ipopt uid macdecode ]", &expr.Log{Flags: 0x2f}},
	{"[ log prefix x group 2 snaplen 80 qthreshold 3 ]", &expr.Log{Prefix: "x", HasGroup: true, Group: 2, Snaplen: 80, QueueThreshold: 3}},
	{"[ log prefix y group 2 snaplen 0 qthreshold 0 ]", &expr.Log{Prefix: "y", HasGroup: true, Group: 2}},
	{"[ reject type 2 code 1 ]", &expr.Reject{Kind: expr.RejectICMPX, Code: 1}},
	{"[ nat dnat ip addr_min reg 1 addr_max reg 2 proto_min reg 3 proto_max reg 4 flags 0xe ]",
		&expr.NAT{Family: 2, AddrMin: 1, AddrMax: 2, ProtoMin: 3, ProtoMax: 4, Flags: 0xe}},
	{"[ nat snat ip addr_min reg 1 addr_max reg 2 flags 0x4 ]", &expr.NAT{Source: true, Family: 2, AddrMin: 1, AddrMax: 2, Flags: 4}},
	{"[ nat dnat ip6 addr_min reg 1 proto_min reg 2 flags 0x2 ]", &expr.NAT{Family: 10, AddrMin: 1, ProtoMin: 2, Flags: 2}},
	{"[ masq ]", &expr.Masq{}},
	{"[ masq proto_min reg 1 proto_max reg 2 flags 0x2 ]", &expr.Masq{ProtoMin: 1, ProtoMax: 2, Flags: 2}},
	{"[ redir proto_min reg 1 flags 0x2 ]", &expr.Redir{ProtoMin: 1, Flags: 2}},
	{"[ notrack ]", &expr.Notrack{}},
	{"[ queue num 1-3 bypass fanout ]", &expr.QueueTo{Num: 1, Total: 3, Flags: 3}},
	{"[ queue num 3 ]", &expr.QueueTo{Num: 3, Total: 1}},
	{"[ queue sreg_qnum 1 bypass ]", &expr.QueueTo{Sreg: 1, Flags: 1}},
	{"[ dup sreg_dev 1 ]", &expr.Dup{Dev: 1}},
	{"[ fwd sreg_dev 1 sreg_addr 2 nfproto 2 ]", &expr.Fwd{Dev: 1, Addr: 2, Family: 2}},
	{"[ tproxy ip addr reg 1 port reg 2 ]", &expr.Tproxy{Family: 2, Addr: 1, Port: 2}},
	{"[ tproxy port reg 1 ]", &expr.Tproxy{Port: 1}},
	{"[ synproxy mss 1460 wscale 7 ]", &expr.Synproxy{MSS: 1460, Wscale: 7}},
	{"[ flow_offload flowtable ff ]", &expr.FlowOffload{Table: "ff"}},
	{"[ match name recent rev 1 ]", &expr.Xt{Ext: "recent", Revision: 1}},
	{"[ target name MARK rev 2 ]", &expr.Xt{Target: true, Ext: "MARK", Revision: 2}},
	{"[ immediate reg 0 accept ]", &expr.Immediate{Data: expr.Data{Verdict: &expr.Verdict{Code: expr.Accept}}}},
	{"[ immediate reg 0 jump -> c2 ]", &expr.Immediate{Data: expr.Data{Verdict: &expr.Verdict{Code: expr.Jump, Chain: "c2"}}}},
	{"[ immediate reg 0 jump ]", &expr.Immediate{Data: expr.Data{Verdict: &expr.Verdict{Code: expr.Jump, ChainID: 3}}}},
	{"[ immediate reg 1 0x01010101 ]", &expr.Immediate{Dreg: 1, Data: expr.Data{Bytes: []byte{1, 1, 1, 1}}}},
}

func TestText(t *testing.T) {
	for _, row := range textRows {
		assert.Equal(t, row.want, expr.Text(row.e))
	}
}
