package jsontext

import "github.com/chainwalk/chainwalk/fakenft/syntax"

// addable are what "add" takes, in the order in which it is looked for.
var addable = [...]struct {
	name string
	kind syntax.Kind
	read func(*reader, *value, *syntax.Command) bool
}{
	{"table", syntax.KindTable, (*reader).table}, {"chain", syntax.KindChain, (*reader).chain}, {"rule", syntax.KindRule, (*reader).rule},
	{"set", syntax.KindSet, (*reader).set}, {"map", syntax.KindMap, (*reader).set}, {"element", syntax.KindElements, (*reader).element},
	{"flowtable", syntax.KindFlowtable, (*reader).flowtable}, {"counter", syntax.KindCounter, (*reader).object},
	{"quota", syntax.KindQuota, (*reader).object}, {"ct helper", syntax.KindCTHelper, (*reader).object},
	{"ct timeout", syntax.KindCTTimeout, (*reader).object}, {"ct expectation", syntax.KindCTExpectation, (*reader).object},
	{"limit", syntax.KindLimit, (*reader).object}, {"secmark", syntax.KindSecmark, (*reader).object},
}

func (r *reader) add(v *value, c *syntax.Command) bool {
	if v.kind != object {
		return r.wrong("Value of add command must be object (got %s instead).", v.kind)
	}
	for _, a := range &addable {
		of := v.get(a.name)
		if of == nil {
			continue
		}
		if c.Op == syntax.OpCreate && a.kind == syntax.KindRule {
			return r.wrong("Create command not available for rules.")
		}
		c.Kind = a.kind
		places(&c.Handle)
		return a.read(r, of, c)
	}
	return r.wrong("Unknown object passed to add command.")
}

// nameOrHandle reads what is deleted: by its name or its handle.
func nameOrHandle(v *value, name *string, h *syntax.Handle) bool {
	if is(v, "{s:s}", "name", name) {
		return true
	}
	return number64(v, "handle", &h.Number)
}

func number64(v *value, name string, to *uint64) bool {
	var n int64
	if !is(v, "{s:I}", name, &n) {
		return false
	}
	*to = uint64(n)
	return true
}

func (r *reader) table(v *value, c *syntax.Command) bool {
	var family string
	h := &c.Handle
	if !r.unpack(v, "{s:s}", "family", &family) {
		return false
	}
	switch {
	case c.Op != syntax.OpDelete:
		if !r.unpack(v, "{s:s}", "name", &h.Table) {
			return false
		}
	case !nameOrHandle(v, &h.Table, h):
		return r.wrong("Either name or handle required to delete a table.")
	}
	if !r.family(family, h) {
		return false
	}
	if c.Op == syntax.OpAdd || c.Op == syntax.OpCreate {
		c.Table = &syntax.TableDecl{Loc: nowhere, Handle: *h} // 1.0.6 reads no comment
	}
	return true
}

func (r *reader) chain(v *value, c *syntax.Command) bool {
	var family string
	h := &c.Handle
	if !r.unpack(v, "{s:s, s:s}", "family", &family, "table", &h.Table) {
		return false
	}
	switch {
	case c.Op != syntax.OpDelete:
		if !r.unpack(v, "{s:s}", "name", &h.Chain) {
			return false
		}
	case !nameOrHandle(v, &h.Chain, h):
		return r.wrong("Either name or handle required to delete a chain.")
	}
	if !r.family(family, h) {
		return false
	}
	if c.Op == syntax.OpDelete || c.Op == syntax.OpList || c.Op == syntax.OpFlush {
		return true
	}
	decl := &syntax.ChainDecl{Loc: nowhere, Handle: *h}
	var kind, hook string
	var prio int64
	if !is(v, "{s:s, s:s, s:i}", "type", &kind, "hook", &hook, "prio", &prio) {
		return true
	}
	c.Chain = decl
	number, known := hookNumber(hook)
	if !known {
		return r.wrong("Invalid chain hook '%s'.", hook)
	}
	decl.Hook = &syntax.HookDecl{
		Loc: nowhere, TypeLoc: nowhere, HookLoc: nowhere, Type: kind, Hook: hook, HookNumber: number,
		Priority: numeral(prio), PriorityNumber: int32(prio),
	}
	var dev, policy string
	if is(v, "{s:s}", "dev", &dev) {
		decl.Hook.Devices = &syntax.List{Common: here(), Items: []syntax.Expr{symbol(dev)}}
		decl.Hook.DeviceNames = []string{dev}
	}
	if is(v, "{s:s}", "policy", &policy) {
		if policy != "accept" && policy != "drop" {
			return r.wrong("Unknown policy '%s'.", policy)
		}
		decl.Policy = symbol(policy)
	}
	return true
}

