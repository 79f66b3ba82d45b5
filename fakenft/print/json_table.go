package print

import (
	"strings"

	"github.com/chainwalk/chainwalk/fakenft/syntax"
	"github.com/chainwalk/chainwalk/netfilter/nftables"
	"github.com/chainwalk/chainwalk/netfilter/nftables/expr"
)

// metaInfo is what a listing in JSON begins with.
const metaInfo = `{"nftables": [{"metainfo": {"version": "1.0.6", "release_name": "Lester Gooch #5", "json_schema_version": 1}}`

// AppendJSON appends tables as "nft -j list ruleset" writes them; one table is what "nft -j list table" prints.
func AppendJSON(dst []byte, tables []*syntax.TableDecl, o *Options) ([]byte, error) {
	return appendJSONListing(dst, tables, o, (*jsonTablePrinter).table)
}

// appendJSONListing appends a listing. What body appends for each table begins with ", ".
func appendJSONListing(
	dst []byte, tables []*syntax.TableDecl, o *Options, body func(*jsonTablePrinter, *syntax.TableDecl),
) (_ []byte, err error) {
	p := newJSONPrinter(dst, o)
	err = guard(func() {
		p.str(metaInfo)
		for _, t := range tables {
			p.Family = t.Handle.Family
			body(&p.tables, t)
		}
		p.str("]}\n")
	})
	return p.b, err
}

// AppendJSONTables appends what "nft -j list tables" prints.
func AppendJSONTables(dst []byte, tables []*syntax.TableDecl, o *Options) ([]byte, error) {
	return appendJSONListing(dst, tables, o, (*jsonTablePrinter).tableAlone)
}

// AppendJSONChains appends what "nft -j list chains" prints.
func AppendJSONChains(dst []byte, tables []*syntax.TableDecl, o *Options) ([]byte, error) {
	return appendJSONListing(dst, tables, o, (*jsonTablePrinter).chains)
}

// AppendJSONChain appends what "nft -j list chain" prints.
func AppendJSONChain(dst []byte, t *syntax.TableDecl, c *syntax.ChainDecl, o *Options) ([]byte, error) {
	return appendJSONListing(dst, []*syntax.TableDecl{t}, o, func(p *jsonTablePrinter, t *syntax.TableDecl) {
		p.chain(t, c)
		p.rules(t, c)
	})
}

// AppendJSONSets appends what "nft -j list sets" and its like print; see AppendSets.
func AppendJSONSets(dst []byte, tables []*syntax.TableDecl, kind syntax.Kind, o *Options) ([]byte, error) {
	return appendJSONListing(dst, tables, o, func(p *jsonTablePrinter, t *syntax.TableDecl) {
		for _, s := range t.Sets {
			if isOfKind(s, kind) {
				p.set(t, s)
			}
		}
	})
}

// AppendJSONObjects appends what "nft -j list counters" and its like print.
func AppendJSONObjects(dst []byte, tables []*syntax.TableDecl, kind expr.ObjectType, o *Options) ([]byte, error) {
	return appendJSONListing(dst, tables, o, func(p *jsonTablePrinter, t *syntax.TableDecl) {
		for _, object := range t.Objects {
			if object.Type == kind {
				p.object(t, object)
			}
		}
	})
}

// AppendJSONFlowtables appends what "nft -j list flowtables" prints.
func AppendJSONFlowtables(dst []byte, tables []*syntax.TableDecl, o *Options) ([]byte, error) {
	return appendJSONListing(dst, tables, o, func(p *jsonTablePrinter, t *syntax.TableDecl) {
		for _, f := range t.Flows {
			p.flowtable(t, f)
		}
	})
}

// jsonTablePrinter prints tables and what is declared in them as JSON.
type jsonTablePrinter struct {
	*buffer
	*Options
	order *sorter
	exprs *jsonExprPrinter
	stmts *jsonStmtPrinter
}

func (p *jsonTablePrinter) table(t *syntax.TableDecl) {
	p.tableAlone(t)
	for _, o := range t.Objects {
		p.object(t, o)
	}
	for _, s := range listed(t.Sets) {
		p.set(t, s)
	}
	for _, f := range t.Flows {
		p.flowtable(t, f)
	}
	p.chains(t)
	for _, c := range t.Chains {
		if !c.Anonymous {
			p.rules(t, c)
		}
	}
}

