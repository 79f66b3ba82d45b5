package fakenft

import (
	"fmt"
	"os"

	"github.com/chainwalk/chainwalk/fakenft/check"
	"github.com/chainwalk/chainwalk/fakenft/print"
	"github.com/chainwalk/chainwalk/fakenft/syntax"
	"github.com/chainwalk/chainwalk/netfilter/nftables"
	"github.com/chainwalk/chainwalk/netfilter/nftables/expr"
)

// echoing prints what a transaction has added, as the kernel reports it to whoever asked (-e).
type echoing struct {
	*run
	before, after view
	said          bool
	made          *madeThings
	// renamed are the handles of chains that have got their new names by now, by table.
	renamed map[*nftables.Table]map[uint64]bool
	// sets are sets as the declarations that were told of up to now have made them, by table and handle.
	sets map[[2]uint64]*nftables.Set
	// sized are the sets to which a declaration gives a size.
	sized map[setName]bool
}

// asDeclared is a set as a declaration of it has made it: what one changes of a set that is there the kernel does when it tells of it, one
// after the other (nf_tables_commit).
func (e *echoing) asDeclared(t *nftables.Table, is *nftables.Set, declaration *nftables.SetSpec) *nftables.Set {
	key, then := [2]uint64{t.Handle, is.Handle}, *is
	last := e.sets[key]
	if was := e.before.Table(t.Family, t.Name); last == nil && was != nil {
		if old := was.Set(is.Name); old != nil && old.Handle == is.Handle {
			last = old
		}
	}
	then.Timeout, then.GCInterval, then.Size = declaration.Timeout, declaration.GCInterval, declaration.Size
	if last != nil && then.Size == 0 {
		then.Size = last.Size
	}
	if !e.sized[setName{check.TableName{Family: t.Family, Name: t.Name}, is.Name}] {
		then.Size = is.Size // which a rule that puts packets' elements into the set may have given it
	}
	e.sets[key] = &then
	return &then
}

// nameOf is the name that a chain has at this point of the transaction.
func (e *echoing) nameOf(t *nftables.Table, chain *nftables.Chain) string {
	if was := e.before.Table(t.Family, t.Name); was != nil && !e.renamed[t][chain.Handle] {
		for _, old := range was.Chains() {
			if old.Handle == chain.Handle {
				return old.Name
			}
		}
	}
	return chain.Name
}

// echoed prints what changes have added, if that was asked for.
func (r *run) echoed(changes []nftables.Change, made *madeThings) {
	if !r.echo || r.check {
		return
	}
	e := &echoing{run: r, before: r.view, after: r.tools.view(), made: made, renamed: map[*nftables.Table]map[uint64]bool{},
		sets: map[[2]uint64]*nftables.Set{}, sized: map[setName]bool{}}
	for _, change := range changes {
		if c, is := change.(*nftables.AddSet); is && c.Set.Size != 0 {
			e.sized[setName{check.TableName{Family: c.Family, Name: c.Table}, c.Set.Name}] = true
		}
	}
	for _, change := range changes {
		e.change(change)
	}
	if e.said && asksForEcho(changes[0]) {
		fmt.Fprintf(&r.out, "# new generation %d by process %d (nft)\n", e.after.state.Generation, os.Getpid())
	}
}

// asksForEcho says whether nft asks for an echo of a change. The kernel reports the generation if the first change of a transaction asks.
func asksForEcho(change nftables.Change) bool {
	switch c := change.(type) {
	case *nftables.AddChain:
		return c.Handle == 0
	case *nftables.AddTable, *nftables.AddSet, *nftables.AddElements, *nftables.AddObject, *nftables.AddRule:
		return true
	}
	return false
}

func (e *echoing) change(change nftables.Change) {
	switch c := change.(type) {
	case *nftables.AddTable:
		e.thing(c, verbOf(c.Exclusive), c.Family, c.Name, nil)
	case *nftables.AddChain:
		if c.Handle != 0 {
			e.rename(c)
			return
		}
		e.thing(c, verbOf(c.Exclusive), c.Family, c.Table, func(t *nftables.Table) (uint64, string) {
			if is := t.Chain(c.Chain.Name); is != nil {
				return is.Handle, e.chainText(t, is)
			}
			return 0, ""
		})
	case *nftables.AddSet:
		e.thing(c, verbOf(c.Exclusive), c.Family, c.Table, func(t *nftables.Table) (uint64, string) {
			if is := t.Set(c.Set.Name); is != nil {
				return is.Handle, e.setText(t, e.asDeclared(t, is, &c.Set))
			}
			return 0, ""
		})
	case *nftables.AddElements:
		e.elements(c)
	case *nftables.AddObject:
		e.thing(c, verbOf(c.Exclusive), c.Family, c.Table, func(t *nftables.Table) (uint64, string) {
			if is := t.Object(c.Object.Type, c.Object.Name); is != nil {
				return is.Handle, e.objectText(t, is)
			}
			return 0, ""
		})
	case *nftables.AddRule:
		e.rule(c)
	}
}

