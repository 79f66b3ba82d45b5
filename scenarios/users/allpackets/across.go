package allpackets

import (
	"fmt"
	"slices"
	"strings"

	"github.com/chainwalk/chainwalk/forall"
	"github.com/chainwalk/chainwalk/netfilter"
	"github.com/chainwalk/chainwalk/packetsim/inet"
	"github.com/chainwalk/chainwalk/scenarios/format/manifest"
)

// Nodes is how the nodes of a cluster compare, for all packets that can be compared.
type Nodes struct {
	Version int    `json:"version"`
	Answer  string `json:"answer"`
	// Groups are nodes that treat all compared packets alike, those like most first.
	Groups [][]string `json:"groups"`
	// Compared are which packets of how many nodes, and LeftOut is what was not compared, or may differ.
	Compared []string `json:"compared"`
	LeftOut  []string `json:"leftOut"`
	Odd      []Oddity `json:"odd"`
	// Unknown are kinds of packets whose fate is not known on a node, since it is not modelled.
	Unknown []string `json:"unknown,omitempty"`
	// Unread is what was not read of a node.
	Unread []string `json:"unread,omitempty"`

	// All has WriteText write every kind of packets, and not one of those about which the same rules decide.
	All bool `json:"-"`
}

// Oddity is one kind of packets that nodes treat otherwise than most do.
type Oddity struct {
	// Kind has the packets of the first of the odd nodes; its share is that of the packets that are compared.
	Kind
	// From says which of a node's packets they are.
	From string `json:"from"`
	// Nodes are the odd ones, and Most is a node like most, with the packet there.
	Nodes       []string            `json:"nodes"`
	Most        string              `json:"beside"`
	PacketThere string              `json:"packetThere"`
	Here        forall.Distribution `json:"here"`
	There       forall.Distribution `json:"there"`
	// DecidedHere and DecidedThere are the last rules that the packets meet, by walks of them.
	DecidedHere  []string `json:"decidedHere,omitempty"`
	DecidedThere []string `json:"decidedThere,omitempty"`

	sides     [2]*Side
	witnesses [2]*inet.Input // nil if they cannot be walked
}

// Across compares the nodes of a cluster: for each, what becomes of packets from outside, of its pods and of its own, to its own address
// and to all others. What differs by node on purpose is left out: devices, the addresses of nodes, and of the objects the services whose
// traffic stays on a node or in a zone.
func Across(nodes []Side, objects []manifest.Object, o forall.Options) (*Nodes, error) {
	a := &across{nodes: nodes, options: o, objects: objects, out: &Nodes{Version: 1, Odd: []Oddity{}}, odd: map[int]string{}}
	for i := range nodes {
		for _, text := range nodes[i].Unread {
			a.out.Unread = append(a.out.Unread, nodes[i].Name+": "+text)
		}
	}
	for _, family := range FamiliesOf(nodes) {
		if err := a.compare(family); err != nil {
			return nil, err
		}
	}
	a.conclude()
	return a.out, nil
}

// across is a comparison of nodes in the making.
type across struct {
	nodes   []Side
	options forall.Options
	objects []manifest.Object
	out     *Nodes
	// odd has in what a node differs from most, by its place: the numbers of what it is alike to, for each family and sight.
	odd map[int]string
	// noMost says that no way of treating packets is that of more nodes than every other one.
	noMost bool
}

// seen is what a node does with the packets of a sight: the fates as they can be compared, and the view that they are seen by.
type seen struct {
	fates *forall.Fates
	view  forall.View
}

// compare compares the nodes for a family.
func (a *across) compare(family netfilter.Family) error {
	o := a.options
	o.Families, o.Classes = []netfilter.Family{family}, nil
	c := newCluster(a.nodes, a.objects, family)
	var fates []*forall.Fates
	for i := range a.nodes {
		all, err := forall.Of(a.nodes[i].Host, o)
		if err != nil {
			return fmt.Errorf("%s: %w", a.nodes[i].Name, err)
		}
		fates = append(fates, all)
	}
	for _, s := range sights {
		if err := a.look(c, s, fates); err != nil {
			return err
		}
	}
	a.leaveOut(c.leftOut())
	return nil
}

