package decompile

import (
	"time"

	"github.com/chainwalk/chainwalk/fakenft/syntax"
	"github.com/chainwalk/chainwalk/netfilter/nftables"
	"github.com/chainwalk/chainwalk/netfilter/nftables/expr"
)

// Decompiler decompiles what one table has. It keeps the sets that it has met; use it for one state of the table.
type Decompiler struct {
	source Source
	family nftables.Family
	table  string
	now    time.Time
	sets   map[string]*set
	filled map[string]bool
	rule   rule
}

// New decompiles what a source has. now is what the rest of life of elements is counted from.
func New(source Source, now time.Time) *Decompiler {
	return &Decompiler{
		source: source, family: source.Family(), now: now, sets: map[string]*set{}, filled: map[string]bool{},
	}
}

// Table is a table without what it has.
func (d *Decompiler) Table(spec *nftables.TableSpec, handle uint64) *syntax.TableDecl {
	d.table = spec.Name
	user := nftables.DecodeUserData(nftables.TableUserData, spec.UserData)
	return &syntax.TableDecl{
		Handle: syntax.Handle{Family: spec.Family, Table: spec.Name, Number: handle}, Flags: spec.Flags,
		Comment: user.Comment, HasComment: user.HasComment,
	}
}

// hooks are the names of hooks by their numbers.
var (
	inetHooks   = [...]string{"prerouting", "input", "forward", "output", "postrouting", "ingress"}
	arpHooks    = [...]string{"input", "output", "forward"}
	netdevHooks = [...]string{"ingress", "egress"}
)

// hookName is the name of a hook of a family.
func hookName(f nftables.Family, hook uint32) string {
	names := inetHooks[:]
	switch f {
	case nftables.ARP:
		names = arpHooks[:]
	case nftables.Netdev:
		names = netdevHooks[:]
	}
	if int(hook) < len(names) {
		return names[hook]
	}
	return "unknown"
}

// Chain is a chain without its rules.
func (d *Decompiler) Chain(spec *nftables.ChainSpec, handle uint64) *syntax.ChainDecl {
	user := nftables.DecodeUserData(nftables.ChainUserData, spec.UserData)
	decl := &syntax.ChainDecl{
		Handle: syntax.Handle{Family: d.family, Table: d.table, Chain: spec.Name, Number: handle}, Flags: spec.Flags,
		Comment: user.Comment, HasComment: user.HasComment, Anonymous: spec.Flags&nftables.ChainBinding != 0,
	}
	if h := spec.Hooking; h != nil {
		decl.Hook = &syntax.HookDecl{
			Type: h.Type, Hook: hookName(d.family, h.Hook), HookNumber: h.Hook, PriorityNumber: h.Priority, DeviceNames: h.Devices,
			Priority: &syntax.Value{Common: syntax.Common{Type: syntax.TypeInteger, Bits: 32}, Num: syntax.Num{Lo: uint64(uint32(h.Priority))}},
		}
		code := expr.Accept
		if spec.Policy != nil {
			code = *spec.Policy
		}
		decl.Policy = &syntax.Value{Common: syntax.Common{Type: syntax.TypeInteger, Bits: 32}, Num: syntax.Num{Lo: uint64(uint32(code))}}
	}
	return decl
}

// Rules are rules of a chain.
func (d *Decompiler) Rules(rules []*nftables.Rule, chain string) []*syntax.Rule {
	list := make([]*syntax.Rule, 0, len(rules))
	for _, r := range rules {
		decl := d.Rule(r)
		decl.Handle.Chain = chain
		list = append(list, decl)
	}
	return list
}

// Rule is a rule.
func (d *Decompiler) Rule(r *nftables.Rule) *syntax.Rule {
	decl := &syntax.Rule{Handle: &syntax.Handle{Family: d.family, Table: d.table, Number: r.Handle}}
	if len(r.UserData) > 0 {
		user := nftables.DecodeUserData(nftables.RuleUserData, r.UserData)
		decl.Comment, decl.HasComment = user.Comment, user.HasComment
	}
	decl.Stmts = d.rule.decompile(d, r.Exprs)
	return decl
}

// Object is a named object.
func (d *Decompiler) Object(spec *nftables.ObjectSpec, handle uint64) *syntax.ObjectDecl {
	user := nftables.DecodeUserData(nftables.ObjectUserData, spec.UserData)
	decl := &syntax.ObjectDecl{
		Handle: syntax.Handle{Family: d.family, Table: d.table, Name: spec.Name, Number: handle}, Type: spec.Type,
		Comment: user.Comment, HasComment: user.HasComment,
	}
	if o, isOpaque := spec.Value.(*expr.Opaque); isOpaque {
		decl.Options = objectOptions(spec.Type, o.Data)
	}
	switch s := statement(spec.Value).(type) {
	case *syntax.Counter:
		decl.Counter = s
	case *syntax.QuotaStmt:
		decl.Quota = s
	case *syntax.LimitStmt:
		decl.Limit = s
	case *syntax.SynproxyStmt:
		decl.Synproxy = s
	}
	return decl
}

// statement is the statement of an expression that has no operands; nil for others.
func statement(e expr.Expr) syntax.Stmt {
	switch e := e.(type) {
	case *expr.Counter:
		return &syntax.Counter{Packets: e.Packets(), Bytes: e.Bytes(), HasValue: true}
	case *expr.Quota:
		return &syntax.QuotaStmt{Bytes: e.Bytes, Used: e.Consumed.Bytes(), Over: e.Over}
	case *expr.Limit:
		return &syntax.LimitStmt{Rate: e.Rate, Unit: uint64(e.Unit / time.Second), Burst: e.Burst, Bytes: e.Bytes, Over: e.Over}
	case *expr.Connlimit:
		return &syntax.ConnCount{Count: e.Count, Over: e.Over}
	case *expr.Last:
		return &syntax.Last{Set: e.Set, Ago: e.Ago}
	case *expr.Notrack:
		return &syntax.Notrack{}
	case *expr.Synproxy:
		return &syntax.SynproxyStmt{MSS: e.MSS, Wscale: e.Wscale, Flags: e.Flags}
	case *expr.FlowOffload:
		return &syntax.FlowStmt{Table: e.Table}
	case *expr.Xt:
		x := &syntax.XtStmt{Target: e.Target, Name: e.Ext, Unspelled: e.Unspelled}
		if e.Words != nil {
			x.Text, x.Translated = *e.Words, true
		}
		return x
	case *expr.Log:
		return logStatement(e)
	}
	return nil
}

func logStatement(e *expr.Log) syntax.Stmt {
	s := &syntax.Log{
		HasGroup: e.HasGroup, Group: e.Group, Snaplen: e.Snaplen, HasSnaplen: e.HasSnaplen, QueueThreshold: e.QueueThreshold,
		HasQueueThreshold: e.HasQueueThreshold, Level: e.Level, HasLevel: e.HasLevel, Flags: e.Flags,
	}
	if e.Prefix != "" {
		s.Prefix = &syntax.Value{
			Common: syntax.Common{Type: syntax.TypeString, Order: syntax.HostOrder, Bits: 8 * (len(e.Prefix) + 1)}, Text: e.Prefix,
		}
	}
	return s
}

// statements are those of elements.
func statements(exprs []expr.Expr) []syntax.Stmt {
	var list []syntax.Stmt
	for _, e := range exprs {
		if s := statement(e); s != nil {
			list = append(list, s)
		} else {
			list = append(list, &syntax.OpaqueStmt{Kind: e.Name()})
		}
	}
	return list
}
