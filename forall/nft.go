package forall

import (
	"fmt"

	"github.com/chainwalk/chainwalk/forall/internal/diagram"
	"github.com/chainwalk/chainwalk/netfilter/nftables"
	"github.com/chainwalk/chainwalk/netfilter/nftables/expr"
)

// nftRule is a rule of nf_tables.
type nftRule struct {
	*nftables.Rule
	table *nftables.Table
	dst   diagram.Set // the destinations that it may match
	any   bool        // all
	leads []string
}

func (r *nftRule) destinations() diagram.Set {
	if r.any {
		return nil
	}
	return r.dst
}

func (r *nftRule) leadsTo() []string { return r.leads }

// nftChain is a chain of a table.
func (read *readChains) nftChain(t *nftables.Table, c *nftables.Chain) *chain {
	if known := read.chains[c]; known != nil {
		return known
	}
	made := &chain{name: t.Family.String() + " " + t.Name + " " + c.Name, nftTable: t, nftChain: c, rules: make([]rule, len(c.Rules))}
	room := make([]nftRule, len(c.Rules))
	for i, r := range c.Rules {
		room[i] = nftRule{Rule: r, table: t, any: true}
		made.rules[i] = &room[i]
	}
	read.chains[c] = made
	return made
}

// run is what the rule does.
func (r *nftRule) run(b *builder, c *chain, number int, st state) diagram.ID {
	began, runs := b.forked, len(b.runs.runs)
	x := b.newRun()
	*x = nftRun{b: b, c: c, r: r, number: number, st: st}
	made := x.from(0)
	b.forked, b.runs.runs = began, b.runs.runs[:runs] // none outlives the rule
	return made
}

// nftRun is a rule that packets in a state are run through, up to one of its expressions.
type nftRun struct {
	b      *builder
	c      *chain
	r      *nftRule
	number int
	st     state
	regs   registers
	ported bool // it is known that the packet's protocol has ports
}

// fork is the same run, to be changed.
func (x *nftRun) fork() *nftRun {
	other := x.b.newRun()
	*other = *x
	return other
}

// runs are memory for runs of rules, of which so many are in use.
type runs struct {
	room   []*nftRun
	forked int
	runs   []run // of registers
}

func (r *runs) newRun() *nftRun {
	if r.forked == len(r.room) {
		r.room = append(r.room, &nftRun{})
	}
	r.forked++
	return r.room[r.forked-1]
}

// breaks is the rule that does not hold.
func (x *nftRun) breaks() diagram.ID { return x.b.is(fell, x.st) }

// from is what the rule does from an expression on.
func (x *nftRun) from(i int) diagram.ID {
	if i == len(x.r.Exprs) {
		return x.b.is(fell, x.st)
	}
	switch e := x.r.Exprs[i].(type) {
	case *expr.Immediate:
		if v := e.Data.Verdict; v != nil {
			return x.verdict(v)
		}
		x = x.fork()
		x.regs.put(e.Dreg, constant(e.Data.Bytes))
		return x.from(i + 1)
	case *expr.Payload:
		if e.Writes {
			return x.writes(e, i)
		}
		return x.payload(e, i)
	case *expr.Meta:
		if e.Writes {
			return x.setMeta(e, i)
		}
		return x.meta(e, i)
	case *expr.CT:
		if e.Writes {
			return x.setCT(e, i)
		}
		return x.ct(e, i)
	case *expr.Cmp:
		condition := x.compare(e)
		if !x.ported && x.saysPorted(e) {
			x = x.fork()
			x.ported = true
		}
		return x.tested(condition, i)
	case *expr.Range:
		return x.tested(x.inRange(e), i)
	case *expr.Bitwise:
		return x.bitwise(e, i)
	case *expr.Byteorder:
		return x.byteorder(e, i)
	case *expr.Lookup:
		return x.lookup(e, i)
	case *expr.Fib:
		return x.fib(e, i)
	case *expr.Numgen:
		return x.numgen(e, i)
	}
	return x.fromMore(i)
}

