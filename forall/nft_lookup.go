package forall

import (
	"fmt"
	"slices"
	"strings"

	"github.com/chainwalk/chainwalk/forall/internal/diagram"
	"github.com/chainwalk/chainwalk/netfilter/nftables"
	"github.com/chainwalk/chainwalk/netfilter/nftables/expr"
)

// lookup goes on where a set has the value, or does what a map has for it.
func (x *nftRun) lookup(e *expr.Lookup, i int) diagram.ID {
	set := x.r.table.Set(e.Set)
	switch {
	case set == nil:
		return x.b.unmodelled("set " + e.Set + ", which is not there")
	case setChanges(set):
		return x.lookupChanging(e, set, i)
	}
	runs := x.runs(e.Sreg.Offset(), int(set.KeyLen))
	x.b.sight.check(e, runs)
	for k := range runs { // a function is looked up value by value
		if r := &runs[k]; r.of.kind == loadGiven {
			return x.b.s.Replace(r.of.f, func(a diagram.Atom) diagram.ID {
				other := x.fork()
				other.regs.fix(r.of, constant(x.b.valueBytes(a)))
				return other.lookup(e, i)
			})
		}
	}
	l := looking{x: x, e: e, i: i, set: x.boxes(e, set)}
	l.ways = []diagram.ID{l.missed()}
	found, known := l.find(runs)
	if !known {
		return x.b.unmodelled("a look-up of some bits of an address or a port in set " + set.Name)
	}
	return x.b.s.Replace(found, func(a diagram.Atom) diagram.ID { return l.ways[a] })
}

// boxes are the elements that a look-up may meet.
func (x *nftRun) boxes(e *expr.Lookup, set *nftables.Set) *boxes {
	if known := x.b.sight.within[e]; known != nil {
		return known
	}
	return x.b.boxesOf(set)
}

// varNames are the variables as conditions with names call them.
var varNames = [...]string{vDst: "daddr", vDstPort: "dport", vProto: "protocol", vSrc: "saddr", vSrcPort: "sport", vIn: "device"}

// lookupChanging is a look-up in a set that changes with packets and time: a condition with a name.
func (x *nftRun) lookupChanging(e *expr.Lookup, set *nftables.Set, i int) diagram.ID {
	var key []string
	for _, r := range x.runs(e.Sreg.Offset(), int(set.KeyLen)) {
		switch r.of.kind {
		case loadConst:
			key = append(key, fmt.Sprintf("%x", r.constant))
		case loadOpaque:
			key = append(key, r.of.name)
		default:
			key = append(key, varNames[r.of.v])
		}
	}
	has := x.named(fmt.Sprintf("set %s of %s %s has %s%s", set.Name, x.r.table.Family, x.r.table.Name, strings.Join(key, " . "),
		x.st.afterWrite()), nil)
	hit := x.from(i + 1)
	if set.Flags&nftables.SetMap != 0 && e.Map {
		hit = x.b.unmodelled("what the map " + set.Name + " has, which packets change")
	}
	if e.Invert {
		return x.b.then(has, x.breaks(), x.from(i+1))
	}
	return x.b.then(has, hit, x.breaks())
}

// looking is a look-up. ways are what it may lead to: the first is that no element is met.
type looking struct {
	x        *nftRun
	e        *expr.Lookup
	i        int
	set      *boxes
	ways     []diagram.ID
	unknown  bool                     // some bytes of the key
	outcomes []outcome                // of the ways behind the first
	wayOf    map[outcome]diagram.Atom // once they are many
}

// fewOutcomes is up to how many outcomes are looked for one by one.
const fewOutcomes = 8

// outcome is what an element does.
type outcome struct {
	element *nftables.Element // of which nothing else is told
	code    expr.Code
	verdict bool
	to      string // the chain of a verdict, or data
}

func (l *looking) missed() diagram.ID {
	if l.set.catchall != nil {
		return l.met(l.set.catchall)
	}
	if l.e.Invert {
		return l.x.from(l.i + 1)
	}
	return l.x.breaks()
}

// met is what happens where an element is met.
func (l *looking) met(e *nftables.Element) diagram.ID {
	if l.unknown {
		return l.x.b.unmodelled(behindIP)
	}
	if l.e.Invert {
		return l.x.breaks()
	}
	x := l.x
	for _, own := range e.Exprs {
		switch own.(type) {
		case *expr.Counter, *expr.Last:
		default:
			return x.b.unmodelled("an element with " + expr.Text(own))
		}
	}
	if !l.e.Map || e.Data == nil {
		return x.from(l.i + 1)
	}
	if v := e.Data.Verdict; v != nil {
		return x.verdict(v)
	}
	return x.put(l.e.Dreg, constant(e.Data.Bytes), l.i)
}

// outcome is the way to which an element leads; those that do the same lead the same way.
func (l *looking) outcome(e *nftables.Element) diagram.Atom {
	var key outcome
	switch {
	case len(e.Exprs) > 0:
		key.element = e
	case l.e.Map && e.Data != nil && e.Data.Verdict != nil:
		key = outcome{code: e.Data.Verdict.Code, verdict: true, to: e.Data.Verdict.Chain}
	case l.e.Map && e.Data != nil:
		key.to = string(e.Data.Bytes)
	}
	if a, known := l.knownOutcome(key); known {
		return a
	}
	a := diagram.Atom(len(l.ways))
	l.ways, l.outcomes = append(l.ways, l.met(e)), append(l.outcomes, key)
	if l.wayOf != nil {
		l.wayOf[key] = a
	}
	return a
}

