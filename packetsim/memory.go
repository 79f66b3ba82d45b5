package packetsim

import (
	"maps"
	"time"

	"k8s.io/utils/clock"

	"github.com/chainwalk/chainwalk/fakeipt/ruleset"
	"github.com/chainwalk/chainwalk/fakeipt/xtables"
	"github.com/chainwalk/chainwalk/netfilter"
	"github.com/chainwalk/chainwalk/netfilter/nftables/expr"
	"github.com/chainwalk/chainwalk/packetsim/conntrack"
)

// memory is what packets leave behind in a host beside connections and counters. It has a layer for every open checkpoint under which
// something was changed, and what is kept lies under all of them: a look reads through the layers, and dropping one undoes it.
type memory struct {
	depth  int // open checkpoints
	layers int // of all kinds together, what is kept not counted: most walks leave none
	clock  clock.PassiveClock
	tick   uint64 // of the kernel's clock: each packet comes in one of its own, whatever the clock says

	nth        remembered[matchKey, uint32] // of -m statistic
	limits     remembered[matchKey, tokenBucket]
	hashlimits remembered[hashlimitName, hashlimitTable]
	buckets    remembered[hashlimitAt, hashlimitBucket]
	recent     recentLists
	quotas     remembered[matchKey, uint64] // bytes that are left
	connlimits remembered[connlimitKey, connlimitList]
	templates  remembered[matchKey, *conntrack.Conn] // of the rules with -j CT
	paths      remembered[pathKey, int]              // the next hop that a flow takes on a route with several
	sets       rememberedSets

	namespace     *netfilter.Namespace
	nftNumbers    remembered[*expr.Numgen, uint32] // the last of numgen inc
	nftHashes     remembered[hashedBy, uint32]
	nftLimits     remembered[*expr.Limit, nftBucket]
	nftConnlimits remembered[*expr.Connlimit, connlimitList]
	nftQuotas     nftQuotas
	nftSets       nftSets
}

// newMemory is empty. It takes the sets from the host's Netfilter, which is nil if the host has none.
func newMemory(namespace *netfilter.Namespace, clock clock.PassiveClock) *memory {
	m := &memory{clock: clock, namespace: namespace, recent: recentLists{masks: recentMasks{namespace: namespace}}}
	if namespace != nil {
		m.sets.table = namespace.Sets()
	}
	for _, kind := range m.kinds() {
		kind.begin(m)
	}
	return m
}

// layered is one kind of what is remembered, as checkpoints see it.
type layered interface {
	// begin makes it empty.
	begin(m *memory)
	// keep lets the changes under the checkpoint of that depth, the innermost one, be the next outer one's.
	keep(depth int)
	// rollback drops them.
	rollback(depth int)
}

func (m *memory) kinds() [16]layered {
	return [...]layered{&m.nth, &m.limits, &m.hashlimits, &m.buckets, &m.recent, &m.quotas, &m.connlimits, &m.templates, &m.paths, &m.sets,
		&m.nftNumbers, &m.nftHashes, &m.nftLimits, &m.nftConnlimits, &m.nftQuotas, &m.nftSets}
}

// checkpoint opens a checkpoint.
func (m *memory) checkpoint() { m.depth++ }

// freeze keeps the sets of both languages as they are from the first time that they are asked for until release. All that is changed must
// be rolled back by then.
func (m *memory) freeze() {
	m.sets.freeze()
	m.nftSets.freeze()
}

func (m *memory) release() {
	m.sets.release()
	m.nftSets.release()
}

// keep closes the innermost checkpoint, with its changes.
func (m *memory) keep() {
	if m.layers > 0 {
		for _, kind := range m.kinds() {
			kind.keep(m.depth)
		}
	}
	m.depth--
}

// rollback closes the innermost checkpoint, without its changes.
func (m *memory) rollback() {
	if m.layers > 0 {
		for _, kind := range m.kinds() {
			kind.rollback(m.depth)
		}
	}
	m.depth--
}

// remembered is a map in layers. Its values are not written to: a change puts another one in.
type remembered[K comparable, V any] struct {
	memory *memory
	layers []memoryLayer[K, V] // the first is what is kept; none before the first change
}

// memoryLayer is what was put in under the checkpoint of that depth.
type memoryLayer[K comparable, V any] struct {
	depth  int
	values map[K]V
}

func (r *remembered[K, V]) begin(m *memory) {
	r.memory = m
}

// get is the value as the innermost checkpoint sees it.
func (r *remembered[K, V]) get(key K) (value V, known bool) {
	for i := len(r.layers) - 1; i >= 0 && !known; i-- {
		value, known = r.layers[i].values[key]
	}
	return value, known
}

// all are the values as the innermost checkpoint sees them.
func (r *remembered[K, V]) all() map[K]V {
	values := map[K]V{}
	for _, layer := range r.layers {
		maps.Copy(values, layer.values)
	}
	return values
}

// put changes the value under the innermost checkpoint.
func (r *remembered[K, V]) put(key K, value V) {
	if len(r.layers) == 0 {
		r.layers = []memoryLayer[K, V]{{values: map[K]V{}}}
	}
	top := &r.layers[len(r.layers)-1]
	if top.depth < r.memory.depth {
		top = r.push()
	}
	top.values[key] = value
}

// push adds a layer for the innermost checkpoint. The map of an earlier layer that is gone is used again.
func (r *remembered[K, V]) push() *memoryLayer[K, V] {
	n := len(r.layers)
	if n < cap(r.layers) {
		r.layers = r.layers[:n+1]
	} else {
		r.layers = append(r.layers, memoryLayer[K, V]{})
	}
	top := &r.layers[n]
	top.depth = r.memory.depth
	if top.values == nil {
		top.values = map[K]V{}
	}
	r.memory.layers++
	return top
}

func (r *remembered[K, V]) pop() {
	top := len(r.layers) - 1
	clear(r.layers[top].values)
	r.layers = r.layers[:top]
	r.memory.layers--
}

func (r *remembered[K, V]) keep(depth int) {
	top := len(r.layers) - 1
	if top < 0 || r.layers[top].depth < depth {
		return
	}
	if below := &r.layers[top-1]; below.depth == depth-1 {
		maps.Copy(below.values, r.layers[top].values)
		r.pop()
		return
	}
	r.layers[top].depth--
}

func (r *remembered[K, V]) rollback(depth int) {
	if top := len(r.layers) - 1; top > 0 && r.layers[top].depth == depth {
		r.pop()
	}
}

// matchKey names a match that keeps a state of its own: a rule, the match's place in it, and with the legacy tools, whose commits
// begin every state of the table anew, the table.
type matchKey struct {
	rule  *xtables.Rule
	place int
	table *ruleset.Table
}

func (mt *matcher) matchKey() matchKey {
	key := matchKey{rule: mt.rule, place: mt.place}
	if mt.rules.Dialect() == netfilter.Legacy {
		key.table = mt.table
	}
	return key
}

// hertz is CONFIG_HZ, the ticks per second that limits count in: the value of most distributions' kernels.
const hertz = 250

// ticks is the kernel's clock ("jiffies") at a time.
func ticks(t time.Time) int64 { return t.UnixNano() / (int64(time.Second) / hertz) }
