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

func (r *reader) nat(word string, v *value) syntax.Stmt {
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
		if s.Addr = r.stmtExpr(addr); s.Addr == nil {
			return r.noStmt("Invalid nat addr.")
		}
	}
	if port := v.get("port"); port != nil {
		if s.Port = r.stmtExpr(port); s.Port == nil {
			return r.noStmt("Invalid nat port.")
		}
	}
	if flags := v.get("flags"); flags != nil && !r.natFlags(flags, "nat flag", func(name string) bool {
		flag, ok := natFlags[name]
		s.Flags |= flag
		return ok || r.wrong("Unknown nat flag '%s'.", name)
	}) {
		return nil
	}
	if flags := v.get("type_flags"); flags != nil && !r.natFlags(flags, "nat type flag", func(name string) bool {
		switch name {
		case "interval":
			s.Interval = true
		case "prefix":
			s.Prefix = true
		case "concat":
			s.Concat = true
		default:
			return r.wrong("Unknown nat type flag '%s'.", name)
		}
		return true
	}) {
		return nil
	}
	return s
}

// natFlags reads a flag or a list of flags.
func (r *reader) natFlags(v *value, what string, set func(string) bool) bool {
	switch v.kind {
	case text:
		return set(v.text)
	case array:
		for i := range v.items {
			if v.items[i].kind != text {
				return r.wrong("Invalid %s type %s, expected string.", what, v.items[i].kind) ||
					r.wrong("Parsing %s at index %d failed.", what, i)
			}
			if !set(v.items[i].text) {
				return r.wrong("Parsing %s at index %d failed.", what, i)
			}
		}
		return true
	}
	return r.wrong("Invalid %ss type %s.", what, v.kind)
}

func (r *reader) meter(_ string, v *value) syntax.Stmt {
	var key, inner *value
	var size int64
	s := &syntax.MeterStmt{At: at()}
	if !r.unpack(v, "{s:s, s:o, s:o}", "name", &s.Name, "key", &key, "stmt", &inner) {
		return nil
	}
	if is(v, "{s:i}", "size", &size) {
		s.Size = uint32(size)
	}
	if s.Key = wrapped(r.expr2(key)); s.Key == nil {
		return r.noStmt("Invalid meter key.")
	}
	if inner.kind == object {
		s.Stmt = r.stmt(inner)
	}
	if s.Stmt == nil {
		return r.noStmt("Invalid meter statement.")
	}
	return s
}

// expr2 reads an expression where all may stand.
func (r *reader) expr2(v *value) syntax.Expr { return r.within(0, v) }

func (r *reader) queue(_ string, v *value) syntax.Stmt {
	s := &syntax.QueueStmt{At: at()}
	if num := v.get("num"); num != nil {
		if s.To = r.stmtExpr(num); s.To == nil {
			return r.noStmt("Invalid queue num.")
		}
	}
	flags := v.get("flags")
	if flags == nil {
		return s
	}
	list := []value{*flags}
	if flags.kind == array {
		list = flags.items
	}
	for i := range list {
		switch {
		case list[i].kind != text:
			return r.noStmt("Invalid queue flag '%s'.", list[i].text)
		case list[i].text == "bypass":
			s.Flags |= 1
		case list[i].text == "fanout":
			s.Flags |= 2
		default:
			return r.noStmt("Invalid queue flag '%s'.", list[i].text)
		}
	}
	return s
}

func (r *reader) tproxy(_ string, v *value) syntax.Stmt {
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
		if s.Addr = r.stmtExpr(addr); s.Addr == nil {
			return r.noStmt("Invalid addr.")
		}
	}
	if port := v.get("port"); port != nil {
		if s.Port = r.stmtExpr(port); s.Port == nil {
			return r.noStmt("Invalid port.")
		}
	}
	return s
}

func (r *reader) synproxy(_ string, v *value) syntax.Stmt {
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
		if !r.synproxyFlags(flags, s) {
			return nil
		}
	}
	if !found {
		return r.objectNamed(expr.ObjectSynproxy, v, "Invalid synproxy reference")
	}
	return s
}