// look compares the packets of a sight.
func (a *across) look(c *cluster, s *sight, fates []*forall.Fates) error {
	var found [][]*seen
	var lacking []string
	for i := range a.nodes {
		of := c.seen(s, i, fates[i])
		if found = append(found, of); len(of) == 0 {
			lacking = append(lacking, a.nodes[i].Name)
		}
	}
	views, count := chosen(found), len(a.nodes)-len(lacking)
	if count > 0 {
		a.compared(fmt.Sprintf("%s (IPv%d)", s.from, c.family))
	}
	if len(lacking) > 0 {
		a.leaveOut([]string{fmt.Sprintf("packets %s of %s, which has %s (IPv%d)", s.from, strings.Join(lacking, ", "), s.lacks, c.family)})
	}
	classes := alike(views)
	if len(classes) < 2 {
		return nil
	}
	a.noMost = a.noMost || len(classes[0]) == len(classes[1])
	for number, class := range classes[1:] {
		var names []string
		for _, i := range class {
			names = append(names, a.nodes[i].Name)
			a.odd[i] += fmt.Sprintf(" %d %s %d", c.family, s.from, number)
		}
		if err := a.differ(s, names, [2]int{class[0], classes[0][0]}, fates, views); err != nil {
			return err
		}
	}
	return nil
}

// chosen is one of what is seen of each node, nil for none: of several that which is alike to most other nodes'.
func chosen(found [][]*seen) []*seen {
	out := make([]*seen, len(found))
	for i, of := range found {
		if len(of) == 1 {
			out[i] = of[0]
		}
	}
	for i, of := range found {
		if len(of) > 1 {
			out[i] = slices.MaxFunc(of, func(x, y *seen) int { return x.likeMany(out) - y.likeMany(out) })
		}
	}
	return out
}

// likeMany is how many others are alike.
func (s *seen) likeMany(others []*seen) (n int) {
	for _, other := range others {
		if other != nil && other.fates.Equal(s.fates) {
			n++
		}
	}
	return n
}

// alike groups places of what is seen alike, the largest group first; a place with nothing is in none.
func alike(views []*seen) (classes [][]int) {
	for i, view := range views {
		if view == nil {
			continue
		}
		at := slices.IndexFunc(classes, func(c []int) bool { return views[c[0]].fates.Equal(view.fates) })
		if at < 0 {
			at, classes = len(classes), append(classes, nil)
		}
		classes[at] = append(classes[at], i)
	}
	slices.SortStableFunc(classes, func(x, y []int) int { return len(y) - len(x) })
	return classes
}

// differ adds the kinds of packets that the first of two nodes treats otherwise than the second.
func (a *across) differ(s *sight, names []string, pair [2]int, fates []*forall.Fates, views []*seen) error {
	for found := range views[pair[0]].fates.Diff(views[pair[1]].fates) {
		var packets [2]inet.Input
		for k, i := range pair {
			packets[k] = views[i].own(found.Witness)
		}
		space := views[pair[0]].space(found.Space)
		if !found.Here.Known() || !found.There.Known() {
			a.out.Unknown = append(a.out.Unknown, fmt.Sprintf("%s: %s: %s; on %s: %s", names[0], space.String(), found.Here,
				a.nodes[pair[1]].Name, found.There))
			continue
		}
		one := Oddity{
			Kind: kindOf(&space, found.Share, &packets[0], a.nodes[pair[0]].Names), From: s.from, Nodes: names,
			Most: a.nodes[pair[1]].Name, PacketThere: packets[1].String(),
		}
		var err error
		if one.Here, one.DecidedHere, err = a.fatesOf(pair[0], fates, &found.Space, packets[0]); err != nil {
			return err
		}
		if one.There, one.DecidedThere, err = a.fatesOf(pair[1], fates, &found.Space, packets[1]); err != nil {
			return err
		}
		if one.sides = [2]*Side{&a.nodes[pair[0]], &a.nodes[pair[1]]}; found.Space.Walkable() {
			one.witnesses = [2]*inet.Input{&packets[0], &packets[1]}
		}
		a.out.Odd = append(a.out.Odd, one)
	}
	return nil
}

