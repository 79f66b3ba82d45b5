package nftnetlink

import (
	"encoding/binary"
	"time"

	"github.com/chainwalk/chainwalk/netfilter"
	"github.com/chainwalk/chainwalk/netfilter/nftables/expr"
)

// readers read the attributes of each kind of expression. The numbers of attributes are those of include/uapi/linux/netfilter/nf_tables.h.
var readers map[string]func(t *attributes) expr.Expr

func init() {
	readers = map[string]func(t *attributes) expr.Expr{
		"immediate": func(t *attributes) expr.Expr { return &expr.Immediate{Dreg: t.register(1), Data: t.data(2)} },
		"cmp": func(t *attributes) expr.Expr {
			return &expr.Cmp{Sreg: t.register(1), Op: expr.CmpOp(t.u32(2)), Data: t.value(3)}
		},
		"range": func(t *attributes) expr.Expr {
			return &expr.Range{Sreg: t.register(1), Op: expr.CmpOp(t.u32(2)), From: t.value(3), To: t.value(4)}
		},
		"bitwise": readBitwise,
		"byteorder": func(t *attributes) expr.Expr {
			return &expr.Byteorder{Sreg: t.register(1), Dreg: t.register(2), ToHost: t.u32(3) == 0, Len: int(t.u32(4)), Size: int(t.u32(5))}
		},
		"payload": readPayload,
		"exthdr":  readExthdr,
		"meta":    func(t *attributes) expr.Expr { return readMeta(t) },
		"ct":      readCT,
		"rt":      func(t *attributes) expr.Expr { return &expr.RT{Dreg: t.register(1), Key: t.u32(2)} },
		"socket": func(t *attributes) expr.Expr {
			return &expr.Socket{Key: t.u32(1), Dreg: t.register(2), Level: t.u32(3)}
		},
		"osf": func(t *attributes) expr.Expr { return &expr.Osf{Dreg: t.register(1), TTL: t.u8(2), Flags: t.u32(3)} },
		"xfrm": func(t *attributes) expr.Expr {
			return &expr.XFRM{Dreg: t.register(1), Key: t.u32(2), Dir: t.u8(3), SPNum: t.u32(4)}
		},
		"fib":       func(t *attributes) expr.Expr { return readFib(t) },
		"numgen":    readNumgen,
		"hash":      readHash,
		"lookup":    readLookup,
		"dynset":    readDynset,
		"objref":    readObjref,
		"counter":   func(t *attributes) expr.Expr { return readCounter(t) },
		"quota":     readQuota,
		"limit":     readLimit,
		"connlimit": func(t *attributes) expr.Expr { return &expr.Connlimit{Count: t.u32(1), Over: t.u32(2)&1 != 0} },
		"last":      func(t *attributes) expr.Expr { return &expr.Last{Set: t.u32(1) != 0, Ago: t.milliseconds(2)} },
		"log":       readLog,
		"reject":    func(t *attributes) expr.Expr { return &expr.Reject{Kind: expr.RejectKind(t.u32(1)), Code: t.u8(2)} },
		"nat":       readNAT,
		"masq": func(t *attributes) expr.Expr {
			return &expr.Masq{Flags: expr.NATFlags(t.u32(1)), ProtoMin: t.register(2), ProtoMax: t.register(3)}
		},
		"redir": func(t *attributes) expr.Expr {
			return &expr.Redir{ProtoMin: t.register(1), ProtoMax: t.register(2), Flags: expr.NATFlags(t.u32(3))}
		},
		"notrack": func(*attributes) expr.Expr { return &expr.Notrack{} },
		"queue": func(t *attributes) expr.Expr {
			return &expr.QueueTo{Num: t.u16(1), Total: t.u16(2), Flags: t.u16(3), Sreg: t.register(4)}
		},
		"dup": func(t *attributes) expr.Expr { return &expr.Dup{Addr: t.register(1), Dev: t.register(2)} },
		"fwd": func(t *attributes) expr.Expr {
			return &expr.Fwd{Dev: t.register(1), Addr: t.register(2), Family: uint8(t.u32(3))}
		},
		"tproxy": func(t *attributes) expr.Expr {
			return &expr.Tproxy{Family: uint8(t.u32(1)), Addr: t.register(2), Port: t.register(3)}
		},
		"synproxy":     func(t *attributes) expr.Expr { return &expr.Synproxy{MSS: t.u16(1), Wscale: t.u8(2), Flags: t.u32(3)} },
		"flow_offload": func(t *attributes) expr.Expr { return &expr.FlowOffload{Table: t.text(1)} },
		"match":        func(t *attributes) expr.Expr { return &expr.Xt{Ext: t.text(1), Revision: t.u32(2), Info: t.bytes(3)} },
		"target": func(t *attributes) expr.Expr {
			return &expr.Xt{Target: true, Ext: t.text(1), Revision: t.u32(2), Info: t.bytes(3)}
		},
	}
}

