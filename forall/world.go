package forall

import (
	"math"
	"net/netip"
	"slices"

	"github.com/chainwalk/chainwalk/forall/internal/diagram"
)

// world is what fates that are compared have in common: one store of functions, and what their numbers mean.
type world struct {
	six     bool
	store   *diagram.Store
	devices []string // of vIn from 1 on
	names   []string // of the variables from vNames on
	nameVar map[string]diagram.Var
	says    map[string]string // conditions with names, in the words of the tool that lists their rules, if these are others
	ends    numbered[endFate]
	rests   numbered[Fate] // of fates, but for what the destination is translated to
	memory  memory
}

// endFate is a fate. There are as many as endpoints, and few that differ in more than these.
type endFate struct {
	dst  netip.Addr
	port uint32 // if dst is someAddr, the number of the target
	rest int32  // of rests
}

func newWorld(six bool, devices []string) *world {
	w := &world{six: six, devices: devices, nameVar: map[string]diagram.Var{}, says: map[string]string{}}
	w.store = w.newStore()
	return w
}

// newStore is a store of functions of packets.
func (w *world) newStore() *diagram.Store {
	limit := limitOf(w.six)
	port := diagram.Number(math.MaxUint16)
	return diagram.NewStore(limit, port, diagram.Number(math.MaxUint8), diagram.Number(math.MaxUint32), limit, port,
		diagram.Number(uint64(len(w.devices))))
}

// limitOf is the greatest address.
func limitOf(six bool) diagram.Value {
	if six {
		return diagram.Value{High: math.MaxUint64, Low: math.MaxUint64}
	}
	return diagram.Number(math.MaxUint32)
}

// fate is the end that a fate is.
func (w *world) fate(f Fate) diagram.Atom {
	end := endFate{dst: f.Dst, port: uint32(f.DstPort)}
	f.Dst, f.DstPort = netip.Addr{}, 0
	end.rest = w.rests.number(f)
	return w.end(end)
}

func (w *world) end(end endFate) diagram.Atom { return -diagram.Atom(w.ends.number(end)) }

// to is the same fate with another target.
func (e endFate) to(target destination) endFate {
	e.dst, e.port = target.addr, uint32(target.port)
	return e
}

// fateOf is the fate of an end.
func (w *world) fateOf(a diagram.Atom) Fate {
	end := &w.ends.all[-a]
	f := w.rests.all[end.rest]
	f.Dst, f.DstPort = end.dst, uint16(end.port)
	return f
}

// name is the variable of a condition with a name.
func (w *world) name(text string) diagram.Var {
	if v, known := w.nameVar[text]; known {
		return v
	}
	v := vNames + diagram.Var(len(w.names))
	w.names = append(w.names, text)
	w.nameVar[text] = v
	return v
}

// nameOf is the variable of a condition that has a name in another world.
func (w *world) nameOf(from *world, v diagram.Var, suffix string) diagram.Var {
	name := from.names[v-vNames]
	if says, known := from.says[name]; known && w.says[name+suffix] == "" {
		w.says[name+suffix] = says + suffix
	}
	return w.name(name + suffix)
}

// take puts a function of another world into this one, which has all of its devices.
func (w *world) take(from *world, root diagram.ID) diagram.ID {
	if from == w {
		return root
	}
	as := func(a diagram.Atom) diagram.Atom { return w.fate(from.fateOf(a)) }
	if slices.Equal(from.devices, w.devices) && w.hasNamesOf(from) {
		c := diagram.Copier{To: w.store, From: from.store, As: func(a diagram.Atom) (diagram.Atom, bool) { return as(a), false }}
		return c.Copy(root)
	}
	t := newTaking(w, from, as)
	return w.withoutDevices(from, t.take(root))
}

// noDevice is why the fate of a packet is not known that comes by a device which the host does not have.
const noDevice = "the host has no such device"

// withoutDevices is a function of another world, in which the fates by devices that this one has more are not known.
func (w *world) withoutDevices(from *world, root diagram.ID) diagram.ID {
	var more []diagram.Interval
	for i, d := range w.devices {
		if !slices.Contains(from.devices, d) {
			more = append(more, diagram.Point(diagram.Number(uint64(i+1))))
		}
	}
	if len(more) == 0 {
		return root
	}
	none := w.store.One(w.fate(Fate{Unmodelled: noDevice}))
	return w.store.Replace(w.store.Choose(vIn, diagram.SetOf(more...), w.store.One(1), w.store.One(0)), func(a diagram.Atom) diagram.ID {
		if a == 1 {
			return none
		}
		return root
	})
}

// hasNamesOf says whether names have the same variables in both worlds, once those that this one does not know are added.
func (w *world) hasNamesOf(from *world) bool {
	for i := range from.names {
		if v := vNames + diagram.Var(i); w.nameOf(from, v, "") != v {
			return false
		}
	}
	return true
}

// taking copies functions into a world in which variables stand in another order.
type taking struct {
	to, from *world
	of       string // what is behind the names of conditions there
	as       func(diagram.Atom) diagram.Atom
	known    map[diagram.ID]diagram.ID
	numbers  []int // of the devices there, by those here; 0: it has none
}

func newTaking(to, from *world, as func(diagram.Atom) diagram.Atom) *taking {
	t := &taking{to: to, from: from, as: as, known: map[diagram.ID]diagram.ID{}, numbers: []int{0}}
	for _, d := range to.devices {
		t.numbers = append(t.numbers, slices.Index(from.devices, d)+1)
	}
	return t
}

func (t *taking) take(id diagram.ID) diagram.ID {
	if made, is := t.known[id]; is {
		return made
	}
	from, to := t.from.store, t.to.store
	var made diagram.ID
	if from.IsLeaf(id) {
		shares := slices.Clone(from.Shares(id))
		for i := range shares {
			shares[i].Atom = t.as(shares[i].Atom)
		}
		made = to.Leaf(shares)
	} else {
		var kids []diagram.ID
		for _, kid := range slices.Clone(from.Kids(id)) {
			kids = append(kids, t.take(kid))
		}
		made = to.Replace(t.decision(id), func(a diagram.Atom) diagram.ID { return kids[a] })
	}
	t.known[id] = made
	return made
}

// decision is a node's decision in the other order, with the numbers of its children as atoms.
func (t *taking) decision(id diagram.ID) diagram.ID {
	from, to := t.from.store, t.to.store
	v := from.Decides(id)
	count := len(from.Kids(id))
	switch {
	case v < vIn:
		last, kids := make([]diagram.Value, count), make([]diagram.ID, count)
		for i := range count {
			last[i], kids[i] = from.Last(id, i), to.One(diagram.Atom(i))
		}
		return to.Node(v, last, kids)
	case v > vIn:
		return to.Choose(t.to.nameOf(t.from, v, t.of), diagram.SetOf(diagram.Point(diagram.Number(1))), to.One(1), to.One(0))
	}
	last, kids := make([]diagram.Value, len(t.to.devices)+1), make([]diagram.ID, len(t.to.devices)+1)
	for i := range last {
		last[i], kids[i] = diagram.Number(uint64(i)), to.One(diagram.Atom(t.kidOf(id, t.numbers[i])))
	}
	return to.Node(vIn, last, kids)
}

// kidOf is the number of the child to which a node leads by a value.
func (t *taking) kidOf(id diagram.ID, value int) int {
	for i := range t.from.store.Kids(id) {
		if !t.from.store.Last(id, i).Less(diagram.Number(uint64(value))) {
			return i
		}
	}
	return 0
}
