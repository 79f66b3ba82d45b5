// Package explained judges what a change of kube-proxy's mode or configuration does to all packets of a node: what fares alike, what
// differs as a clause of the specification says, and what nobody says. The clauses are predicates on packets: to whom, from whom, and what
// both modes do with them.
package explained

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"net/netip"
	"slices"
	"strings"

	"github.com/chainwalk/chainwalk/forall"
	"github.com/chainwalk/chainwalk/netfilter"
	"github.com/chainwalk/chainwalk/packetsim"
	"github.com/chainwalk/chainwalk/scenarios/explain/provenance"
	"github.com/chainwalk/chainwalk/scenarios/format/manifest"
	"github.com/chainwalk/chainwalk/scenarios/spec/oracle"
	"github.com/chainwalk/chainwalk/scenarios/users/allpackets"
)

// Node is a node before and after a change.
type Node struct {
	Name string
	// Sides are the node before and after, and Modes the modes of its kube-proxy; empty: none that is known.
	Sides [2]allpackets.Side
	Modes [2]oracle.Mode
	// FirstOnly says that mode nftables serves node ports at the first addresses of the Node alone, since nobody has said where.
	FirstOnly bool
	// Ranges are those of the ServiceCIDRs, and Objects those of the cluster.
	Ranges  []netip.Prefix
	Objects []manifest.Object
	// Bare is the node without rules of a kube-proxy, Promised with those that the kube-proxy before writes for the objects, and Alone with
	// no rules but those of the kube-proxy in mode nftables. They are asked for if they are needed.
	Bare, Promised, Alone func() (*packetsim.Host, error)
	// Back is the node after the way back; nil: that is not asked.
	Back *packetsim.Host
}

// Classes are the classes of packets that are compared.
func Classes() []forall.Class {
	return []forall.Class{forall.New, forall.Established, forall.Replying, forall.Related, forall.Invalid, forall.Untracked}
}

// Answer is what becomes of all packets of a node.
type Answer struct {
	Node string `json:"node"`
	// Answer is all of it in one line.
	Answer string `json:"answer"`
	// Kinds counts the kinds of packets that are treated differently. A kind is two distributions of fates, but for what is translated to.
	Kinds int `json:"kinds"`
	// Covered are the clauses by which kinds are treated differently, and Findings the kinds that no clause covers.
	Covered  []Covered `json:"covered"`
	Findings []Finding `json:"findings"`
	// WrongBefore counts kinds that are treated differently, and before not as the objects say.
	WrongBefore int `json:"wrongBefore,omitempty"`
	// Unknown are kinds of which it cannot be said whether they are treated differently, and LeftOut packets that were not compared, with the
	// reasons.
	Unknown []string `json:"unknown,omitempty"`
	LeftOut []string `json:"leftOut,omitempty"`
	// Skipped says why the packets of the node were not compared at all; empty: they were.
	Skipped string `json:"skipped,omitempty"`
}

// NotCompared is the answer for a node whose packets were not compared.
func NotCompared(node, why string) *Answer {
	return &Answer{
		Node: node, Answer: "not compared, only one of each class: " + why, Covered: []Covered{}, Findings: []Finding{}, Skipped: why,
	}
}

// Covered are the kinds that differ by a clause.
type Covered struct {
	Clause  string  `json:"clause"`
	Kinds   int     `json:"kinds"`
	Example Finding `json:"example"`
}

// Finding is a kind of packets, with a likely one.
type Finding struct {
	// Share says how much of all packets of the class and family it is, and Packets a range of them.
	Share   string `json:"share"`
	Packets string `json:"packets"`
	Packet  string `json:"packet"`
	Ends    string `json:"ends,omitempty"`
	Before  string `json:"before"`
	After   string `json:"after"`
	// DecidedBefore and DecidedAfter are the rules that decide about the packet, by walks of it; none for a class that cannot be walked.
	DecidedBefore []string `json:"decidedBefore,omitempty"`
	DecidedAfter  []string `json:"decidedAfter,omitempty"`
}

// Open says that it cannot be said of some packets what becomes of them.
func (a *Answer) Open() bool { return len(a.Unknown) > 0 }