// fromMore is from for statements.
func (x *nftRun) fromMore(i int) diagram.ID {
	switch e := x.r.Exprs[i].(type) {
	case *expr.Counter, *expr.Log, *expr.Last:
		return x.from(i + 1)
	case *expr.Limit, *expr.Quota, *expr.Connlimit:
		return x.tested(x.namedAt(expr.Text(x.r.Exprs[i]), x.r.part(x.b, x.c, i, x.r.Exprs[i])), i)
	case *expr.Objref:
		return x.object(e, i)
	case *expr.Dynset:
		return x.dynset(e, i)
	case *expr.Notrack:
		x = x.fork()
		x.st = untrackedState(x.st)
		return x.from(i + 1)
	case *expr.RT:
		if e.Key != expr.RTTCPMSS {
			return x.b.unmodelled("the expression " + expr.Text(e))
		}
		return x.put(e.Dreg, greatestSegment, i)
	case *expr.Exthdr:
		return x.exthdr(e, i)
	case *expr.Reject:
		return x.reject(e)
	case *expr.NAT:
		return x.nat(e)
	case *expr.Masq:
		return x.masquerade(e)
	case *expr.Redir:
		return x.redirect(e)
	}
	return x.b.unmodelled("the expression " + expr.Text(x.r.Exprs[i]))
}

// tested goes on where a condition holds.
func (x *nftRun) tested(condition diagram.ID, i int) diagram.ID {
	if condition == x.b.s.One(no) {
		return x.breaks()
	}
	return x.b.then(condition, x.from(i+1), x.breaks())
}

// named is a condition with a name.
func (x *nftRun) named(name string, says func() string) diagram.ID {
	q := x.b.newCond(&x.st)
	q.namedAs(name, says)
	return q.id()
}

// namedAt is a condition with a name that the rule asks for at one hook.
func (x *nftRun) namedAt(text string, says func() string) diagram.ID {
	q := x.b.newCond(&x.st)
	q.namedAtAs(text, says, x.c, x.number)
	return q.id()
}

// verdict is a verdict of the rule or of an element.
func (x *nftRun) verdict(v *expr.Verdict) diagram.ID {
	b := x.b
	switch v.Code {
	case expr.Accept:
		return b.is(accepted, x.st)
	case expr.Drop:
		return b.dropped()
	case expr.Return:
		return b.is(returned, x.st)
	case expr.Continue:
		return b.is(fell, x.st)
	case expr.Jump, expr.Goto:
		return b.jump(x.c, v.Chain, v.Code == expr.Goto, x.st)
	}
	return b.unmodelled(fmt.Sprintf("verdict %d", v.Code))
}

// object is what an object of the table says.
func (x *nftRun) object(e *expr.Objref, i int) diagram.ID {
	kind, name := e.Type, e.Object
	if e.Set != "" {
		return x.b.unmodelled("a map of objects")
	}
	switch kind {
	case expr.ObjectCounter, expr.ObjectSecmark:
		return x.from(i + 1)
	case expr.ObjectQuota, expr.ObjectLimit, expr.ObjectConnlimit:
		return x.tested(x.namedAt(fmt.Sprintf("object %s of %s %s", name, x.r.table.Family, x.r.table.Name), nil), i)
	}
	return x.b.unmodelled("the object " + name)
}

// hasRoom says whether a set takes what a packet adds, also if the packet, or the one that it answers, may have added to sets before.
func hasRoom(set *nftables.Set, added bool) bool {
	const most = 16 // that one packet adds
	free := int64(set.Size) - int64(set.Len())
	return set.Size == 0 || free > most || free > 0 && !added
}

// dynset goes on, as a set that has room takes what the packet adds.
func (x *nftRun) dynset(e *expr.Dynset, i int) diagram.ID {
	set := x.r.table.Set(e.Set)
	if set == nil {
		return x.b.unmodelled("set " + e.Set + ", which is not there")
	}
	if e.Op != expr.DynsetDelete && !hasRoom(set, x.st.wrote || x.b.ends == asReplies) {
		return x.b.unmodelled("whether set " + set.Name + " has room for one more element")
	}
	x = x.fork()
	x.st.wrote = true
	if len(e.Exprs)+len(set.Exprs) > 0 {
		return x.tested(x.namedAt(expr.Text(e), x.r.part(x.b, x.c, i, e)), i)
	}
	if e.Invert && e.Op != expr.DynsetDelete {
		return x.breaks()
	}
	return x.from(i + 1)
}
