package jsontext

import (
	"strconv"

	"github.com/chainwalk/chainwalk/fakenft/syntax"
	"github.com/chainwalk/chainwalk/netfilter/nftables"
	"github.com/chainwalk/chainwalk/netfilter/nftables/expr"
)

// here is what every expression of JSON begins as.
func here() syntax.Common { return syntax.Common{Loc: nowhere} }

func symbol(name string) *syntax.Symbol {
	return &syntax.Symbol{Value: syntax.Value{Common: here(), Text: name}}
}

// numeral is a number as a word, whose type the checker finds out.
func numeral(n int64) *syntax.Symbol { return symbol(strconv.FormatInt(n, 10)) }

func (r *reader) set(v *value, c *syntax.Command) bool {
	var family string
	h := &c.Handle
	if !r.unpack(v, "{s:s, s:s}", "family", &family, "table", &h.Table) {
		return false
	}
	switch {
	case c.Op != syntax.OpDelete:
		if !r.unpack(v, "{s:s}", "name", &h.Name) {
			return false
		}
	case !nameOrHandle(v, &h.Name, h):
		return r.wrong("Either name or handle required to delete a set.")
	}
	if !r.family(family, h) {
		return false
	}
	if c.Op != syntax.OpAdd && c.Op != syntax.OpCreate {
		return true
	}
	s := &syntax.SetDecl{Loc: nowhere, Handle: *h}
	c.Set = s
	return r.setTypes(v, s) && r.setProperties(v, s)
}

// setTypes reads the types of keys and data.
func (r *reader) setTypes(v *value, s *syntax.SetDecl) bool {
	var key *value
	if !is(v, "{s:o}", "type", &key) {
		return r.wrong("Invalid set type.")
	}
	s.Key = r.dataType(key)
	if s.Key == nil {
		return r.wrong("Invalid set type.")
	}
	var data string
	if !is(v, "{s:s}", "map", &data) {
		return true
	}
	s.Map = true
	s.Flags |= nftables.SetMap
	if t := syntax.TypeNamed(data); t != nil {
		s.Data = typed(t)
		return true
	}
	kind, ok := objectsOfMaps[data]
	if !ok {
		return r.wrong("Invalid map type '%s'.", data)
	}
	s.Object = kind
	s.Flags |= nftables.SetObject
	return true
}

// objectsOfMaps are the kinds of objects that a map can have.
var objectsOfMaps = map[string]expr.ObjectType{
	"counter": expr.ObjectCounter, "quota": expr.ObjectQuota, "limit": expr.ObjectLimit, "secmark": expr.ObjectSecmark,
}

func typed(t *syntax.Datatype) *syntax.Value {
	return &syntax.Value{Common: syntax.Common{Loc: nowhere, Type: t, Order: t.Order, Bits: t.Bits}}
}

// dataType reads a type: a name, or a list of names.
func (r *reader) dataType(v *value) syntax.Expr {
	switch v.kind {
	case text:
		t := syntax.TypeNamed(v.text)
		if t == nil {
			r.wrong("Invalid datatype '%s'.", v.text)
			return nil
		}
		return typed(t)
	case array:
		parts := make([]*syntax.Datatype, 0, len(v.items))
		for i := range v.items {
			part, ok := r.dataType(&v.items[i]).(*syntax.Value)
			if !ok {
				r.wrong("Invalid datatype at index %d.", i)
				return nil
			}
			parts = append(parts, part.Type)
		}
		if len(parts) == 0 || len(parts) > syntax.MaxConcat {
			r.wrong("Invalid set datatype.")
			return nil
		}
		if len(parts) == 1 {
			return typed(parts[0])
		}
		return typed(syntax.ConcatType(parts...))
	}
	r.wrong("Invalid set datatype.")
	return nil
}

var setFlagNames = map[string]nftables.SetFlags{
	"constant": nftables.SetConstant, "interval": nftables.SetInterval, "timeout": nftables.SetTimeout, "dynamic": nftables.SetEval,
}

func (r *reader) setProperties(v *value, s *syntax.SetDecl) bool {
	var policy string
	if is(v, "{s:s}", "policy", &policy) {
		switch policy {
		case "performance":
		case "memory":
			s.Policy = 1
		default:
			return r.wrong("Unknown set policy '%s'.", policy)
		}
		s.PolicyGiven = true
	}
	if flags := v.get("flags"); flags != nil && flags.kind == array {
		for i := range flags.items {
			flag, ok := setFlagNames[flags.items[i].text]
			if flags.items[i].kind != text || !ok {
				return r.wrong("Invalid set flag at index %d.", i)
			}
			s.Flags |= flag
		}
	}
	if items := v.get("elem"); items != nil {
		s.Elements = r.exprs.setItems(items)
		if s.Elements == nil {
			return r.wrong("Invalid set elem expression.")
		}
	}
	var n int64
	if is(v, "{s:i}", "timeout", &n) {
		s.Timeout = uint64(uint32(n)) * 1000
	}
	if is(v, "{s:i}", "gc-interval", &n) {
		s.GCInterval = uint64(uint32(n)) * 1000
	}
	if is(v, "{s:i}", "size", &n) {
		s.Size = uint32(n)
	}
	list := v.get("stmt")
	if list == nil || list.kind != array {
		return true
	}
	return r.stmts.inner(list, &s.Stmts)
}

// wrapped is an element of an expression.
func wrapped(e syntax.Expr) syntax.Expr {
	switch e.(type) {
	case nil:
		return nil
	case *syntax.Element:
		return e
	}
	return &syntax.Element{Common: here(), Key: e}
}

// flowtable reads a flowtable.
func (r *reader) flowtable(v *value, c *syntax.Command) bool {
	var family string
	h := &c.Handle
	if !r.unpack(v, "{s:s, s:s}", "family", &family, "table", &h.Table) {
		return false
	}
	switch {
	case c.Op != syntax.OpDelete:
		if !r.unpack(v, "{s:s}", "name", &h.Name) {
			return false
		}
	case !nameOrHandle(v, &h.Name, h):
		return r.wrong("Either name or handle required to delete a flowtable.")
	}
	if !r.family(family, h) {
		return false
	}
	if c.Op == syntax.OpDelete || c.Op == syntax.OpList || c.Op == syntax.OpFlush {
		return true
	}
	var hook string
	var prio int64
	if !r.unpack(v, "{s:s, s:I}", "hook", &hook, "prio", &prio) {
		return false
	}
	number, known := hookNumber(hook)
	if !known {
		return r.wrong("Invalid flowtable hook '%s'.", hook)
	}
	f := &syntax.FlowtableDecl{Loc: nowhere, Handle: *h, Hook: &syntax.HookDecl{
		Loc: nowhere, TypeLoc: nowhere, HookLoc: nowhere, Hook: hook, HookNumber: number, Priority: numeral(prio), PriorityNumber: int32(prio),
	}}
	c.Flow = f
	dev := v.get("dev")
	if dev == nil {
		return true
	}
	list := &syntax.List{Common: here()}
	names := []value{*dev}
	if dev.kind == array {
		names = dev.items
	}
	for i := range names {
		if names[i].kind != text {
			if dev.kind == array {
				r.wrong("Invalid flowtable dev at index %d.", i)
			}
			return r.wrong("Invalid flowtable dev.")
		}
		list.Items = append(list.Items, symbol(names[i].text))
		f.Hook.DeviceNames = append(f.Hook.DeviceNames, names[i].text)
	}
	f.Hook.Devices = list
	return true
}
