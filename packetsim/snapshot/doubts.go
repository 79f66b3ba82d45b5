package snapshot

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/chainwalk/chainwalk/fakeipt"
	"github.com/chainwalk/chainwalk/fakeipt/ruleset"
	"github.com/chainwalk/chainwalk/netfilter"
	"github.com/chainwalk/chainwalk/packetsim"
	"github.com/chainwalk/chainwalk/packetsim/inet"
)

// Doubts are what the walk of a packet through a Host of the snapshot took for granted, and that this packet met: native nftables, rules
// with extensions that are not known, the order of both backends, and what was not read. Where the other answer can be walked, it is, and a
// doubt is only what ends the packet otherwise. The outcomes come from the walk; what the packet did not meet is not in them.
//
// The host is unchanged afterwards. Where nothing is unknown that the packet meets nothing is walked.
func (s *NodeSnapshot) Doubts(host *packetsim.Host, in inet.Input, outcomes []packetsim.Outcome) []packetsim.Doubt {
	return s.Doubter(host).Doubts(in, outcomes)
}

// Doubter finds the doubts about packets through one Host of a snapshot, and keeps what takes long to make. It is for one goroutine.
type Doubter struct {
	node *NodeSnapshot
	host *packetsim.Host
	// turned is the host with the rules of the other backend first, made once it is asked for; nil as well if it cannot be made.
	turned *packetsim.Host
	tried  bool
	// reversedHost is the same with the chains of one priority in the other order, native ones among them.
	reversedHost  *packetsim.Host
	triedReversed bool
}

// Doubter finds the doubts about packets through a Host of the snapshot.
func (s *NodeSnapshot) Doubter(host *packetsim.Host) *Doubter { return &Doubter{node: s, host: host} }

// Doubts are NodeSnapshot.Doubts.
func (of *Doubter) Doubts(in inet.Input, outcomes []packetsim.Outcome) []packetsim.Doubt {
	d := newDoubter(of.node, of.host, in, outcomes)
	d.about = of
	d.extensions()
	d.nativeTables()
	d.order()
	d.chainOrder()
	d.settings()
	d.unread()
	return d.found
}

// MayDoubt says whether there is anything in the snapshot that is a doubt about some packet. Rules with extensions that are not known are
// not looked for.
func (s *NodeSnapshot) MayDoubt() bool {
	read := slices.ContainsFunc(s.NFTables, func(t NFTable) bool { return t.Rules != "" })
	if len(s.unknownSettings()) > 0 || len(s.Dialects()) > 1 || read && len(s.Hooks) == 0 {
		return true
	}
	passes := func(c *NFChain) bool { return len(c.May) == 1 && c.May[0] == EffectPass }
	for i := range s.NFTables {
		t := &s.NFTables[i]
		for j := range t.Chains {
			if c := &t.Chains[j]; !t.walks(c) && !passes(c) {
				return true
			}
		}
	}
	kinds := unreadKinds()
	return slices.ContainsFunc(s.Unread, func(u Unread) bool {
		return slices.ContainsFunc(kinds, func(k unreadKind) bool { return k.unless != "" && strings.HasPrefix(u.What, k.what) })
	})
}

// doubter collects the doubts about one packet. What it asks of the host again and again is kept in about.
type doubter struct {
	*NodeSnapshot
	about    *Doubter
	host     *packetsim.Host
	in       inet.Input
	ways     []packetsim.Outcome
	outcomes []packetsim.Outcome // the ways, and those of the answers to the packet
	passed   packetsim.Hooks
	found    []packetsim.Doubt
}

func newDoubter(s *NodeSnapshot, host *packetsim.Host, in inet.Input, outcomes []packetsim.Outcome) *doubter {
	return &doubter{NodeSnapshot: s, host: host, in: in, ways: outcomes, outcomes: withReplies(outcomes), passed: passedBy(outcomes)}
}

// withReplies are outcomes and those of the packets that the host made, and of the replies that passed it.
func withReplies(outcomes []packetsim.Outcome) []packetsim.Outcome {
	all := slices.Clone(outcomes)
	for i := range outcomes {
		for j := range outcomes[i].Replies {
			all = append(all, withReplies([]packetsim.Outcome{outcomes[i].Replies[j].Outcome})...)
		}
		if back := outcomes[i].Back; back != nil && back.Outcome != nil {
			all = append(all, withReplies([]packetsim.Outcome{*back.Outcome})...)
		}
	}
	return all
}

// passedBy are the hooks that packets came to, answers included.
func passedBy(outcomes []packetsim.Outcome) packetsim.Hooks {
	var passed packetsim.Hooks
	for _, o := range withReplies(outcomes) {
		passed |= o.Passed
	}
	return passed
}

// of says whether the packet, or one that carries it, is of the family.
func (d *doubter) of(family netfilter.Family) bool {
	if inet.FamilyOf(d.in.Dst) == family {
		return true
	}
	hooks := netfilter.HookNames()
	return slices.ContainsFunc(hooks[:], func(hook string) bool { return d.passed.Has(family, hook) })
}

func (d *doubter) doubt(kind packetsim.DoubtKind, see, unless string, args ...any) {
	one := packetsim.Doubt{Kind: kind, Unless: fmt.Sprintf(unless, args...), See: see}
	if !slices.Contains(d.found, one) {
		d.found = append(d.found, one)
	}
}