func (p *jsonTablePrinter) chains(t *syntax.TableDecl) {
	for _, c := range t.Chains {
		if !c.Anonymous {
			p.chain(t, c)
		}
	}
}

func (p *jsonTablePrinter) rules(t *syntax.TableDecl, c *syntax.ChainDecl) {
	for _, r := range c.Rules {
		p.str(", ")
		p.rule(t.Handle.Family, t.Handle.Table, c.Handle.Chain, r)
	}
}

// tableAlone is a table without what it has. nft 1.0.6 prints whatever is in memory where the flags should be; here it is their word.
func (p *jsonTablePrinter) tableAlone(t *syntax.TableDecl) {
	p.str(`, {"table": {"family": "`)
	p.str(t.Handle.Family.String())
	p.b = append(p.b, '"')
	p.property("name", t.Handle.Table)
	p.integer("handle", t.Handle.Number)
	var words []string
	for _, f := range tableFlags {
		if t.Flags&f.flag != 0 {
			words = append(words, f.word)
		}
	}
	if words != nil {
		p.str(`, "flags": `)
		p.words(words)
	}
	p.str("}}")
}

// head begins an object that has a name in a table.
func (p *jsonTablePrinter) head(kind string, t *syntax.TableDecl, name string) {
	p.str(`, {"`)
	p.str(kind)
	p.str(`": {"family": "`)
	p.str(t.Handle.Family.String())
	p.b = append(p.b, '"')
	p.property("name", name)
	p.property("table", t.Handle.Table)
}

func (p *jsonTablePrinter) chain(t *syntax.TableDecl, c *syntax.ChainDecl) {
	p.str(`, {"chain": {"family": "`)
	p.str(t.Handle.Family.String())
	p.b = append(p.b, '"')
	p.property("table", t.Handle.Table)
	p.property("name", c.Handle.Chain)
	p.integer("handle", c.Handle.Number)
	if h := c.Hook; h != nil {
		p.property("type", h.Type)
		p.property("hook", h.Hook)
		p.str(`, "prio": `)
		p.int(int64(h.PriorityNumber))
		p.property("policy", policyWord(c))
	}
	p.str("}}")
}

func (p *jsonTablePrinter) rule(family nftables.Family, table, chain string, r *syntax.Rule) {
	p.str(`{"rule": {"family": "`)
	p.str(family.String())
	p.b = append(p.b, '"')
	p.property("table", table)
	p.property("chain", chain)
	p.integer("handle", r.Number())
	if r.HasComment {
		p.property("comment", r.Comment)
	}
	p.str(`, "expr": `)
	p.stmts.list(r.Stmts)
	p.str("}}")
}

// types are the names of a type: a list of those of its parts.
func (p *jsonTablePrinter) types(name string) { p.words(strings.Split(name, " . ")) }

// jsonSetFlags are the flags of sets that JSON has; it leaves "dynamic" out.
var jsonSetFlags = [...]struct {
	flag nftables.SetFlags
	word string
}{{nftables.SetConstant, "constant"}, {nftables.SetInterval, "interval"}, {nftables.SetTimeout, "timeout"}}

func (p *jsonTablePrinter) set(t *syntax.TableDecl, s *syntax.SetDecl) {
	p.head(setWord(s), t, s.Handle.Name)
	p.str(`, "type": `)
	p.types(typeName(s.Key))
	p.integer("handle", s.Handle.Number)
	if s.HasComment {
		p.property("comment", s.Comment)
	}
	switch {
	case s.Object != 0:
		p.property("map", objectWord(s.Object))
	case s.Data != nil:
		p.property("map", typeName(s.Data))
	}
	p.setProperties(s)
	if items, ok := s.Elements.(*syntax.Set); ok && len(items.Items) > 0 && !p.Terse {
		p.str(`, "elem": `)
		p.exprs.list(p.order.sorted(items.Items, hasIntervals(s)))
	}
	if len(s.Stmts) > 0 {
		p.str(`, "stmt": `)
		p.stateless(func() { p.stmts.list(s.Stmts) })
	}
	p.str("}}")
}