// knownOutcome is the way to which an outcome leads, if it was met before.
func (l *looking) knownOutcome(key outcome) (diagram.Atom, bool) {
	if len(l.outcomes) <= fewOutcomes {
		i := slices.Index(l.outcomes, key)
		return diagram.Atom(i + 1), i >= 0
	}
	if l.wayOf == nil {
		l.wayOf = map[outcome]diagram.Atom{}
		for i, known := range l.outcomes {
			l.wayOf[known] = diagram.Atom(i + 1)
		}
	}
	a, known := l.wayOf[key]
	return a, known
}

// find is the ways as a function of the variables that are in the key. It is false where the key has bits of a value that are no
// intervals.
func (l *looking) find(runs []run) (diagram.ID, bool) {
	candidates := elements{all: true}
	var open []run
	self := l.mirrored(runs)
	for k := range runs {
		r := &runs[k]
		value, is := l.certain(r)
		switch {
		case self && r.of == l.x.b.loads.fields[vSrc]:
			continue
		case !is && r.of.kind == loadUnknown && !l.e.Invert && l.set.catchall == nil:
			l.unknown = true // it matters only if an element agrees with the rest
			continue
		case !is && (r.from != 0 || r.of.mask != nil || r.of.kind >= loadOpaque):
			return 0, false
		case !is:
			open = append(open, *r)
			continue
		}
		if len(runs) > 1 && len(l.set.parts) == 0 && !l.set.exact {
			return 0, false
		}
		candidates = candidates.and(l.withValue(r, value))
	}
	slices.SortFunc(open, func(a, b run) int { return int(a.of.v) - int(b.of.v) })
	for k := 1; k < len(open); k++ {
		if open[k].of.v == open[k-1].of.v {
			return 0, false
		}
	}
	if len(open) > 1 && len(l.set.parts) == 0 && !l.set.exact {
		return 0, false
	}
	if candidates.all {
		for i := range l.set.all {
			candidates.are = append(candidates.are, int32(i))
		}
	}
	if self && len(candidates.are) > 0 {
		return l.x.ifSelf(l.decide(open, candidates.are)), true
	}
	return l.decide(open, candidates.are), true
}

// certain is the value of a run that all packets in the state have, or that cannot be told from it.
func (l *looking) certain(r *run) ([]byte, bool) {
	switch r.of.kind {
	case loadConst:
		return r.constant, true
	case loadDst:
		if r.of.mask != nil {
			return nil, false
		}
		return bytesOf(l.x.b.views[r.of.view].value, r.of.size)[r.from : r.from+r.n], r.from == 0
	}
	return nil, false
}

// withValue are the elements that a value meets in its place. Its bytes may be of several parts of the key.
func (l *looking) withValue(r *run, value []byte) elements {
	if len(l.set.parts) == 0 {
		return l.set.with(r.at, value)
	}
	out := elements{all: true} // of zeros between two parts
	for _, p := range l.set.parts {
		if low, high := max(p.at, r.at), min(p.at+p.size, r.at+r.n); low < high {
			out = out.and(l.set.with(low, value[low-r.at:high-r.at]))
		}
	}
	return out
}

// decide is the ways of the elements as a function of the variables of open runs: of elements that overlap the first counts.
func (l *looking) decide(open []run, candidates []int32) diagram.ID {
	s := l.x.b.s
	if len(candidates) == 0 {
		return s.One(0)
	}
	if len(open) == 0 {
		return s.One(l.outcome(l.set.all[candidates[0]].element))
	}
	if len(candidates) == 1 {
		return l.only(open, candidates[0])
	}
	r := &open[0]
	type edge struct {
		at    diagram.Value
		begin bool
		id    int32
	}
	limit := s.Limit(r.of.v)
	edges := make([]edge, 0, 2*len(candidates))
	for _, i := range candidates {
		in := spread(l.set.all[i].first[r.at:r.at+r.n], l.set.all[i].last[r.at:r.at+r.n], r.of.size)
		edges = append(edges, edge{in.First, true, i})
		if in.Last != limit {
			edges = append(edges, edge{in.Last.Next(), false, i})
		}
	}
	slices.SortStableFunc(edges, func(a, b edge) int { return a.at.Compare(b.at) })
	last, kids := make([]diagram.Value, 0, len(edges)+1), make([]diagram.ID, 0, len(edges)+1)
	if edges[0].at != (diagram.Value{}) {
		last, kids = append(last, edges[0].at.Prev()), append(kids, s.One(0))
	}
	var active []int32
	for k, e := range edges {
		at, is := slices.BinarySearch(active, e.id)
		if e.begin && !is {
			active = slices.Insert(active, at, e.id)
		} else if !e.begin && is {
			active = slices.Delete(active, at, at+1)
		}
		if k+1 < len(edges) && edges[k+1].at == e.at {
			continue
		}
		end := limit
		if k+1 < len(edges) {
			end = edges[k+1].at.Prev()
		}
		last, kids = append(last, end), append(kids, l.decide(open[1:], slices.Clone(active)))
	}
	return s.Node(r.of.v, last, kids)
}

// only is decide for one element.
func (l *looking) only(open []run, candidate int32) diagram.ID {
	s, e := l.x.b.s, &l.set.all[candidate]
	made := s.One(l.outcome(e.element))
	for k := len(open) - 1; k >= 0; k-- {
		r := &open[k]
		in := spread(e.first[r.at:r.at+r.n], e.last[r.at:r.at+r.n], r.of.size)
		made = s.Choose(r.of.v, diagram.Set{in}, made, s.One(0))
	}
	return made
}
