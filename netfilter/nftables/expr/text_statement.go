package expr

import (
	"strconv"
)

// statement writes what changes or asks something beside the packet; false for what is not of those.
func (w *textWriter) statement(e Expr) bool {
	switch e := e.(type) {
	case *Lookup:
		w.reg("reg", e.Sreg)
		w.words("set", e.Set)
		if e.Map {
			w.reg("dreg", e.Dreg)
		}
		w.flag(e.Invert, "0x1")
	case *Dynset:
		w.dynset(e)
	case *Objref:
		if e.Set != "" {
			w.reg("sreg", e.Sreg)
			w.words("set", e.Set)
		} else {
			w.number("type", uint64(e.Type))
			w.words("name", e.Object)
		}
	case *Counter:
		w.number("pkts", e.Packets())
		w.number("bytes", e.Counters.Bytes())
	case *Quota:
		w.number("bytes", e.Bytes)
		w.number("consumed", e.Used())
		w.number("flags", bit(e.Over))
	case *Limit:
		w.words("rate", strconv.FormatUint(e.Rate, 10)+"/"+unitName(e.Unit))
		w.number("burst", uint64(e.Burst))
		w.words("type", map[bool]string{false: "packets", true: "bytes"}[e.Bytes])
		w.hex("flags", bit(e.Over))
	case *Connlimit:
		w.number("count", uint64(e.Count))
		w.hexBare("flags", bit(e.Over))
	case *Last:
		if e.Set {
			w.words(strconv.FormatInt(e.Ago.Milliseconds(), 10))
		} else {
			w.words("never")
		}
	case *Log:
		w.log(e)
	case *Reject:
		w.number("type", uint64(e.Kind))
		w.number("code", uint64(e.Code))
	case *QueueTo:
		w.queue(e)
	case *Synproxy:
		w.number("mss", uint64(e.MSS))
		w.number("wscale", uint64(e.Wscale))
	case *FlowOffload:
		w.words("flowtable", e.Table)
	case *Xt:
		w.words("name", e.Ext)
		w.number("rev", uint64(e.Revision))
	default:
		return false
	}
	return true
}

func bit(set bool) uint64 {
	if set {
		return 1
	}
	return 0
}

func (w *textWriter) hexBare(name string, n uint64) { w.words(name, strconv.FormatUint(n, 16)) }

func (w *textWriter) dynset(e *Dynset) {
	w.words(nameAt([]string{DynsetAdd: "add", DynsetUpdate: "update", DynsetDelete: "delete"}, uint32(e.Op)))
	w.reg("reg_key", e.Key)
	w.words("set", e.Set)
	if e.HasData {
		w.reg("sreg_data", e.Data)
	}
	if e.Timeout != 0 {
		w.words("timeout", strconv.FormatInt(e.Timeout.Milliseconds(), 10)+"ms")
	}
	for _, x := range e.Exprs {
		w.words("expr")
		w.expr(x)
		w.WriteByte(' ')
	}
}

func (w *textWriter) log(e *Log) {
	if e.Prefix != "" {
		w.words("prefix", e.Prefix)
	}
	if e.HasGroup {
		w.number("group", uint64(e.Group))
		w.number("snaplen", uint64(e.Snaplen))
		w.number("qthreshold", uint64(e.QueueThreshold))
		return
	}
	if e.HasLevel {
		w.number("level", uint64(e.Level))
	}
	for i, name := range []string{"tcpseq", "tcpopt", "ipopt", "uid"} {
		w.flag(e.Flags&(1<<i) != 0, name)
	}
	w.flag(e.Flags&0x20 != 0, "macdecode")
}

func (w *textWriter) queue(e *QueueTo) {
	if e.Sreg != 0 {
		w.reg("sreg_qnum", e.Sreg)
	} else {
		num := strconv.Itoa(int(e.Num))
		if e.Total > 1 {
			num += "-" + strconv.Itoa(int(e.Num+e.Total-1))
		}
		w.words("num", num)
	}
	w.flag(e.Flags&1 != 0, "bypass")
	w.flag(e.Flags&2 != 0, "fanout")
}

// nat writes what gives a packet another address or way.
func (w *textWriter) nat(e Expr) {
	switch e := e.(type) {
	case *NAT:
		w.words(map[bool]string{false: "dnat", true: "snat"}[e.Source], familyName(e.Family))
		w.given("addr_min reg", e.AddrMin)
		w.given("addr_max reg", e.AddrMax)
		w.ports(e.ProtoMin, e.ProtoMax, e.Flags)
	case *Masq:
		w.ports(e.ProtoMin, e.ProtoMax, e.Flags)
	case *Redir:
		w.ports(e.ProtoMin, e.ProtoMax, e.Flags)
	case *Dup:
		w.given("sreg_addr", e.Addr)
		w.given("sreg_dev", e.Dev)
	case *Fwd:
		w.given("sreg_dev", e.Dev)
		w.given("sreg_addr", e.Addr)
		if e.Family != 0 {
			w.number("nfproto", uint64(e.Family))
		}
	case *Tproxy:
		if e.Family != 0 {
			w.words(familyName(e.Family))
		}
		w.given("addr reg", e.Addr)
		w.given("port reg", e.Port)
	}
}

func (w *textWriter) ports(low, high Register, flags NATFlags) {
	w.given("proto_min reg", low)
	w.given("proto_max reg", high)
	if flags != 0 {
		w.hex("flags", uint64(flags))
	}
}

func familyName(f uint8) string {
	switch f {
	case 1:
		return "inet"
	case 2:
		return "ip"
	case 10:
		return "ip6"
	}
	return "unspec"
}