// Judge judges all packets of a node. What becomes of them after the way back is put beside what became of them before, too, and all kinds
// that differ are findings there: no clause counts; nil if it is not asked.
func Judge(n *Node) (after, back *Answer, err error) {
	there := newJudge(n, clausesOf(n))
	var again *judge
	if n.Back != nil {
		own := *n
		own.Sides[1].Host = n.Back
		again = newJudge(&own, &clauses{nftables: -1})
		again.back = true
	}
	for _, family := range []netfilter.Family{netfilter.IPv4, netfilter.IPv6} {
		for _, class := range Classes() {
			c := comparison{judge: there, family: family, class: class}
			if err := c.compare(); err != nil {
				return nil, nil, err
			}
			if again == nil {
				continue
			}
			c = comparison{judge: again, family: family, class: class, fates: [2]*forall.Fates{c.fates[0]}}
			if err := c.compare(); err != nil {
				return nil, nil, err
			}
		}
	}
	there.conclude()
	if again == nil {
		return there.out, nil, nil
	}
	again.conclude()
	return there.out, again.out, nil
}

func newJudge(n *Node, c *clauses) *judge {
	return &judge{
		n: n, out: &Answer{Node: n.Name, Covered: []Covered{}, Findings: []Finding{}}, kinds: map[string]*kind{},
		leftOut: map[string]bool{}, unknown: map[string]bool{}, clauses: c,
	}
}

// judge is an Answer in the making.
type judge struct {
	n *Node
	// back says that the second side is the node after the way back.
	back             bool
	out              *Answer
	clauses          *clauses
	kinds            map[string]*kind
	leftOut, unknown map[string]bool
}

// verdict is what is said of packets that are treated differently: the clause that says so, or that they were not as promised before. If
// it is neither, they are a finding.
type verdict struct {
	clause      string
	wrongBefore bool
}

// kind is packets that are treated differently in one way, for one reason.
type kind struct {
	verdict verdict
	found   forall.Difference
	cost    int // how unlikely the packet is
}

// comparison compares the packets of a family and a class.
type comparison struct {
	*judge
	family netfilter.Family
	class  forall.Class
	fates  [2]*forall.Fates
}

// compare compares them. What mode nftables does is known to be as without a kube-proxy, or not, only once that is worked out too, and
// whether the rules before were those that the objects ask for only if that matters.
func (c *comparison) compare() error {
	for i := range c.n.Sides {
		if c.fates[i] == nil { // that before may be worked out
			var ok bool
			if c.fates[i], ok = c.of(c.n.Sides[i].Host); !ok {
				return nil
			}
		}
		for _, why := range c.fates[i].Unmodelled() {
			c.notModelled(forall.Fate{Unmodelled: why})
		}
	}
	if c.fates[0].Equal(c.fates[1]) {
		return nil
	}
	var others []func() (*packetsim.Host, error)
	if !c.back {
		others = append(others, c.n.Bare)
	}
	kinds, err := c.told(others...)
	if err != nil {
		return err
	}
	for _, k := range kinds {
		if !c.back && (k.verdict == verdict{}) {
			if kinds, err = c.told(c.n.Bare, c.n.Promised, c.n.Alone); err != nil {
				return err
			}
			break
		}
	}
	maps.Copy(c.kinds, kinds)
	return nil
}

// of is what becomes of the packets on a host. False: that cannot be said, and is noted.
func (c *comparison) of(h *packetsim.Host) (*forall.Fates, bool) {
	fates, err := forall.Of(h, forall.Options{Families: []netfilter.Family{c.family}, Classes: []forall.Class{c.class}, Against: c.fates[0]})
	if err != nil {
		c.unknown[fmt.Sprintf("%s packets of IPv%d: %s", c.class, c.family, err)] = true
	}
	return fates, err == nil
}

// told is the kinds of packets that are treated differently, by what else the node could be.
func (c *comparison) told(others ...func() (*packetsim.Host, error)) (map[string]*kind, error) {
	o := forall.Comparison{Family: c.family, Class: c.class, Numbered: c.clauses.numbered, Known: func(condition string) (holds, known bool) {
		return false, provenance.AsksMemory(condition)
	}}
	for _, other := range others {
		host, err := other()
		if err != nil {
			return nil, err
		}
		fates, ok := c.of(host)
		if !ok {
			return nil, nil
		}
		o.Others = append(o.Others, fates)
	}
	least := 0
	if c.class != forall.New {
		least = unwalked
	}
	kinds := map[string]*kind{}
	for found := range c.fates[0].Apart(c.fates[1], &o) {
		if c.isUnknown(&found) {
			continue
		}
		d := c.clauses.differing(&found)
		v := c.clauses.judge(d)
		key := fmt.Sprint(c.family, c.class, v, found.Here.Kind(), " | ", found.There.Kind())
		k := kinds[key]
		if k == nil {
			k = &kind{verdict: v, cost: math.MaxInt}
			kinds[key] = k
		}
		k.add(&found, least)
	}
	return kinds, nil
}