func readBitwise(t *attributes) expr.Expr {
	e := &expr.Bitwise{Sreg: t.register(1), Dreg: t.register(2), Len: int(t.u32(3)), Op: expr.BitwiseOp(t.u32(6))}
	if e.Op == expr.Bool {
		e.Mask, e.Xor = t.value(4), t.value(5)
		return e
	}
	if bits := t.value(7); len(bits) == 4 {
		e.Shift = binary.NativeEndian.Uint32(bits)
	}
	return e
}

func readPayload(t *attributes) expr.Expr {
	return &expr.Payload{
		Dreg: t.register(1), Base: expr.PayloadBase(t.u32(2)), Offset: t.u32(3), Len: t.u32(4),
		Writes: t.has[5], Sreg: t.register(5), CsumType: t.u32(6), CsumOffset: t.u32(7), CsumFlags: t.u32(8),
	}
}

func readExthdr(t *attributes) expr.Expr {
	return &expr.Exthdr{
		Dreg: t.register(1), Type: t.u8(2), Offset: t.u32(3), Len: t.u32(4), Present: t.u32(5)&1 != 0,
		Op: expr.ExthdrOp(t.u32(6)), Writes: t.has[7], Sreg: t.register(7),
	}
}

func readMeta(t *attributes) *expr.Meta {
	return &expr.Meta{Dreg: t.register(1), Key: expr.MetaKey(t.u32(2)), Writes: t.has[3], Sreg: t.register(3)}
}

func readCT(t *attributes) expr.Expr {
	e := &expr.CT{Dreg: t.register(1), Key: expr.CTKey(t.u32(2)), Writes: t.has[4], Sreg: t.register(4)}
	if t.has[3] {
		dir := t.u8(3)
		e.Dir = &dir
	}
	return e
}

func readFib(t *attributes) *expr.Fib {
	return &expr.Fib{Dreg: t.register(1), Result: expr.FibResult(t.u32(2)), Flags: expr.FibFlags(t.u32(3))}
}

func readNumgen(t *attributes) expr.Expr {
	return &expr.Numgen{Dreg: t.register(1), Modulus: t.u32(2), Random: t.u32(3) == 1, Offset: t.u32(4)}
}

func readHash(t *attributes) expr.Expr {
	return &expr.Hash{
		Sreg: t.register(1), Dreg: t.register(2), Len: int(t.u32(3)), Modulus: t.u32(4), Seed: t.u32(5), HasSeed: t.has[5],
		Offset: t.u32(6), Symmetric: t.u32(7) == 1,
	}
}

func readLookup(t *attributes) expr.Expr {
	return &expr.Lookup{Set: t.text(1), Sreg: t.register(2), Dreg: t.register(3), Map: t.has[3], SetID: t.u32(4), Invert: t.u32(5)&1 != 0}
}

func readDynset(t *attributes) expr.Expr {
	e := &expr.Dynset{
		Set: t.text(1), SetID: t.u32(2), Op: expr.DynsetOp(t.u32(3)), Key: t.register(4), Data: t.register(5), HasData: t.has[5],
		Timeout: t.milliseconds(6), Invert: t.u32(9)&1 != 0,
	}
	switch {
	case t.has[10]:
		e.Exprs = t.exprs(10)
	case t.has[7]:
		e.Exprs = []expr.Expr{t.expr(t.values[7])}
	}
	return e
}

func readObjref(t *attributes) expr.Expr {
	return &expr.Objref{Type: expr.ObjectType(t.u32(1)), Object: t.text(2), Sreg: t.register(3), Set: t.text(4), SetID: t.u32(5)}
}

func readCounter(t *attributes) *expr.Counter {
	c := &expr.Counter{Counters: new(netfilter.Counters)}
	c.Set(t.u64(2), t.u64(1))
	return c
}

func readQuota(t *attributes) expr.Expr {
	e := &expr.Quota{Bytes: t.u64(1), Over: t.u32(2)&1 != 0, Consumed: new(netfilter.Counters)}
	e.Consumed.Set(0, t.u64(4))
	return e
}

func readLimit(t *attributes) expr.Expr {
	return &expr.Limit{
		Rate: t.u64(1), Unit: time.Duration(t.u64(2)) * time.Second, Burst: t.u32(3), Bytes: t.u32(4) == 1, Over: t.u32(5)&1 != 0,
	}
}

func readLog(t *attributes) expr.Expr {
	return &expr.Log{
		HasGroup: t.has[1], Group: t.u16(1), Prefix: t.text(2), HasSnaplen: t.has[3], Snaplen: t.u32(3),
		HasQueueThreshold: t.has[4], QueueThreshold: t.u16(4), HasLevel: t.has[5], Level: t.u32(5), Flags: t.u32(6),
	}
}

func readNAT(t *attributes) expr.Expr {
	return &expr.NAT{
		Source: t.u32(1) == 0, Family: uint8(t.u32(2)), AddrMin: t.register(3), AddrMax: t.register(4),
		ProtoMin: t.register(5), ProtoMax: t.register(6), Flags: expr.NATFlags(t.u32(7)),
	}
}