// hookNumber is the number that the parser of text gives a hook.
func hookNumber(name string) (uint32, bool) {
	for i, hook := range [...]string{"prerouting", "input", "forward", "output", "postrouting", "ingress", "egress"} {
		if hook == name {
			return uint32(i), true
		}
	}
	return 0, false
}

func (r *reader) rule(v *value, c *syntax.Command) bool {
	var family string
	h := &c.Handle
	if !r.unpack(v, "{s:s, s:s, s:s}", "family", &family, "table", &h.Table, "chain", &h.Chain) {
		return false
	}
	var stmts *value
	var handle int64
	switch {
	case c.Op != syntax.OpDelete:
		if !r.unpack(v, "{s:o}", "expr", &stmts) {
			return false
		}
	case !r.unpack(v, "{s:I}", "handle", &handle):
		return false
	}
	h.Number = uint64(handle)
	if !r.family(family, h) {
		return false
	}
	if c.Op == syntax.OpDelete {
		return true
	}
	if stmts.kind != array {
		return r.wrong(`Value of property "expr" must be an array.`)
	}
	var index int64
	if is(v, "{s:i}", "index", &index) {
		h.Placed = &syntax.Placement{Index: uint64(index + 1), IndexLoc: nowhere}
	}
	return r.ruleBody(v, stmts, c)
}

func (r *reader) ruleBody(v, stmts *value, c *syntax.Command) bool {
	rule := &syntax.Rule{Loc: nowhere}
	rule.HasComment = is(v, "{s:s}", "comment", &rule.Comment)
	rule.Stmts = make([]syntax.Stmt, 0, len(stmts.items))
	for i := range stmts.items {
		item := &stmts.items[i]
		if item.kind != object {
			return r.wrong("Unexpected expr array element of type %s, expected object.", item.kind)
		}
		s := r.stmts.stmt(item)
		if s == nil {
			return r.wrong("Parsing expr array at index %d failed.", i)
		}
		rule.Stmts = append(rule.Stmts, s)
	}
	c.Rule = rule
	return true
}

// replace reads "replace" and "insert".
func (r *reader) replace(v *value, c *syntax.Command) bool {
	var of, stmts *value
	var family string
	h := &c.Handle
	places(h)
	c.Kind = syntax.KindRule
	if !r.unpack(v, "{s:o}", "rule", &of) {
		return false
	}
	if !r.unpack(of, "{s:s, s:s, s:s, s:o}", "family", &family, "table", &h.Table, "chain", &h.Chain, "expr", &stmts) {
		return false
	}
	number64(of, "handle", &h.Number)
	var index int64
	if is(of, "{s:i}", "index", &index) {
		h.Placed = &syntax.Placement{Index: uint64(index + 1), IndexLoc: nowhere}
	}
	if c.Op == syntax.OpReplace && h.Number == 0 {
		return r.wrong("Handle is required when replacing a rule.")
	}
	if !r.family(family, h) {
		return false
	}
	if stmts.kind != array {
		return r.wrong(`Value of property "expr" must be an array.`)
	}
	if c.Op == syntax.OpInsert {
		by := *h.Placement()
		by.Position, by.PositionLoc = h.Number, nowhere
		h.Placed, h.Number = &by, 0
	}
	return r.ruleBody(of, stmts, c)
}

func (r *reader) element(v *value, c *syntax.Command) bool {
	var family string
	var items *value
	h := &c.Handle
	if !r.unpack(v, "{s:s, s:s, s:s, s:o}", "family", &family, "table", &h.Table, "name", &h.Name, "elem", &items) {
		return false
	}
	if !r.family(family, h) {
		return false
	}
	c.Elements = r.exprs.setItems(items)
	if c.Elements == nil {
		return r.wrong("Invalid set.")
	}
	return true
}

