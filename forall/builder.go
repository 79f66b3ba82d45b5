package forall

import (
	"cmp"
	"net/netip"

	"github.com/chainwalk/chainwalk/fakeipt/xtables"
	"github.com/chainwalk/chainwalk/forall/internal/diagram"
	"github.com/chainwalk/chainwalk/netfilter"
	"github.com/chainwalk/chainwalk/packetsim"
)

// builder works out the fates of the packets of a family and a class. What it computes on the way is in a store of its own.
type builder struct {
	w      *world
	s      *diagram.Store
	t      *packetsim.Terrain
	class  Class
	chance Chance

	entries [netfilter.NumHooks][]packetsim.HookEntry
	tracks  bool
	values  numbered[string] // of registers

	outcomes
	links
	places
	readChains
	gen      generations
	walks    remembered[state]
	cutsIn   remembered[routeKey]
	cutsOut  remembered[routeKey]
	targeted remembered[targetKey]
	sums     remembered[sumKey]
	looked   remembered[fibKey]
	boxes    map[any]*boxes
	needs    needs
	conds    []*cond // to be used again
	runs
	loads  loads
	selves selves
	depth  int
	bound  bound
}

// needs are what the rules of the host ask for that costs something to keep.
type needs struct {
	original bool // destinations before their translation
}

// targetKey is the way behind a translation, the number of its target, and that of the source that is the target.
type targetKey struct {
	walk diagram.ID
	to   int32
	who  diagram.Value // 0: nothing is asked of it
}

func newBuilder(w *world, store *diagram.Store, t *packetsim.Terrain, class Class, o *Options) *builder {
	b := &builder{
		w: w, s: store, t: t, class: class, chance: o.Chance, tracks: t.Tracks(),
		outcomes:   outcomes{w: w, s: store, ignore: o.Ignore},
		places:     places{s: store, six: w.six, typed: map[string]diagram.Set{}, like: map[likeKey]int32{}},
		readChains: readChains{s: store, chains: map[any]*chain{}},
		boxes:      map[any]*boxes{}, gen: generations{nodes: cmp.Or(o.generation, defaultGeneration)},
		bound: o.bound(),
	}
	b.links = links{outcomes: &b.outcomes, t: t, devices: t.Devices(), number: map[string]int{}}
	for i, name := range w.devices {
		b.number[name] = i + 1
	}
	b.sortDoorways()
	for at := range b.entries {
		b.entries[at] = t.Entries(netfilter.Hook(at))
	}
	b.terrain = cutsOf(t)
	b.sortOrigins(t)
	b.readChains.typesOf = func(m xtables.Match) (diagram.Set, bool) { return b.places.typesOf(t, m) }
	return b
}

// cutsOf is where the terrain may change.
func cutsOf(t *packetsim.Terrain) (cuts []diagram.Value) {
	for _, a := range t.Cuts() {
		cuts = append(cuts, valueOf(a))
	}
	return cuts
}

// rootWith is the fates of all packets of a host with what else is asked for: those of their replies, or through other nodes.
func (b *builder) rootWith(o *Options, h *packetsim.Host) (diagram.ID, error) {
	if len(o.Through) > 0 {
		return b.through(o, h)
	}
	b.ends = asStates
	return b.withReplies(b.root(), o), nil
}

// root is the fates of all packets, in the builder's own store.
func (b *builder) root() diagram.ID {
	return rootOf(b, b.s, newSettler(b, b.s).of)
}

// rootOf is the fates of all packets, in the part's own store: with groups of endpoints, and without them if that does not do.
func (f *Fates) rootOf(p *part) diagram.ID {
	b := newBuilder(p.world, p.world.newStore(), p.terrain, p.class, &f.options)
	b.selves.on = !f.options.alone
	root := rootIn(b, p.world.store)
	if b.selves.failed {
		root = rootIn(newBuilder(p.world, p.world.newStore(), p.terrain, p.class, &f.options), p.world.store)
	}
	return root
}

// rootIn is the fates of all packets, in another store.
func rootIn(b *builder, kept *diagram.Store) diagram.ID {
	s := newSettler(b, kept)
	return rootOf(b, kept, func(view int32) diagram.ID {
		made := within(b, s, view)
		forget(b, &s.Copier)
		return made
	})
}

// rootOf is the fates of all packets in a store, from those of each view: each class of destinations is walked once.
func rootOf(b *builder, s *diagram.Store, of func(view int32) diagram.ID) diagram.ID {
	b.scan()
	last, kids := make([]diagram.Value, len(b.slices)), make([]diagram.ID, len(b.slices))
	done := make([]diagram.ID, len(b.views))
	for i := range b.slices {
		view := b.slices[i].view
		if done[view] == 0 {
			done[view] = of(view) + 1
		}
		last[i], kids[i] = b.slices[i].Last, done[view]-1
	}
	return s.Node(vDst, last, kids)
}

// walkFrom is the fates of packets to a destination, by all devices, with the view's own numbers.
func (b *builder) walkFrom(view int32) diagram.ID {
	if b.views[view].addr.IsMulticast() {
		return b.unmodelled(toGroup)
	}
	begin(b, view)
	start := state{view: hereView, port: asIs}
	if b.needs.original {
		start.orig = hereView
	}
	limit := len(b.w.devices)
	last, kids := make([]diagram.Value, limit+1), make([]diagram.ID, limit+1)
	ways := make([]diagram.ID, limit+1)
	for i := range limit + 1 {
		last[i], kids[i] = diagram.Number(uint64(i)), b.s.One(diagram.Atom(i))
	}
	here := start
	here.origin, here.hook = fromHost, netfilter.Output
	ways[0] = b.onward(b.routeOut(here, false))
	for _, d := range b.doorways {
		way := b.onward(b.entering(start, b.w.devices[d.devices[0]-1]))
		for _, in := range d.devices {
			ways[in] = way
		}
	}
	return b.s.Replace(b.s.Node(vIn, last, kids), func(a diagram.Atom) diagram.ID { return ways[a] })
}

// entering is a packet that comes in by a device.
func (b *builder) entering(start state, in string) diagram.ID {
	start.hook = netfilter.PreRouting
	switch doorway := b.t.Doorway(in); {
	case doorway == packetsim.Doorway{}:
		return b.unmodelled(noDevice)
	case !doorway.Up:
		return b.dropped()
	case doorway.Port:
		return b.unmodelled(bridgePort)
	}
	dst := b.views[start.view].addr
	return b.byOrigin(func(src netip.Addr) diagram.ID {
		if b.t.Enters(src, dst, in) != "" {
			return b.dropped()
		}
		return b.is(fell, start)
	})
}

// onward goes on from each state.
func (b *builder) onward(id diagram.ID) diagram.ID {
	return b.s.Replace(id, func(a diagram.Atom) diagram.ID {
		_, st := b.stateOf(a)
		return b.walk(st)
	})
}
