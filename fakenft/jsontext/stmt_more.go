package jsontext

import (
	"github.com/chainwalk/chainwalk/fakenft/syntax"
	"github.com/chainwalk/chainwalk/netfilter/nftables/expr"
)

var (
	natKinds = map[string]syntax.NATKind{
		"snat": syntax.SNAT, "dnat": syntax.DNAT, "masquerade": syntax.Masquerade, "redirect": syntax.Redirect,
	}
	natFlags = map[string]expr.NATFlags{
		"random": expr.NATProtoRandom, "fully-random": expr.NATProtoFullRandom, "persistent": expr.NATPersistent, "netmap": expr.NATNetmap,
	}
)

func (r *stmtReader) nat(word string, v *value) syntax.Stmt {
	var family string
	s := &syntax.NAT{At: at(), Kind: natKinds[word]}
	if is(v, "{s:s}", "family", &family) {
		f, ok := familyNamed(family)
		if !ok {
			return r.noStmt("Invalid family '%s'.", family)
		}
		s.Family = uint8(f)
	}
	if addr := v.get("addr"); addr != nil {
		if s.Addr = r.exprs.stmtExpr(addr); s.Addr == nil {
			return r.noStmt("Invalid nat addr.")
		}
	}
	if port := v.get("port"); port != nil {
		if s.Port = r.exprs.stmtExpr(port); s.Port == nil {
			return r.noStmt("Invalid nat port.")
		}
	}
	if flags := v.get("flags"); flags != nil && !r.flags(flags, "nat flag", func(name string) bool {
		flag, ok := natFlags[name]
		s.Flags |= flag
		return ok
	}) {
		return nil
	}
	if flags := v.get("type_flags"); flags != nil && !r.flags(flags, "nat type flag", func(name string) bool {
		switch name {
		case "interval":
			s.Interval = true
		case "prefix":
			s.Prefix = true
		case "concat":
			s.Concat = true
		default:
			return false
		}
		return true
	}) {
		return nil
	}
	return s
}

// flags reads a flag or a list of flags. One that is not known is noted and left out: nft goes on.
func (r *stmtReader) flags(v *value, what string, set func(string) bool) bool {
	switch v.kind {
	case text:
		if !set(v.text) {
			r.wrong("Unknown %s '%s'.", what, v.text)
		}
		return true
	case array:
		for i := range v.items {
			switch item := &v.items[i]; {
			case item.kind != text:
				r.wrong("Invalid %s type %s, expected string.", what, item.kind)
			case !set(item.text):
				r.wrong("Unknown %s '%s'.", what, item.text)
			default:
				continue
			}
			r.wrong("Parsing %s at index %d failed.", what, i)
		}
		return true
	}
	if what == "nat type flag" {
		what = "nat flag" // so it is in nft
	}
	return r.wrong("Invalid %ss type %s.", what, v.kind)
}

func (r *stmtReader) meter(_ string, v *value) syntax.Stmt {
	var key, inner *value
	var size int64
	s := &syntax.MeterStmt{At: at()}
	if !r.unpack(v, "{s:s, s:o, s:o}", "name", &s.Name, "key", &key, "stmt", &inner) {
		return nil
	}
	if is(v, "{s:i}", "size", &size) {
		s.Size = uint32(size)
	}
	if s.Key = wrapped(r.exprs.within(setEntry, key)); s.Key == nil {
		return r.noStmt("Invalid meter key.")
	}
	if s.Stmt = r.stmt(inner); s.Stmt == nil {
		return r.noStmt("Invalid meter statement.")
	}
	return s
}

func (r *stmtReader) queue(_ string, v *value) syntax.Stmt {
	s := &syntax.QueueStmt{At: at()}
	if num := v.get("num"); num != nil {
		if s.To = r.exprs.stmtExpr(num); s.To == nil {
			return r.noStmt("Invalid queue num.")
		}
	}
	flags := v.get("flags")
	if flags == nil {
		return s
	}
	switch flags.kind {
	case text:
		if !r.queueFlag(flags.text, s) {
			return nil
		}
	case array:
		for i := range flags.items {
			if flags.items[i].kind != text {
				return r.noStmt("Invalid object in queue flag array at index %d.", i)
			}
			if !r.queueFlag(flags.items[i].text, s) {
				return nil
			}
		}
	default:
		return r.noStmt("Unexpected object type in queue flags.")
	}
	return s
}

func (r *stmtReader) queueFlag(name string, s *syntax.QueueStmt) bool {
	switch name {
	case "bypass":
		s.Flags |= 1
	case "fanout":
		s.Flags |= 2
	default:
		return r.wrong("Invalid queue flag '%s'.", name)
	}
	return true
}

func (r *stmtReader) tproxy(_ string, v *value) syntax.Stmt {
	var family string
	s := &syntax.TproxyStmt{At: at()}
	if is(v, "{s:s}", "family", &family) {
		f, ok := familyNamed(family)
		if !ok {
			return r.noStmt("Invalid family '%s'.", family)
		}
		s.Family = uint8(f)
	}
	if addr := v.get("addr"); addr != nil {
		if s.Addr = r.exprs.stmtExpr(addr); s.Addr == nil {
			return r.noStmt("Invalid addr.")
		}
	}
	if port := v.get("port"); port != nil {
		if s.Port = r.exprs.stmtExpr(port); s.Port == nil {
			return r.noStmt("Invalid port.")
		}
	}
	return s
}

// The options of synproxy (NF_SYNPROXY_OPT_*).
const (
	synproxyMSS = 1 << iota
	synproxyWscale
	synproxySackPerm
	synproxyTimestamp
)

var synproxyFlagNames = map[string]uint32{"timestamp": synproxyTimestamp, "sack-perm": synproxySackPerm}

func (r *stmtReader) synproxy(_ string, v *value) syntax.Stmt {
	s := &syntax.SynproxyStmt{At: at()}
	if v.kind == null {
		return s
	}
	var n int64
	found := false
	if is(v, "{s:i}", "mss", &n) {
		if n < 0 || n > 65535 {
			return r.noStmt("Invalid synproxy mss value '%d'", n)
		}
		s.MSS, s.Flags, found = uint16(n), s.Flags|synproxyMSS, true
	}
	if is(v, "{s:i}", "wscale", &n) {
		if n < 0 || n > 14 {
			return r.noStmt("Invalid synproxy wscale value '%d'", n)
		}
		s.Wscale, s.Flags, found = uint8(n), s.Flags|synproxyWscale, true
	}
	if flags := v.get("flags"); flags != nil {
		found = true
		if !r.flags(flags, "synproxy flag", func(name string) bool {
			flag, ok := synproxyFlagNames[name]
			s.Flags |= flag
			return ok
		}) {
			return nil
		}
	}
	if !found {
		return r.objectNamed(expr.ObjectSynproxy, v, "Invalid synproxy reference")
	}
	return s
}
