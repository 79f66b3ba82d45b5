package snapshot

import (
	"fmt"
	"slices"
	"strings"

	"github.com/chainwalk/chainwalk/fakeipt"
	"github.com/chainwalk/chainwalk/netfilter"
)

// families are those that iptables has rules of.
var families = [...]netfilter.Family{netfilter.IPv4, netfilter.IPv6}

// netfilter builds the rulesets, after the objects that they name.
func (s *Node) netfilter(options HostOptions) (*fakeipt.Kernel, error) {
	taken, err := s.dialects(options)
	if err != nil {
		return nil, err
	}
	kernel, err := s.kernelWithSets(fakeipt.Options{Dialect: taken[0], Clock: options.Clock}, taken)
	if err != nil {
		return nil, err
	}
	for i := range s.NFAcct {
		if err := kernel.NFAcct().AddObject(s.NFAcct[i].object()); err != nil {
			return nil, fmt.Errorf("nfacct object %s: %w", s.NFAcct[i].Name, err)
		}
	}
	kernels := []*fakeipt.Kernel{kernel}
	if len(taken) > 1 {
		kernels = append(kernels, fakeipt.New(fakeipt.Options{Dialect: taken[1], Clock: options.Clock, Beside: kernel}))
	}
	for _, k := range kernels {
		if err := s.loadRules(k); err != nil {
			return nil, err
		}
	}
	if len(taken) > 1 {
		s.register(kernel, options.First)
	}
	return kernel, nil
}

func (s *Node) loadRules(kernel *fakeipt.Kernel) error {
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

// kernelWithSets is a kernel without rules. A set that it cannot hold stands in the way only of rules that name one.
func (s *Node) kernelWithSets(o fakeipt.Options, taken []netfilter.Dialect) (*fakeipt.Kernel, error) {
	kernel := fakeipt.New(o)
	err := kernel.LoadSets("ipsets", strings.NewReader(s.IPSets))
	if err == nil {
		return kernel, nil
	}
	for i := range s.IPTables {
		if r := &s.IPTables[i]; slices.Contains(taken, r.Dialect) &&
			(strings.Contains(r.Save, " -m set ") || strings.Contains(r.Save, " -j SET ")) {
			return nil, err
		}
	}
	return fakeipt.New(o), nil
}

// dialects are those whose rules the host gets, that of Host.Netfilter first.
func (s *Node) dialects(options HostOptions) ([]netfilter.Dialect, error) {
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

// Dialects are those whose rules a Host gets that is built without a choice: both where both hold rules.
func (s *Node) Dialects() []netfilter.Dialect {
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
func (s *Node) sharesTable(family netfilter.Family) bool {
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

// hookNames are the hooks of iptables, by the kernel's numbers.
var hookNames = [...]string{"PREROUTING", "INPUT", "FORWARD", "OUTPUT", "POSTROUTING"}

// bothHave are the places where a kernel and the one beside it have a chain.
func bothHave(kernel *fakeipt.Kernel) []place {
	var both []place
	for _, family := range families {
		for _, table := range kernel.Ruleset(family).Tables() {
			other := kernel.Beside().Ruleset(family).Table(table.Name())
			if other == nil {
				continue
			}
			for _, hook := range hookNames {
				if table.Registered(hook) != 0 && other.Registered(hook) != 0 {
					both = append(both, place{family, hook, table.Name()})
				}
			}
		}
	}
	return both
}

// register gives the chains of both backends the order that the node has, or else the one that is asked for.
func (s *Node) register(kernel *fakeipt.Kernel, first netfilter.Dialect) {
	if first == "" {
		first = netfilter.NFT
	}
	known := s.knownOrder()
	for _, at := range bothHave(kernel) {
		k, want := kernel, first
		if is, ok := known[at]; ok {
			want = is
		}
		if k.Dialect() != want {
			k = k.Beside()
		}
		_ = k.Register(at.family, at.table, at.hook) // it is there
	}
}

func (s *Node) knownOrder() map[place]netfilter.Dialect {
	known := map[place]netfilter.Dialect{}
	for _, o := range s.Order {
		known[place{o.Family, o.Hook, o.Table}] = o.First
	}
	return known
}

// addNetfilter adds the rules of both families as iptables-save prints them, without the dates,
// and the objects that they name.
func (s *Node) addNetfilter(kernel *fakeipt.Kernel) error {
	if kernel == nil {
		return nil
	}
	for _, k := range []*fakeipt.Kernel{kernel, kernel.Beside()} {
		if k == nil {
			continue
		}
		if err := s.addRules(k); err != nil {
			return err
		}
	}
	if kernel.Beside() != nil {
		s.addOrder(kernel)
	}
	for _, object := range kernel.NFAcct().List() {
		s.NFAcct = append(s.NFAcct, NFAcct{Name: object.Name, Packets: object.Packets, Bytes: object.Bytes,
			Mode: object.Mode, Quota: object.Quota, Over: object.Over})
	}
	var sets strings.Builder
	err := kernel.SaveSets(&sets)
	s.IPSets = sets.String()
	return err
}

func (s *Node) addRules(kernel *fakeipt.Kernel) error {
	for _, family := range families {
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
func (s *Node) addOrder(kernel *fakeipt.Kernel) {
	for _, at := range bothHave(kernel) {
		first := kernel
		turn := func(k *fakeipt.Kernel) uint64 { return k.Ruleset(at.family).Table(at.table).Registered(at.hook) }
		if turn(kernel.Beside()) > turn(kernel) {
			first = kernel.Beside()
		}
		s.Order = append(s.Order, HookOrder{Family: at.family, Hook: at.hook, Table: at.table, First: first.Dialect()})
	}
}
