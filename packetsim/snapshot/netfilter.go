package snapshot

import (
	"fmt"
	"slices"
	"strings"

	"k8s.io/utils/clock"

	"github.com/chainwalk/chainwalk/fakeipt"
	"github.com/chainwalk/chainwalk/netfilter"
)

// netfilter builds the rulesets, after the objects that they name.
func (s *NodeSnapshot) netfilter(options HostOptions) (*netfilter.Namespace, error) {
	taken, err := s.dialects(options)
	if err != nil {
		return nil, err
	}
	namespace, err := s.namespaceWithSets(options.clock, taken)
	if err != nil {
		return nil, err
	}
	for i := range s.NFAcct {
		if err := namespace.Accounts().AddObject(s.NFAcct[i].object()); err != nil {
			return nil, fmt.Errorf("nfacct object %s: %w", s.NFAcct[i].Name, err)
		}
	}
	for _, dialect := range taken[1:] {
		fakeipt.New(fakeipt.Options{Dialect: dialect, Namespace: namespace})
	}
	kernels := fakeipt.Kernels(namespace)
	for _, k := range kernels {
		if err := s.loadRules(k); err != nil {
			return nil, err
		}
	}
	s.register(kernels, options.First)
	if err := s.loadNative(namespace, options.Forget); err != nil {
		return nil, err
	}
	return namespace, registerAgain(namespace, s.Hooks)
}

func (s *NodeSnapshot) loadRules(kernel *fakeipt.Kernel) error {
	for i := range s.IPTables {
		r := &s.IPTables[i]
		if r.Dialect != kernel.Dialect() {
			continue
		}
		name := fmt.Sprintf("iptables[%d].save", i)
		if err := kernel.Load(r.Family, name, strings.NewReader(r.Save)); err != nil {
			return fmt.Errorf("IPv%d rules of the %s backend: %w", r.Family, r.Dialect, err)
		}
	}
	return nil
}

// namespaceWithSets has the tools of the first dialect and no rules. A set that it cannot hold stands in the way only of rules that
// name one.
func (s *NodeSnapshot) namespaceWithSets(c clock.PassiveClock, taken []netfilter.Dialect) (*netfilter.Namespace, error) {
	made := func() *fakeipt.Kernel { return fakeipt.New(fakeipt.Options{Dialect: taken[0], Clock: c}) }
	kernel := made()
	err := kernel.LoadSets("ipsets", strings.NewReader(s.IPSets))
	if err == nil {
		return kernel.Namespace(), nil
	}
	for i := range s.IPTables {
		if r := &s.IPTables[i]; slices.Contains(taken, r.Dialect) &&
			(strings.Contains(r.Save, " -m set ") || strings.Contains(r.Save, " -j SET ")) {
			return nil, err
		}
	}
	return made().Namespace(), nil
}

// dialects are the variants whose rules the host gets, that of Host.Netfilter first.
func (s *NodeSnapshot) dialects(options HostOptions) ([]netfilter.Dialect, error) {
	legacy, nft := netfilter.Legacy, netfilter.NFT
	for _, word := range [...]struct {
		name string
		got  netfilter.Dialect
	}{
		{"backend", options.Dialect}, {"netfilter", options.Netfilter}, {"first", options.First},
	} {
		if err := badWord(word.name, word.got, "", legacy, nft); err != nil {
			return nil, err
		}
	}
	has, holds := map[netfilter.Dialect]bool{}, map[netfilter.Dialect]bool{}
	for i := range s.IPTables {
		r := &s.IPTables[i]
		has[r.Dialect] = true
		holds[r.Dialect] = holds[r.Dialect] || r.holdsRules()
	}
	if one := options.Dialect; one != "" && len(has) > 0 && !has[one] {
		return nil, bad("backend", "the snapshot has no rules of %s: leave the choice out, or take the other backend", one)
	}
	switch {
	case options.Dialect != "":
		return []netfilter.Dialect{options.Dialect}, nil
	case holds[legacy] && holds[nft]:
		if options.Netfilter == nft {
			return []netfilter.Dialect{nft, legacy}, nil
		}
		return []netfilter.Dialect{legacy, nft}, nil
	case holds[nft] || !holds[legacy] && has[nft]:
		return []netfilter.Dialect{nft}, nil
	}
	return []netfilter.Dialect{legacy}, nil
}

// Dialects are the variants whose rules a Host gets that is built without a choice: both where both hold rules.
func (s *NodeSnapshot) Dialects() []netfilter.Dialect {
	taken, err := s.dialects(HostOptions{})
	if err != nil {
		return nil // there is no choice that could be wrong
	}
	return slices.Sorted(slices.Values(taken))
}