// thing prints what a change has made: as it is now, or as it was then if it is not there any more.
func (e *echoing) thing(c nftables.Change, verb string, f nftables.Family, table string, now func(*nftables.Table) (uint64, string)) {
	made, there := e.made.things[c]
	if !there {
		return
	}
	text := made.text
	if t := e.after.Table(f, table); now != nil && t != nil && t.Handle == made.table {
		if handle, is := now(t); handle == made.handle {
			text = is
		}
	}
	e.say("%s %s", verb, text)
}

// rename notes that a chain has its new name from now on.
func (e *echoing) rename(c *nftables.AddChain) {
	if t := e.after.Table(c.Family, c.Table); t != nil {
		if e.renamed[t] == nil {
			e.renamed[t] = map[uint64]bool{}
		}
		e.renamed[t][c.Handle] = true
	}
}

func (e *echoing) say(format string, args ...any) {
	e.said = true
	fmt.Fprintf(&e.out, format+"\n", args...)
}

// elements prints those elements of a change that are new, or get another time to live.
func (e *echoing) elements(c *nftables.AddElements) {
	t, made := e.after.Table(c.Family, c.Table), e.made.elements[c]
	if t == nil || t.Set(c.Set) == nil {
		return
	}
	for len(made) > 0 {
		alike := 1
		for alike < len(made) && made[alike].Exclusive == made[0].Exclusive {
			alike++
		}
		elements := make([]*nftables.Element, alike)
		for i, is := range made[:alike] {
			elements[i] = e.named(t, is.Element)
		}
		for _, item := range e.declared(t).Elements(c.Set, elements) {
			if t.Set(c.Set).Flags&nftables.SetInterval != 0 {
				withoutStatements(item)
			}
			if text, err := print.AppendExpr(nil, item, e.plain()); err == nil {
				e.say("%s element %s %s %s { %s }", verbOf(made[0].Exclusive), c.Family, c.Table, c.Set, text)
			}
		}
		made = made[alike:]
	}
}

// named is an element that leads to a chain by the name that this has at this point of the transaction.
func (e *echoing) named(t *nftables.Table, element *nftables.Element) *nftables.Element {
	if e.renamed[t] == nil || element.Data == nil || element.Data.Verdict == nil {
		return element
	}
	chain := e.chainNow(t, element.Data.Verdict.Chain)
	if chain == nil {
		return element
	}
	own := &nftables.Element{ElementSpec: element.ElementSpec, Deadline: element.Deadline}
	verdict := *element.Data.Verdict
	verdict.Chain = e.nameOf(t, chain)
	own.Data = &expr.Data{Verdict: &verdict}
	return own
}

// withoutStatements takes the statements of an interval away: nft makes it of two elements and forgets them.
func withoutStatements(item syntax.Expr) {
	if m, is := item.(*syntax.Mapping); is {
		item = m.Key
	}
	if element, is := item.(*syntax.Element); is {
		element.Stmts = nil
	}
}

// rule prints a rule that was made.
func (e *echoing) rule(c *nftables.AddRule) {
	t, rule := e.after.Table(c.Family, c.Table), e.made.rules[c]
	if t == nil || rule == nil {
		return
	}
	chain := e.chainNow(t, c.Chain)
	if chain == nil {
		return
	}
	verb, place := "add", ""
	if c.Place == nftables.First {
		verb = "insert"
	}
	if c.Place == nftables.Instead {
		e.say("delete rule %s %s %s handle %d", c.Family, c.Table, chain.Name, c.Handle)
	}
	if before := e.made.before(c); before != nil {
		place = fmt.Sprintf("handle %d ", before.Handle)
	}
	if text := e.made.texts[c]; text != "" {
		e.say("%s rule %s %s %s %s%s%s", verb, c.Family, c.Table, e.nameOf(t, chain), place, text, e.handleText(rule.Handle))
	}
}

// chainNow is the chain that had a name when the transaction began, or that it made; nil if it is not there any more.
func (e *echoing) chainNow(t *nftables.Table, name string) *nftables.Chain {
	if was := e.before.Table(t.Family, t.Name); was != nil {
		if old := was.Chain(name); old != nil {
			for _, c := range t.Chains() {
				if c.Handle == old.Handle {
					return c
				}
			}
		}
	}
	return t.Chain(name)
}

// verbOf is the word of a command that makes something.
func verbOf(exclusive bool) string {
	if exclusive {
		return "create"
	}
	return "add"
}