// listable are what "list", "reset" and "flush" take, by the kinds of what is in their value.
type listable struct {
	name string
	kind syntax.Kind
	read func(*reader, *value, *syntax.Command) bool
}

var lists = [...]listable{
	{"table", syntax.KindTable, (*reader).table}, {"tables", syntax.KindTables, (*reader).several},
	{"chain", syntax.KindChain, (*reader).chain}, {"chains", syntax.KindChains, (*reader).several},
	{"set", syntax.KindSet, (*reader).set}, {"sets", syntax.KindSets, (*reader).several}, {"map", syntax.KindMap, (*reader).set},
	{"maps", syntax.KindMaps, (*reader).several}, {"counter", syntax.KindCounter, (*reader).object},
	{"counters", syntax.KindCounters, (*reader).several}, {"quota", syntax.KindQuota, (*reader).object},
	{"quotas", syntax.KindQuotas, (*reader).several}, {"ct helper", syntax.KindCTHelper, (*reader).object},
	{"ct helpers", syntax.KindCTHelpers, (*reader).several}, {"limit", syntax.KindLimit, (*reader).object},
	{"limits", syntax.KindLimits, (*reader).several}, {"ruleset", syntax.KindRuleset, (*reader).several},
	{"meter", syntax.KindMeter, (*reader).set}, {"meters", syntax.KindMeters, (*reader).several},
	{"flowtables", syntax.KindFlowtables, (*reader).several}, {"secmark", syntax.KindSecmark, (*reader).object},
	{"secmarks", syntax.KindSecmarks, (*reader).several},
}

var resets = [...]listable{
	{"counter", syntax.KindCounter, (*reader).object}, {"counters", syntax.KindCounters, (*reader).several},
	{"quota", syntax.KindQuota, (*reader).object}, {"quotas", syntax.KindQuotas, (*reader).several},
}

var flushes = [...]listable{
	{"table", syntax.KindTable, (*reader).table}, {"chain", syntax.KindChain, (*reader).chain}, {"set", syntax.KindSet, (*reader).set},
	{"map", syntax.KindMap, (*reader).set}, {"meter", syntax.KindMeter, (*reader).set}, {"ruleset", syntax.KindRuleset, (*reader).several},
}

func (r *reader) list(v *value, c *syntax.Command) bool  { return r.oneOf(v, c, "list", lists[:]) }
func (r *reader) reset(v *value, c *syntax.Command) bool { return r.oneOf(v, c, "reset", resets[:]) }
func (r *reader) flush(v *value, c *syntax.Command) bool { return r.oneOf(v, c, "flush", flushes[:]) }

func (r *reader) oneOf(v *value, c *syntax.Command, verb string, table []listable) bool {
	if v.kind != object {
		return r.wrong("Value of %s command must be object (got %s instead).", verb, v.kind)
	}
	for _, l := range table {
		if of := v.get(l.name); of != nil {
			c.Kind = l.kind
			places(&c.Handle)
			return l.read(r, of, c)
		}
	}
	return r.wrong("Unknown object passed to %s command.", verb)
}

// several reads which ones are listed: those of a family, or of a table.
func (r *reader) several(v *value, c *syntax.Command) bool {
	var family string
	h := &c.Handle
	if is(v, "{s:s}", "family", &family) && !r.family(family, h) {
		return false
	}
	switch c.Kind {
	case syntax.KindSets, syntax.KindCounters, syntax.KindQuotas, syntax.KindLimits, syntax.KindSecmarks, syntax.KindMeters:
		is(v, "{s:s}", "table", &h.Table)
	case syntax.KindCTHelpers:
		is(v, "{s:s}", "table", &h.Table)
		if h.Table == "" {
			return r.wrong("Listing ct helpers requires table reference.")
		}
	}
	return true
}

func (r *reader) rename(v *value, c *syntax.Command) bool {
	var family string
	h := &c.Handle
	places(h)
	c.Kind = syntax.KindChain
	if !r.unpack(v, "{s:{s:s, s:s, s:s, s:s}}", "chain", "family", &family, "table", &h.Table, "name", &h.Chain, "newname", &c.NewName) {
		return false
	}
	return r.family(family, h)
}