func (p *jsonTablePrinter) setProperties(s *syntax.SetDecl) {
	if s.Flags&nftables.SetConstant == 0 {
		if s.Policy == policyMemory {
			p.property("policy", "memory")
		}
		if s.Size != 0 {
			p.integer("size", uint64(s.Size))
		}
	}
	separator := `, "flags": ["`
	for _, f := range jsonSetFlags {
		if s.Flags&f.flag != 0 {
			p.str(separator)
			p.str(f.word)
			separator = `", "`
		}
	}
	if separator == `", "` {
		p.str(`"]`)
	}
	if s.Timeout != 0 {
		p.integer("timeout", s.Timeout/1000)
	}
	if s.GCInterval != 0 {
		p.integer("gc-interval", s.GCInterval/1000)
	}
}

func (p *jsonTablePrinter) object(t *syntax.TableDecl, o *syntax.ObjectDecl) {
	p.head(objectWord(o.Type), t, o.Handle.Name)
	p.integer("handle", o.Handle.Number)
	if o.HasComment {
		p.property("comment", o.Comment)
	}
	switch o.Type {
	case expr.ObjectCounter:
		p.integer("packets", o.Counter.Packets)
		p.integer("bytes", o.Counter.Bytes)
	case expr.ObjectQuota:
		p.integer("bytes", o.Quota.Bytes)
		p.integer("used", o.Quota.Used)
		p.str(`, "inv": `)
		p.jsonBool(o.Quota.Over)
	case expr.ObjectLimit:
		p.limit(o.Limit)
	case expr.ObjectSynproxy:
		p.synproxy(o.Synproxy)
	case expr.ObjectSecmark:
		p.property("context", option(o, "context"))
	default:
		p.options(o)
	}
	p.str("}}")
}

func (p *jsonTablePrinter) limit(l *syntax.LimitStmt) {
	rate, unit := l.Rate, ""
	burst, burstUnit := uint64(l.Burst), ""
	if l.Bytes {
		rate, unit = inUnits(rate)
		burst, burstUnit = inUnits(burst)
	}
	p.integer("rate", rate)
	p.property("per", unitOf(l.Unit))
	p.inverse(l.Over)
	if l.Bytes {
		p.property("rate_unit", unit)
	}
	if burst != 0 {
		p.integer("burst", burst)
		if l.Bytes {
			p.property("burst_unit", burstUnit)
		}
	}
}

func (p *jsonTablePrinter) synproxy(s *syntax.SynproxyStmt) {
	p.integer("mss", uint64(s.MSS))
	p.integer("wscale", uint64(s.Wscale))
	if words := synproxyWords(s.Flags); words != nil {
		p.str(`, "flags": `)
		p.array(len(words), func(i int) { p.jsonStr(words[i]) })
	}
}

// options are the options of an object of conntrack.
func (p *jsonTablePrinter) options(o *syntax.ObjectDecl) {
	switch o.Type {
	case expr.ObjectCTHelper:
		p.property("type", option(o, "type"))
		p.property("protocol", option(o, "protocol"))
		p.property("l3proto", option(o, "l3proto"))
	case expr.ObjectCTTimeout:
		p.property("protocol", option(o, "protocol"))
		p.property("l3proto", option(o, "l3proto"))
		states := timeouts(o)
		if len(states) == 0 {
			p.str(`, "policy": null`)
			return
		}
		p.str(`, "policy": {`)
		for i, state := range states {
			if i > 0 {
				p.str(", ")
			}
			p.jsonStr(state[0])
			p.str(": ")
			p.uint(number(state[1]))
		}
		p.b = append(p.b, '}')
	case expr.ObjectCTExpect:
		p.property("protocol", option(o, "protocol"))
		for _, name := range [...]string{"dport", "timeout", "size"} {
			p.integer(name, number(option(o, name)))
		}
		p.property("l3proto", option(o, "l3proto"))
	}
}

func (p *jsonTablePrinter) flowtable(t *syntax.TableDecl, f *syntax.FlowtableDecl) {
	p.head("flowtable", t, f.Handle.Name)
	p.integer("handle", f.Handle.Number)
	if f.Hook != nil {
		p.property("hook", f.Hook.Hook)
		p.str(`, "prio": `)
		p.int(int64(f.Hook.PriorityNumber))
		if len(f.Hook.DeviceNames) > 0 {
			p.str(`, "dev": `)
			p.words(f.Hook.DeviceNames)
		}
	}
	p.str("}}")
}