// nftTableUnread is how the name in Unread begins of a table that NFTables has too.
const nftTableUnread = "nftables table "

// orderUnread is what Unread calls the order of both backends.
const orderUnread = "order of the iptables backends"

// sharesTable says whether both backends have one table of a family.
func (s *NodeSnapshot) sharesTable(family netfilter.Family) bool {
	seen := map[string]netfilter.Dialect{}
	for i := range s.IPTables {
		r := &s.IPTables[i]
		if r.Family != family {
			continue
		}
		for line := range strings.Lines(r.Save) {
			if !strings.HasPrefix(line, "*") {
				continue
			}
			if before, is := seen[line]; is && before != r.Dialect {
				return true
			}
			seen[line] = r.Dialect
		}
	}
	return false
}

// holdsRules says whether the ruleset does anything to a packet.
func (r *Rules) holdsRules() bool {
	for line := range strings.Lines(r.Save) {
		words := strings.Fields(line)
		if len(words) > 1 && strings.HasPrefix(words[0], "[") {
			words = words[1:] // the counters
		}
		if len(words) > 1 && (words[0] == "-A" || strings.HasPrefix(words[0], ":") && words[1] == "DROP") {
			return true
		}
	}
	return false
}

// place is where both backends may have a chain.
type place struct {
	family      netfilter.Family
	hook, table string
}

// bothHave are the places where the kernels of both dialects have a chain; there are none where one has no kernel.
func bothHave(kernels []*fakeipt.Kernel) []place {
	if len(kernels) < 2 {
		return nil
	}
	var both []place
	for _, family := range netfilter.Families() {
		for _, table := range kernels[0].Ruleset(family).Tables() {
			other := kernels[1].Ruleset(family).Table(table.Name())
			if other == nil {
				continue
			}
			for h := range netfilter.Hook(netfilter.NumHooks) {
				if table.Registered(h.String()) != 0 && other.Registered(h.String()) != 0 {
					both = append(both, place{family, h.String(), table.Name()})
				}
			}
		}
	}
	return both
}

// register gives the chains of both backends the order that the node has, or else the one that is asked for.
func (s *NodeSnapshot) register(kernels []*fakeipt.Kernel, first netfilter.Dialect) {
	if first == "" {
		first = netfilter.NFT
	}
	known := s.knownOrder()
	for _, at := range bothHave(kernels) {
		k, want := kernels[0], first
		if is, ok := known[at]; ok {
			want = is
		}
		if k.Dialect() != want {
			k = kernels[1]
		}
		_ = k.Register(at.family, at.table, at.hook) // it is there
	}
}

func (s *NodeSnapshot) knownOrder() map[place]netfilter.Dialect {
	known := map[place]netfilter.Dialect{}
	for _, o := range s.Order {
		known[place{o.Family, o.Hook, o.Table}] = o.First
	}
	return known
}

// addNetfilter adds the rules of both families as iptables-save prints them, without the dates,
// and the objects that they name.
func (s *NodeSnapshot) addNetfilter(namespace *netfilter.Namespace) error {
	if namespace == nil {
		return nil
	}
	kernels := fakeipt.Kernels(namespace)
	for _, k := range kernels {
		if err := s.addRules(k); err != nil {
			return err
		}
	}
	s.addOrder(kernels)
	if err := s.addNative(namespace); err != nil {
		return err
	}
	for _, object := range namespace.Accounts().List() {
		s.NFAcct = append(s.NFAcct, NFAcct{Name: object.Name, Packets: object.Packets, Bytes: object.Bytes,
			Mode: object.Mode, Quota: object.Quota, Over: object.Over})
	}
	var sets strings.Builder
	err := namespace.Sets().Save(&sets)
	s.IPSets = sets.String()
	return err
}

func (s *NodeSnapshot) addRules(kernel *fakeipt.Kernel) error {
	for _, family := range netfilter.Families() {
		save, err := savedRules(kernel, family)
		if err != nil {
			return err
		}
		if save != "" {
			s.IPTables = append(s.IPTables, Rules{Dialect: kernel.Dialect(), Family: family, Save: save})
		}
	}
	return nil
}

// addOrder adds which backend's chains go first.
func (s *NodeSnapshot) addOrder(kernels []*fakeipt.Kernel) {
	for _, at := range bothHave(kernels) {
		first := kernels[0]
		turn := func(k *fakeipt.Kernel) uint64 { return k.Ruleset(at.family).Table(at.table).Registered(at.hook) }
		if turn(kernels[1]) > turn(first) {
			first = kernels[1]
		}
		s.Order = append(s.Order, HookOrder{Family: at.family, Hook: at.hook, Table: at.table, First: first.Dialect()})
	}
}
