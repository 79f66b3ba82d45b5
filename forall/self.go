package forall

import (
	"math"
	"slices"
	"strings"

	"github.com/chainwalk/chainwalk/forall/internal/diagram"
	"github.com/chainwalk/chainwalk/netfilter/nftables/expr"
)

// kube-proxy's mode nftables has a set with an element for each endpoint: the endpoint as source and as destination, its protocol and port.
// A look-up there of packets to an endpoint asks whether the packet comes from itself. With this as a variable of its own all endpoints are
// alike that have the same protocols and ports. They are walked once, and the source of each is put in afterwards (walkTarget).

// vSelf is whether the source is the destination that the packet was translated to. No fates have it in the end.
const vSelf = diagram.Var(math.MaxUint16 - 1)

// selves are the groups of destinations that look-ups ask for alike: of this kind, or in sets of nothing but destinations.
type selves struct {
	on     bool
	groups numbered[groupKey]
	asked  map[*expr.Lookup]bool // the look-ups of this kind that ask in groups
	// failed says that something was asked of a group that is not the same for all in it. All is worked out again then, without groups.
	failed bool
}

// some says whether there are look-ups that ask in groups if a packet comes from itself.
func (s *selves) some() bool { return len(s.asked) > 0 }

// groupKey is a set, and what its elements have beside a destination.
type groupKey struct {
	set  *boxes
	rest string
}

// ofSelf are the places of the source and the destination in the key of a look-up in a set, if they are the same in all elements.
func (x *nftRun) ofSelf(e *expr.Lookup, set *boxes, runs []run) (src, dst keyPart, is bool) {
	if e.Invert || e.Map || set.catchall != nil || !set.exact || len(set.all) == 0 {
		return src, dst, false
	}
	for k := range runs {
		switch r := &runs[k]; {
		case r.of.mask != nil || r.from != 0 || r.n != r.of.size:
		case r.of.kind == loadDst && dst.size == 0:
			dst = keyPart{r.at, r.n}
		case r.of == x.b.loads.fields[vSrc] && src.size == 0:
			src = keyPart{r.at, r.n}
		case r.of.kind == loadDst || r.of == x.b.loads.fields[vSrc]:
			return src, dst, false
		}
	}
	return src, dst, src.size > 0 && dst.size == src.size && set.mirror(src, dst)
}

// mirror says whether two parts of the key are the same in all elements.
func (x *boxes) mirror(a, b keyPart) bool {
	parts := [2]keyPart{a, b}
	same, known := x.mirrors[parts]
	if !known {
		same = !slices.ContainsFunc(x.all, func(e box) bool {
			return string(e.first[a.at:a.at+a.size]) != string(e.first[b.at:b.at+b.size])
		})
		if x.mirrors == nil {
			x.mirrors = map[[2]keyPart]bool{}
		}
		x.mirrors[parts] = same
	}
	return same
}

// groupsOf are the destinations that a look-up asks for in groups; nil: it does not ask in groups.
func (x *nftRun) groupsOf(e *expr.Lookup, set *boxes, runs []run) []asked {
	src, dst, is := x.ofSelf(e, set, runs)
	if !x.b.selves.on || !is {
		return nil
	}
	rests := map[string][]string{}
	for i := range set.all {
		key := set.all[i].first
		rest := []byte{}
		for at, c := range key {
			if (at < src.at || at >= src.at+src.size) && (at < dst.at || at >= dst.at+dst.size) {
				rest = append(rest, c)
			}
		}
		to := string(key[dst.at : dst.at+dst.size])
		rests[to] = append(rests[to], string(rest))
	}
	if x.b.selves.asked == nil {
		x.b.selves.asked = map[*expr.Lookup]bool{}
	}
	x.b.selves.asked[e] = true
	out := make([]asked, 0, len(rests))
	for to, rest := range rests {
		slices.Sort(rest)
		key := groupKey{set, strings.Join(rest, "")} // all are as long
		out = append(out, asked{diagram.Point(numberOf([]byte(to))), x.b.selves.groups.number(key)})
	}
	return out
}

// mirrored says whether a look-up asks if packets come from where they were translated to, beside other things.
func (l *looking) mirrored(runs []run) bool {
	of := &l.x.b.selves
	if !of.asked[l.e] {
		return false
	}
	if _, _, is := l.x.ofSelf(l.e, l.set, runs); is && l.x.st.to == someTarget {
		return true
	}
	for k := range runs {
		if value, is := l.certain(&runs[k]); is && runs[k].of.kind == loadDst {
			of.failed = of.failed || len(l.withValue(&runs[k], value).are) > 0
		}
	}
	return false
}

// ifSelf is the ways of a look-up where the packet comes from where it was translated to, and that of no element elsewhere.
func (x *nftRun) ifSelf(found diagram.ID) diagram.ID {
	s := x.b.s
	self := diagram.Set{diagram.Point(diagram.Number(1))}
	return s.Replace(found, func(a diagram.Atom) diagram.ID { return s.Choose(vSelf, self, s.One(a), s.One(0)) })
}

// bySelf renames the atoms of a way behind a translation, and puts the source in that is the target.
func bySelf(b *builder, of *targetKey, as func(diagram.Atom) diagram.Atom) diagram.ID {
	if !b.selves.some() {
		return b.s.Rename(of.walk, as)
	}
	others, self := b.s.RenameWhere(of.walk, vSelf, false, as), b.s.RenameWhere(of.walk, vSelf, true, as)
	switch {
	case self == others:
		return self
	case of.who == diagram.Value{}:
		b.selves.failed = true
		return others
	}
	return b.then(b.s.Choose(vWho, diagram.Set{diagram.Point(of.who)}, b.s.One(yes), b.s.One(no)), self, others)
}