// extensions are the rules that are not known and that the packet met, where it matters what they do.
func (d *doubter) extensions() {
	ends := map[string][]packetsim.Outcome{} // by the answers that the rules were taken to give
	matters := false
	var met []*packetsim.RuleLook
	for i := range d.ways {
		var answers strings.Builder
		for _, o := range withReplies(d.ways[i : i+1]) {
			matters = matters || o.Verdict == packetsim.Unknown
			for _, e := range o.Events {
				if e.Kind == packetsim.EventOpaque {
					met = append(met, e.Rule)
					fmt.Fprintln(&answers, e.Rule, e.Rule.Answer)
				}
			}
		}
		ends[answers.String()] = append(ends[answers.String()], d.ways[i])
	}
	cases := slices.Collect(maps.Values(ends))
	for _, one := range cases {
		matters = matters || !slices.EqualFunc(cases[0], one, sameEnd)
	}
	if !matters {
		return
	}
	for _, rule := range met {
		d.doubt(packetsim.DoubtExtension, "", "%s decides otherwise, whose %s is not known", rule, rule.Extension)
	}
}

// order is what becomes of the packet if the other backend's chains go first, where their order is not known.
func (d *doubter) order() {
	unknown := d.unknownOrder(d.host, d.outcomes)
	if len(unknown) == 0 {
		return
	}
	other := netfilter.Legacy
	if d.assumedFirst() == other {
		other = netfilter.NFT
	}
	turned := d.about.other(other)
	if turned != nil && d.endsOtherwise(turned, packetsim.WalkOptions{}) {
		d.doubt(packetsim.DoubtOrder, "nft list hooks", "packets meet the rules of iptables-%s first in %s", other, strings.Join(unknown, ", "))
	}
}

// other is the host with the rules of a backend first; nil if it cannot be made, though the one that was walked is made of the same.
func (of *Doubter) other(first netfilter.Dialect) *packetsim.Host {
	if !of.tried {
		of.tried = true
		of.turned, _ = NewHost(of.node, HostOptions{First: first})
	}
	return of.turned
}

// assumedFirst is the backend whose chains packets meet first in the host where the snapshot does not say.
func (d *doubter) assumedFirst() netfilter.Dialect {
	kernels, known := fakeipt.Kernels(d.host.Netfilter()), d.knownOrder()
	for _, at := range bothHave(kernels) {
		turn := func(k *fakeipt.Kernel) uint64 { return k.Ruleset(at.family).Table(at.table).Registered(at.hook) }
		if known[at] != "" {
			continue
		}
		if turn(kernels[1]) > turn(kernels[0]) {
			return kernels[1].Dialect()
		}
		return kernels[0].Dialect()
	}
	return ""
}

// unknownOrder are the hooks and tables that the packet came to, where both backends have chains that are not empty in an order that is
// not known.
func (s *NodeSnapshot) unknownOrder(host *packetsim.Host, outcomes []packetsim.Outcome) []string {
	kernels := fakeipt.Kernels(host.Netfilter())
	var unknown []string
	passed, known := passedBy(outcomes), s.knownOrder()
	decides := func(k *fakeipt.Kernel, at place) bool {
		chain := k.Ruleset(at.family).Table(at.table).Chain(at.hook)
		return len(chain.Rules) > 0 || chain.Policy == ruleset.PolicyDrop
	}
	for _, at := range bothHave(kernels) {
		if known[at] == "" && passed.Has(at.family, at.hook) && decides(kernels[0], at) && decides(kernels[1], at) {
			unknown = append(unknown, at.table+" "+at.hook)
		}
	}
	return unknown
}

// settings walks again with each setting that was not taken turned the other way.
func (d *doubter) settings() {
	for _, one := range d.unknownSettings() {
		if one.family != 0 && !d.of(one.family) {
			continue
		}
		if d.endsOtherwise(d.host, packetsim.WalkOptions{Sysctls: one.values}) {
			d.doubt(packetsim.DoubtUnread, "sysctl -a > sysctl", "%s", one.says)
		}
	}
}

// endsOtherwise says whether the packet ends otherwise in a walk than in one through the host as it is now. What cannot be walked ends in
// no way.
func (d *doubter) endsOtherwise(host *packetsim.Host, o packetsim.WalkOptions) bool {
	back := slices.ContainsFunc(d.ways, func(o packetsim.Outcome) bool { return o.Back != nil })
	now, err := d.host.WalkWith(d.in, packetsim.WalkOptions{Guess: true, Back: back})
	if err != nil {
		return false
	}
	o.Guess, o.Back = true, back
	then, err := host.WalkWith(d.in, o)
	return err == nil && !slices.EqualFunc(now, then, sameEnd)
}

// sameEnd says whether packets end in the same way, whatever rules they met.
func sameEnd(a, b packetsim.Outcome) bool {
	return a.Probability == b.Probability && a.Summary() == b.Summary() && a.Final == b.Final && a.DNAT == b.DNAT &&
		a.Masqueraded == b.Masqueraded && isHeard(&a) == isHeard(&b)
}

// isHeard says whether the reply to the packet was walked and leaves the host as its sender awaits it.
func isHeard(o *packetsim.Outcome) bool { return o.Back != nil && o.Back.Heard }
