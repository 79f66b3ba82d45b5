package print

import (
	"github.com/chainwalk/chainwalk/fakenft/syntax"
	"github.com/chainwalk/chainwalk/netfilter/nftables"
)

// AppendRuleset appends tables as "nft list ruleset" writes them.
func AppendRuleset(dst []byte, tables []*syntax.TableDecl, o *Options) (_ []byte, err error) {
	p := newPrinter(dst, o)
	err = guard(func() {
		for _, t := range tables {
			p.tables.table(t)
		}
	})
	return p.b, err
}

// AppendTable appends a table as "nft list table" lists it.
func AppendTable(dst []byte, t *syntax.TableDecl, o *Options) ([]byte, error) {
	return AppendRuleset(dst, []*syntax.TableDecl{t}, o)
}

// HasXt says that rules of a table have matches or targets of x_tables, so that nft warns on standard error before it lists the table.
func HasXt(t *syntax.TableDecl) bool {
	for _, c := range t.Chains {
		for _, r := range c.Rules {
			for _, s := range r.Stmts {
				if _, ok := s.(*syntax.XtStmt); ok {
					return true
				}
			}
		}
	}
	return false
}

// XtWarning is the line of that warning.
func XtWarning(t *syntax.TableDecl) string {
	return "# Warning: table " + t.Handle.Family.String() + " " + t.Handle.Table + " is managed by iptables-nft, do not touch!\n"
}

// tablePrinter prints tables and what is declared in them.
type tablePrinter struct {
	*buffer
	*Options
	values *values
	order  *sorter
	exprs  *exprPrinter
	stmts  *stmtPrinter
}

// open begins the block of a table.
func (p *tablePrinter) open(t *syntax.TableDecl, handle bool) {
	p.Family = t.Handle.Family
	p.str("table ")
	p.str(t.Handle.Family.String())
	p.b = append(p.b, ' ')
	p.str(t.Handle.Table)
	p.str(" {")
	if handle {
		p.stmts.handle(t.Handle.Number)
	}
	p.b = append(p.b, '\n')
}

// tableFlags are the words of the flags of tables.
var tableFlags = [...]struct {
	flag nftables.TableFlags
	word string
}{{nftables.TableDormant, "dormant"}, {nftables.TableOwner, "owner"}}

func (p *tablePrinter) table(t *syntax.TableDecl) {
	p.open(t, true)
	between := ""
	next := func() {
		p.str(between)
		between = "\n"
	}
	separator := "\tflags "
	for _, f := range tableFlags {
		if t.Flags&f.flag != 0 {
			p.str(separator)
			p.str(f.word)
			separator = ","
			between = "\n"
		}
	}
	if between != "" {
		p.b = append(p.b, '\n')
	}
	if t.HasComment {
		p.str("\tcomment \"")
		p.str(t.Comment)
		p.str("\"\n")
	}
	for _, o := range t.Objects {
		next()
		p.objectDecl(o)
	}
	for _, s := range listed(t.Sets) {
		next()
		p.set(s)
	}
	for _, f := range t.Flows {
		next()
		p.flowtable(f)
	}
	for _, c := range t.Chains {
		if !c.Anonymous {
			next()
			p.chain(c, true)
		}
	}
	p.str("}\n")
}

// chain prints a chain, with its rules or without.
func (p *tablePrinter) chain(c *syntax.ChainDecl, rules bool) {
	p.str("\tchain ")
	p.str(c.Handle.Chain)
	p.str(" {")
	p.stmts.handle(c.Handle.Number)
	p.b = append(p.b, '\n')
	p.comment(c.Comment, c.HasComment)
	if c.Hook != nil {
		p.hook(c)
	}
	if rules {
		for _, r := range c.Rules {
			p.str("\t\t")
			p.stmts.rule(r)
			p.b = append(p.b, '\n')
		}
	}
	p.str("\t}\n")
}

func (p *tablePrinter) hook(c *syntax.ChainDecl) {
	h := c.Hook
	p.str("\t\ttype ")
	p.str(h.Type)
	p.str(" hook ")
	p.str(h.Hook)
	switch len(h.DeviceNames) {
	case 0:
	case 1:
		p.str(" device ")
		p.quoted(h.DeviceNames[0])
	default:
		p.str(" devices = { ")
		p.names(h.DeviceNames)
		p.str(" }")
	}
	p.str(" priority ")
	p.priority(h)
	p.str("; policy ")
	p.str(policyWord(c))
	p.b = append(p.b, ';')
	if c.Flags&nftables.ChainHWOffload != 0 {
		p.str(" flags offload;")
	}
	p.b = append(p.b, '\n')
}

// policyWord is the policy of a base chain: accept if none was given.
func policyWord(c *syntax.ChainDecl) string {
	switch e := c.Policy.(type) {
	case *syntax.Verdict:
		return verdictWord(e.Code)
	case *syntax.Symbol:
		return e.Text
	case *syntax.Value:
		if e.Text != "" {
			return e.Text
		}
		if e.Num.Lo == 0 {
			return "drop"
		}
	}
	return "accept"
}

// near is how far from a priority with a name one is written by that name.
const near = 10

// priority is the number of a priority, or a name that the hook has with what it differs by.
func (p *tablePrinter) priority(h *syntax.HookDecl) {
	if !p.NumericPriority {
		for _, known := range priorities(p.Family) {
			if off := h.PriorityNumber - known.number; off >= -near && off <= near && (known.hook == "" || known.hook == h.Hook) {
				p.str(known.name)
				if off > 0 {
					p.str(" + ")
					p.int(int64(off))
				}
				if off < 0 {
					p.str(" - ")
					p.int(int64(-off))
				}
				return
			}
		}
	}
	p.int(int64(h.PriorityNumber))
}

// namedPriority is a priority that has a name, at one hook or at all.
type namedPriority struct {
	name   string
	number int32
	hook   string
}

var (
	ipPriorities = []namedPriority{
		{"raw", -300, ""}, {"mangle", -150, ""}, {"dstnat", -100, "prerouting"}, {"filter", 0, ""}, {"security", 50, ""},
		{"srcnat", 100, "postrouting"},
	}
	bridgePriorities = []namedPriority{
		{"dstnat", -300, "prerouting"}, {"filter", -200, ""}, {"out", 100, "output"}, {"srcnat", 300, "postrouting"},
	}
	otherPriorities = []namedPriority{{"filter", 0, ""}}
)

func priorities(f nftables.Family) []namedPriority {
	switch f {
	case nftables.IPv4, nftables.IPv6, nftables.Inet:
		return ipPriorities
	case nftables.Bridge:
		return bridgePriorities
	}
	return otherPriorities
}
