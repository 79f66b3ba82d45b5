package fakenft

import (
	"bytes"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/chainwalk/chainwalk/fakenft/decompile"
	"github.com/chainwalk/chainwalk/fakenft/print"
	"github.com/chainwalk/chainwalk/fakenft/syntax"
	"github.com/chainwalk/chainwalk/netfilter/nftables"
)

// echoing prints what a transaction has added, as the kernel reports it to whoever asked (-e).
type echoing struct {
	*run
	before, after view
	said          bool
	// told are tables, sets and objects that were printed: what is added twice is made once.
	told map[string]bool
	made *madeRules
	// lives are the times to live that elements were first given, by their set and key.
	lives map[string]time.Duration
	// bounds are the ends of intervals that were printed: nft sends some elements twice.
	bounds map[*nftables.Element]bool
	// renamed are the handles of chains that have got their new names by now, by table.
	renamed map[*nftables.Table]map[uint64]bool
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

// echoed prints what requests have added, if that was asked for.
func (r *run) echoed(requests []request, made *madeRules) {
	if !r.echo || r.check {
		return
	}
	e := &echoing{
		run: r, before: r.view, after: r.tools.view(), told: map[string]bool{}, made: made,
		lives: map[string]time.Duration{}, bounds: map[*nftables.Element]bool{},
		renamed: map[*nftables.Table]map[uint64]bool{},
	}
	for i := range requests {
		e.change(requests[i].Change)
	}
	if e.said && asksForEcho(requests[0].Change) {
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
		if t := e.after.Table(c.Family, c.Name); t != nil && e.before.Table(c.Family, c.Name) == nil && e.once("table", c.Family, c.Name, "") {
			e.say("%s table %s %s%s", verbOf(c.Exclusive), c.Family, c.Name, e.handle(t.Handle))
		}
	case *nftables.AddChain:
		if t := e.after.Table(c.Family, c.Table); t != nil && c.Handle != 0 {
			if e.renamed[t] == nil {
				e.renamed[t] = map[uint64]bool{}
			}
			e.renamed[t][c.Handle] = true
		}
		if t := e.after.Table(c.Family, c.Table); t != nil && c.Handle == 0 && t.Chain(c.Chain.Name) != nil {
			e.chain(t, t.Chain(c.Chain.Name), verbOf(c.Exclusive))
		}
	case *nftables.AddSet:
		t := e.after.Table(c.Family, c.Table)
		if t == nil || c.Set.Flags&nftables.SetAnonymous != 0 || t.Set(c.Set.Name) == nil {
			return
		}
		if old := e.before.Table(c.Family, c.Table); (old == nil || old.Set(c.Set.Name) == nil) && e.once("set", c.Family, c.Table, c.Set.Name) {
			e.set(t, t.Set(c.Set.Name), verbOf(c.Exclusive))
		}
	case *nftables.AddElements:
		e.elements(c)
	case *nftables.AddObject:
		t := e.after.Table(c.Family, c.Table)
		if t == nil || t.Object(c.Object.Type, c.Object.Name) == nil {
			return
		}
		old := e.before.Table(c.Family, c.Table)
		if (old == nil || old.Object(c.Object.Type, c.Object.Name) == nil) &&
			e.once(fmt.Sprint(c.Object.Type), c.Family, c.Table, c.Object.Name) {
			e.object(t, t.Object(c.Object.Type, c.Object.Name), verbOf(c.Exclusive))
		}
	case *nftables.AddRule:
		e.rule(c)
	}
}

func (e *echoing) once(kind string, f nftables.Family, table, name string) bool {
	key := strings.Join([]string{kind, f.String(), table, name}, " ")
	told := e.told[key]
	e.told[key] = true
	return !told
}

func (e *echoing) say(format string, args ...any) {
	e.said = true
	fmt.Fprintf(&e.out, format+"\n", args...)
}

// handle is what -a puts behind a line.
func (e *echoing) handle(number uint64) string {
	if !e.handles {
		return ""
	}
	return fmt.Sprintf(" # handle %d", number)
}

func (e *echoing) decompiler(t *nftables.Table) *decompile.Decompiler {
	d := e.run.decompiler(t)
	d.Table(&t.TableSpec, t.Handle)
	return d
}

// plain are the options of what is printed, without handles.
func (e *echoing) plain() *print.Options {
	o := e.printing()
	o.Handles = false
	return o
}

func (e *echoing) chain(t *nftables.Table, c *nftables.Chain, verb string) {
	decl := e.decompiler(t).Chain(&c.ChainSpec, c.Handle)
	decl.Comment, decl.HasComment = "", false
	if decl.Hook != nil {
		decl.Hook.DeviceNames = nil // the kernel does not report them
	}
	table := &syntax.TableDecl{Handle: syntax.Handle{Family: t.Family, Table: t.Name}, Chains: []*syntax.ChainDecl{decl}}
	text, err := print.AppendChains(nil, []*syntax.TableDecl{table}, e.plain())
	hook := ""
	if lines := bodyOf(text); err == nil && len(lines) > 0 {
		hook = " { " + strings.Join(lines, " ") + " }"
	}
	e.say("%s chain %s %s %s%s%s", verb, t.Family, t.Name, c.Name, hook, e.handle(c.Handle))
}

// bodyOf are the lines of what a table has, without the lines around them.
func bodyOf(text []byte) []string {
	var lines []string
	for line := range bytes.Lines(text) {
		if inner, is := bytes.CutPrefix(line, []byte("\t\t")); is {
			lines = append(lines, strings.TrimSpace(string(inner)))
		}
	}
	return lines
}

// opened is what stands behind "{" in one line: a handle, if those are asked for.
func (e *echoing) opened(number uint64) string {
	if !e.handles {
		return "{ "
	}
	return fmt.Sprintf("{ # handle %d ", number)
}

func (e *echoing) set(t *nftables.Table, s *nftables.Set, verb string) {
	decl := e.decompiler(t).Declaration(s.Name)
	table := &syntax.TableDecl{Handle: syntax.Handle{Family: t.Family, Table: t.Name}, Sets: []*syntax.SetDecl{decl}}
	text, _ := print.AppendSets(nil, []*syntax.TableDecl{table}, syntax.KindSet, e.plain())
	e.say("%s %s %s %s %s %s%s; } ", verb, setWord(s.Flags&(nftables.SetMap|nftables.SetObject) != 0), t.Family, t.Name, s.Name,
		e.opened(s.Handle), strings.Join(bodyOf(text), "; "))
}

func (e *echoing) object(t *nftables.Table, o *nftables.Object, verb string) {
	decl := e.decompiler(t).Object(&o.ObjectSpec, o.Handle)
	table := &syntax.TableDecl{Handle: syntax.Handle{Family: t.Family, Table: t.Name}, Objects: []*syntax.ObjectDecl{decl}}
	text, _ := print.AppendObjects(nil, []*syntax.TableDecl{table}, o.Type, e.plain())
	_, head, _ := strings.Cut(string(text), "\n\t")
	kind, _, _ := strings.Cut(head, " "+o.Name+" {")
	e.say("%s %s %s %s %s %s%s } ", verb, kind, t.Family, t.Name, o.Name, e.opened(o.Handle), strings.Join(bodyOf(text), " "))
}

// elements prints those elements of a change that are new, or get another time to live.
func (e *echoing) elements(c *nftables.AddElements) {
	t := e.after.Table(c.Family, c.Table)
	if t == nil || t.Set(c.Set) == nil {
		return
	}
	var old *nftables.Set
	if was := e.before.Table(c.Family, c.Table); was != nil {
		old = was.Set(c.Set)
	}
	set := t.Set(c.Set)
	var items []syntax.Expr
	if set.Flags&nftables.SetInterval != 0 {
		items = e.decompiler(t).Elements(c.Set, e.addedIntervals(old, set, c.Elements))
		for _, item := range items {
			withoutStatements(item)
		}
	} else {
		items = e.decompiler(t).Elements(c.Set, e.added(old, set, c))
	}
	for _, item := range items {
		text, err := print.AppendExpr(nil, item, e.plain())
		if err == nil {
			e.say("%s element %s %s %s { %s }", verbOf(c.Exclusive), c.Family, c.Table, c.Set, text)
		}
	}
}

// addedIntervals are the beginnings and ends that were not there before.
func (e *echoing) addedIntervals(old, set *nftables.Set, specs []nftables.ElementSpec) []*nftables.Element {
	now := e.tools.kernel.Clock().Now()
	var before, added []*nftables.Element
	if old != nil {
		before = old.Elements(now)
	}
	for _, is := range set.Elements(now) {
		same := func(key []byte, flags nftables.ElementFlags) bool {
			return bytes.Equal(key, is.Key) && flags == is.Flags
		}
		isNew := !slices.ContainsFunc(before, func(o *nftables.Element) bool { return same(o.Key, o.Flags) })
		if isNew && slices.ContainsFunc(specs, func(s nftables.ElementSpec) bool { return same(s.Key, s.Flags) }) && !e.bounds[is] {
			e.bounds[is] = true
			added = append(added, is)
		}
	}
	return added
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

// added are the elements of a change in its order, each with the time to live that the change gives it.
func (e *echoing) added(old, set *nftables.Set, c *nftables.AddElements) []*nftables.Element {
	now := e.tools.kernel.Clock().Now()
	before, after := byKey(old, now), byKey(set, now)
	var added []*nftables.Element
	for i := range c.Elements {
		spec := &c.Elements[i]
		life := set.Timeout
		if spec.HasTimeout {
			life = spec.Timeout
		}
		key := strings.Join([]string{c.Family.String(), c.Table, c.Set, string(spec.Key)}, " ")
		is := after[string(spec.Key)]
		first, known := e.lives[key]
		if was := before[string(spec.Key)]; !known && was != nil {
			first, known = was.Timeout, true
		}
		if is == nil || known && (first == life || set.Flags&nftables.SetTimeout == 0) {
			continue
		}
		if !known {
			e.lives[key] = life
		}
		as := &nftables.Element{ElementSpec: is.ElementSpec}
		as.Timeout, as.HasTimeout = life, spec.HasTimeout
		if life != 0 {
			as.Deadline = now.Add(life)
		}
		added = append(added, as)
	}
	return added
}

// byKey are the elements of a set without intervals by their keys; the catch-all has none.
func byKey(set *nftables.Set, now time.Time) map[string]*nftables.Element {
	if set == nil {
		return nil
	}
	all := map[string]*nftables.Element{}
	for _, e := range set.Elements(now) {
		all[string(e.Key)] = e
	}
	return all
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
		e.say("%s rule %s %s %s %s%s%s", verb, c.Family, c.Table, e.nameOf(t, chain), place, text, e.handle(rule.Handle))
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
