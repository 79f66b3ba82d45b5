package fakenft

import (
	"github.com/chainwalk/chainwalk/fakenft/print"
	"github.com/chainwalk/chainwalk/fakenft/syntax"
	"github.com/chainwalk/chainwalk/netfilter/nftables"
	"github.com/chainwalk/chainwalk/netfilter/nftables/expr"
)

// answer answers a command that only reads. It says whether the next one may be carried out.
func (r *run) answer(c *syntax.Command) bool {
	var err error
	switch c.Op {
	case syntax.OpList:
		err = r.list(c)
	case syntax.OpGet:
		return r.get(c)
	case syntax.OpReset:
		return r.reset(c)
	case syntax.OpDescribe:
		err = r.describe(c)
	default:
		return r.lacks(c, "monitor, import and export")
	}
	if err != nil {
		return r.fails(c, err.Error())
	}
	return true
}

// lacks refuses a command by name.
func (r *run) lacks(c *syntax.Command, what string) bool {
	return r.fails(c, "chainwalk does not support "+what)
}

func (r *run) fails(c *syntax.Command, text string) bool {
	r.mistake(syntax.Wrong(text, c.Loc))
	return false
}

// shown are the parts of tables that a listing needs.
type shown struct {
	chains, rules bool
	chain         string // this one alone
	sets          bool
	set           string // this one alone
	objects       bool
	object        string
	flows         bool
	flow          string          // this one alone
	kind          expr.ObjectType // of the objects; 0: all
}

// everything is what a listing of whole tables shows.
var everything = shown{chains: true, rules: true, sets: true, objects: true, flows: true}

// objectKinds are the kinds of objects by the words of commands: "counter" and "counters".
var objectKinds = map[syntax.Kind]expr.ObjectType{
	syntax.KindCounter: expr.ObjectCounter, syntax.KindCounters: expr.ObjectCounter,
	syntax.KindQuota: expr.ObjectQuota, syntax.KindQuotas: expr.ObjectQuota,
	syntax.KindLimit: expr.ObjectLimit, syntax.KindLimits: expr.ObjectLimit,
	syntax.KindCTHelper: expr.ObjectCTHelper, syntax.KindCTHelpers: expr.ObjectCTHelper,
	syntax.KindCTTimeout: expr.ObjectCTTimeout, syntax.KindCTTimeouts: expr.ObjectCTTimeout,
	syntax.KindCTExpectation: expr.ObjectCTExpect, syntax.KindCTExpectations: expr.ObjectCTExpect,
	syntax.KindSecmark: expr.ObjectSecmark, syntax.KindSecmarks: expr.ObjectSecmark,
	syntax.KindSynproxy: expr.ObjectSynproxy, syntax.KindSynproxies: expr.ObjectSynproxy,
}

// list prints what a command lists.
func (r *run) list(c *syntax.Command) error {
	if r.json {
		return r.listJSON(c)
	}
	o := r.printing()
	out := r.out.AvailableBuffer()
	var err error
	switch c.Kind {
	case syntax.KindRuleset, syntax.KindTable:
		tables := r.tables(c, everything)
		r.warnOfXt(tables)
		out, err = print.AppendRuleset(out, tables, o)
	case syntax.KindTables:
		out = print.AppendTables(out, r.tables(c, shown{}))
	case syntax.KindChain:
		tables := r.tables(c, shown{chains: true, rules: true, chain: c.Handle.Chain})
		r.warnOfXt(tables)
		for _, t := range tables {
			for _, chain := range t.Chains {
				out, err = print.AppendChain(out, t, chain, o)
			}
		}
	case syntax.KindChains:
		out, err = print.AppendChains(out, r.tables(c, shown{chains: true}), o)
	case syntax.KindSet, syntax.KindMap, syntax.KindMeter:
		out, err = print.AppendSets(out, r.tables(c, shown{sets: true, set: c.Handle.Name}), syntax.KindSet, o)
	case syntax.KindSets, syntax.KindMaps, syntax.KindMeters:
		out, err = print.AppendSets(out, r.tables(c, shown{sets: true}), c.Kind, o)
	case syntax.KindFlowtables, syntax.KindFlowtable:
		out, err = print.AppendFlowtables(out, r.tables(c, shown{flows: true, flow: c.Handle.Name}), o)
	case syntax.KindHooks:
		return unsupported("list hooks, which nft asks of a module of the kernel (nfnetlink_hook)")
	default:
		kind, isObject := objectKinds[c.Kind]
		if !isObject {
			return unsupported("this listing")
		}
		out, err = print.AppendObjects(out, r.tables(c, shown{objects: true, object: c.Handle.Name, kind: kind}), kind, o)
	}
	r.out.Write(out)
	return err
}

// warnOfXt says of which tables nft prints no more than a translation.
func (r *run) warnOfXt(tables []*syntax.TableDecl) {
	for _, t := range tables {
		if print.HasXt(t) {
			r.errors.WriteString(print.XtWarning(t))
		}
	}
}

// tables are the tables of the command's family, or its table alone, with what is to be shown of them.
func (r *run) tables(c *syntax.Command, what shown) []*syntax.TableDecl {
	var tables []*syntax.TableDecl
	for _, t := range r.view.Tables() {
		if c.Handle.Table != "" && (t.Name != c.Handle.Table || t.Family != c.Handle.Family) {
			continue
		}
		if c.Handle.Table == "" && c.Handle.Family != 0 && t.Family != c.Handle.Family {
			continue
		}
		if what.kind != 0 && len(t.Objects()) == 0 {
			continue // listings of objects do not name the table then
		}
		tables = append(tables, r.decl(t, what))
	}
	return tables
}

// printing are the options of print.
func (r *run) printing() *print.Options {
	o := &print.Options{
		Handles: r.handles, Stateless: r.stateless, Terse: r.terse, Services: r.services, Accounts: r.accounts,
		NumericPriority: r.priority, NumericProtocol: r.protocol, NumericTime: r.time,
		Device: r.deviceName,
		User:   r.userName,
		Group:  r.groupName,
	}
	if r.numeric {
		o.Numeric()
	}
	return o
}

// tableOf is the table of a handle.
func (r *run) tableOf(h *syntax.Handle) *nftables.Table { return r.view.Table(h.Family, h.Table) }