// fatesOf is what becomes of a packet on a node, and what decides there.
func (a *across) fatesOf(i int, fates []*forall.Fates, space *forall.Space, in inet.Input) (forall.Distribution, []string, error) {
	var holding []string
	for _, n := range space.Names {
		if n.Holds {
			holding = append(holding, n.Name)
		}
	}
	fate, err := fates[i].At(in, holding...)
	if err == nil && space.Walkable() {
		err = confirm(a.nodes[i].Host, space.Class, in, fate, a.options.Ignore)
	}
	if err != nil {
		return nil, nil, fmt.Errorf("%s: %w", a.nodes[i].Name, err)
	}
	if !space.Walkable() {
		return fate, nil, nil
	}
	return fate, decided(a.nodes[i].Host, space.Class, in), nil
}

// own is a packet of what is seen as the node has it.
func (s *seen) own(in inet.Input) inet.Input {
	in.In, in.Local = s.view.In, s.view.In == ""
	if s.view.Src.IsValid() {
		in.Src = s.view.Src
	}
	if s.view.Dst.IsValid() {
		in.Dst = s.view.Dst
	}
	return in
}

// space is a box of what is seen as the node has it.
func (s *seen) space(of forall.Space) forall.Space {
	of.In = []string{s.view.In}
	if s.view.Src.IsValid() {
		of.Src = forall.Addrs{First: s.view.Src, Last: s.view.Src}
	}
	if s.view.Dst.IsValid() {
		of.Dst = forall.Addrs{First: s.view.Dst, Last: s.view.Dst}
	}
	return of
}

// compared notes what was compared, of both families at once.
func (a *across) compared(what string) { a.out.Compared = joinFamilies(a.out.Compared, what) }

// leaveOut notes what was left out.
func (a *across) leaveOut(what []string) {
	for _, text := range what {
		a.out.LeftOut = joinFamilies(a.out.LeftOut, text)
	}
}

// joinFamilies adds a text to others, to that of the other family if it says the same.
func joinFamilies(texts []string, text string) []string {
	bare := strings.TrimSuffix(text, " (IPv6)")
	if at := slices.Index(texts, bare+" (IPv4)"); at >= 0 && bare != text {
		texts[at] = bare
		return texts
	}
	if slices.Contains(texts, text) {
		return texts
	}
	return append(texts, text)
}

// conclude groups the nodes, and puts the answer into words.
func (a *across) conclude() {
	var keys, odd []string
	by := map[string][]string{}
	for i := range a.nodes {
		key := a.odd[i]
		if by[key] == nil {
			keys = append(keys, key)
		}
		if by[key] = append(by[key], a.nodes[i].Name); key != "" {
			odd = append(odd, a.nodes[i].Name)
		}
	}
	slices.SortStableFunc(keys, func(x, y string) int { return len(x) - len(y) }) // the key of those like most is empty
	for _, key := range keys {
		a.out.Groups = append(a.out.Groups, by[key])
	}
	out, n := a.out, len(a.nodes)
	switch {
	case len(out.Compared) == 0:
		out.Answer = "cannot say: nothing could be compared"
	case len(odd) == 0 && len(out.Unread)+len(out.Unknown) > 0:
		out.Answer = fmt.Sprintf("cannot say: not all of the nodes is known; by the rest, %d nodes treat all compared packets alike", n)
	case len(odd) == 0:
		out.Answer = fmt.Sprintf("%d nodes treat all compared packets alike", n)
	case a.noMost:
		out.Answer = fmt.Sprintf("%d nodes differ, and there is no way that most of them have", n)
	case len(odd) == 1:
		out.Answer = fmt.Sprintf("1 of %d nodes is odd: %s", n, odd[0])
	default:
		out.Answer = fmt.Sprintf("%d of %d nodes are odd: %s", len(odd), n, strings.Join(odd, ", "))
	}
}

// State says whether all nodes are alike; open: that cannot be said.
func (n *Nodes) State() (alike, open bool) {
	return len(n.Groups) < 2, len(n.Groups) < 2 && (len(n.Unread)+len(n.Unknown) > 0 || len(n.Compared) == 0)
}