// add adds packets to a kind. They cannot be likelier than the cost least.
func (k *kind) add(found *forall.Apart, least int) {
	share := k.found.Share + found.Space.Share
	if k.cost > least {
		if packet, cost := found.Witness(); least+cost < k.cost {
			k.cost = least + cost
			k.found = forall.Difference{Space: found.Space, Here: found.Here, There: found.There, Witness: packet}
		}
	}
	k.found.Share = share
}

// unwalked is how much less likely an example is than a first packet, if it is of a class that cannot be walked.
const unwalked = 1000

// isUnknown notes packets of which it is not known whether they are treated differently.
func (c *comparison) isUnknown(found *forall.Apart) bool {
	unknown := false
	for _, share := range slices.Concat(found.Here, found.There) {
		unknown = unknown || share.Fate.Unmodelled != ""
		c.notModelled(share.Fate)
	}
	for _, n := range found.Space.Names {
		if n.Holds {
			c.unknown["packets that may be treated differently if ["+n.String()+"]"] = true
			unknown = true
		}
	}
	return unknown
}

// notModelled notes why fates are not known.
func (c *comparison) notModelled(f forall.Fate) {
	switch {
	case f.Unmodelled == "":
	case f.IsAside():
		c.leftOut[f.Unmodelled] = true
	default:
		c.unknown[f.Unmodelled] = true
	}
}

// conclude tells the kinds, and puts the answer into words.
func (j *judge) conclude() {
	out := j.out
	covered := map[string]*Covered{}
	least := map[string]int{}
	keys := slices.Sorted(maps.Keys(j.kinds))
	if j.back { // the likeliest packet comes first
		slices.SortStableFunc(keys, func(a, b string) int { return cmp.Compare(j.kinds[a].cost, j.kinds[b].cost) })
	}
	for _, key := range keys {
		k := j.kinds[key]
		out.Kinds++
		told, err := allpackets.Tell(j.n.Sides, &k.found, 0)
		if err != nil {
			j.unknown[err.Error()] = true
			continue
		}
		one := findingOf(&told)
		switch name := k.verdict.clause; {
		case k.verdict.wrongBefore:
			out.WrongBefore++
		case name == "":
			out.Findings = append(out.Findings, one)
		case covered[name] == nil:
			covered[name] = &Covered{Clause: name, Kinds: 1, Example: one}
			least[name] = k.cost
		default:
			if covered[name].Kinds++; k.cost < least[name] {
				covered[name].Example, least[name] = one, k.cost
			}
		}
	}
	for _, name := range slices.Sorted(maps.Keys(covered)) {
		out.Covered = append(out.Covered, *covered[name])
	}
	out.Unknown, out.LeftOut = slices.Sorted(maps.Keys(j.unknown)), slices.Sorted(maps.Keys(j.leftOut))
	out.Answer = j.words()
}

// words is the answer in a line.
func (j *judge) words() string {
	out := j.out
	covered := 0
	for i := range out.Covered {
		covered += out.Covered[i].Kinds
	}
	var parts []string
	for _, part := range []struct {
		n    int
		text string
	}{{len(out.Findings), "%d as no clause says"}, {out.WrongBefore, "%d that were not as the objects say before"}} {
		if part.n > 0 {
			parts = append(parts, fmt.Sprintf(part.text, part.n))
		}
	}
	text := "all packets are treated alike"
	switch {
	case j.back && out.Kinds > 0:
		text = kindsOf(out.Kinds) + " of packets are treated differently"
	case covered > 0 && len(parts) == 0:
		text = kindsOf(out.Kinds) + " of packets are treated differently, all as the specification says"
	case covered > 0:
		text = fmt.Sprintf("%s of packets are treated differently: %d as the specification says, %s", kindsOf(out.Kinds), covered,
			strings.Join(parts, ", "))
	case len(parts) > 0:
		text = fmt.Sprintf("%s of packets are treated differently: %s", kindsOf(out.Kinds), strings.Join(parts, ", "))
	}
	if len(out.Unknown) > 0 {
		text = fmt.Sprintf("of %s it cannot be said; of the others, %s", kindsOf(len(out.Unknown)), text)
	}
	return text
}

func kindsOf(n int) string {
	if n == 1 {
		return "1 kind"
	}
	return fmt.Sprintf("%d kinds", n)
}

func findingOf(d *allpackets.Difference) Finding {
	return Finding{
		Share:   fmt.Sprintf("%s of all %s packets of IPv%d", allpackets.ShareText(d.Share), d.Class, d.Family),
		Packets: d.Packets, Packet: d.Packet, Ends: d.Ends, Before: d.Before.String(), After: d.After.String(),
		DecidedBefore: d.DecidedBefore, DecidedAfter: d.DecidedAfter,
	}
}
