package snapshot

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/chainwalk/chainwalk/fakeipt"
	"github.com/chainwalk/chainwalk/netfilter"
	"github.com/chainwalk/chainwalk/netfilter/nftables"
)

// HookChains are chains of one hook and one priority in the order in which packets meet them.
type HookChains struct {
	// Family is 4 or 6.
	Family netfilter.Family `json:"family"`
	// Hook is PREROUTING, INPUT, FORWARD, OUTPUT or POSTROUTING.
	Hook string `json:"hook"`
	// Chains are "FAMILY TABLE CHAIN" of nft, such as "inet fw forward", and "iptables-nft TABLE" or "iptables-legacy TABLE" for the built-in
	// chain of a table of iptables.
	Chains []string `json:"chains"`
}

// hookedOne is a chain at a hook as HookChains names it.
type hookedOne struct {
	name     string
	priority netfilter.Priority
	turn     uint64
	native   *nftables.Chain // nil of iptables
	table    *nftables.Table // of a native chain
	dialect  netfilter.Dialect
	of       string // the table of iptables
}

// hookedAt are the chains of a namespace at a hook, in the order in which packets meet them.
func hookedAt(n *netfilter.Namespace, family netfilter.Family, hook netfilter.Hook) []hookedOne {
	var all []hookedOne
	for _, k := range fakeipt.Kernels(n) {
		for _, base := range k.Ruleset(family).BaseChains() {
			if base.Hook == hook {
				all = append(all, hookedOne{name: "iptables-" + string(k.Dialect()) + " " + base.Table, priority: base.Priority, turn: base.Turn,
					dialect: k.Dialect(), of: base.Table})
			}
		}
	}
	if native := nftables.In(n); native != nil {
		rules := native.State().Ruleset(family)
		for _, t := range rules.Tables() {
			for _, c := range t.BaseChains() {
				if netfilter.Hook(c.Hooking.Hook) == hook && c.Turn != 0 {
					all = append(all, hookedOne{name: t.Family.String() + " " + t.Name + " " + c.Name, native: c, table: t, turn: c.Turn,
						priority: netfilter.Priority(c.Hooking.Priority)})
				}
			}
		}
	}
	slices.SortStableFunc(all, func(a, b hookedOne) int {
		return cmp.Or(cmp.Compare(a.priority, b.priority), cmp.Compare(b.turn, a.turn))
	})
	return all
}

// together are the chains of hookedAt of one priority each, where several have it and one of them is native.
func together(all []hookedOne) [][]hookedOne {
	var out [][]hookedOne
	for len(all) > 0 {
		n := 1
		for n < len(all) && all[n].priority == all[0].priority {
			n++
		}
		if n > 1 && slices.ContainsFunc(all[:n], func(one hookedOne) bool { return one.native != nil }) {
			out = append(out, all[:n])
		}
		all = all[n:]
	}
	return out
}

// namesOf are the names of chains, as HookChains has them.
func namesOf(chains []hookedOne) []string {
	var out []string
	for i := range chains {
		out = append(out, chains[i].name)
	}
	return out
}

// registerAgain gives chains of all hooks the order of lists: packets meet the first of each list first.
func registerAgain(n *netfilter.Namespace, lists []HookChains) error {
	behind, chains := map[string][]string{}, map[string]hookedOne{}
	for _, list := range lists {
		for h := range netfilter.Hook(netfilter.NumHooks) {
			if h.String() != list.Hook {
				continue
			}
			for _, one := range hookedAt(n, list.Family, h) {
				chains[keyOfChain(list, one.name)] = one
			}
		}
		for i, name := range list.Chains {
			key := keyOfChain(list, name)
			behind[key] = append(behind[key], "")
			if i > 0 {
				before := keyOfChain(list, list.Chains[i-1])
				behind[before] = append(behind[before], key)
			}
		}
	}
	order, err := lastFirst(behind)
	if err != nil {
		return err
	}
	for _, key := range order {
		one, there := chains[key]
		if !there {
			continue // the order is of more than the host has
		}
		if err := one.register(n, key); err != nil {
			return err
		}
	}
	return nil
}

// keyOfChain tells the built-in chains of one table of iptables apart by hook and family. A chain of inet is at the hooks of both families.
func keyOfChain(list HookChains, name string) string {
	if strings.HasPrefix(name, "iptables-") {
		return fmt.Sprintf("%s %d %s", name, list.Family, list.Hook)
	}
	return name
}

func (one *hookedOne) register(n *netfilter.Namespace, key string) error {
	if one.native != nil {
		return nftables.In(n).Register(one.table.Family, one.table.Name, one.native.Name)
	}
	words := strings.Fields(key)
	family := netfilter.IPv4
	if words[2] == "6" {
		family = netfilter.IPv6
	}
	for _, k := range fakeipt.Kernels(n) {
		if k.Dialect() == one.dialect {
			return k.Register(family, one.of, words[3])
		}
	}
	return nil
}

// lastFirst are the keys such that each comes after those that are behind it.
func lastFirst(behind map[string][]string) ([]string, error) {
	var out []string
	state := map[string]int{} // 1: under way, 2: done
	var visit func(string) error
	visit = func(key string) error {
		switch {
		case key == "" || state[key] == 2:
			return nil
		case state[key] == 1:
			return fmt.Errorf("hooks: %s comes before itself", key)
		}
		state[key] = 1
		for _, next := range behind[key] {
			if err := visit(next); err != nil {
				return err
			}
		}
		state[key] = 2
		out = append(out, key)
		return nil
	}
	keys := make([]string, 0, len(behind))
	for key := range behind {
		keys = append(keys, key)
	}
	slices.Sort(keys)
	for _, key := range keys {
		if err := visit(key); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// checkHookChains looks at the order of chains.
func (s *NodeSnapshot) checkHookChains() error {
	hooks := netfilter.HookNames()
	for i, list := range s.Hooks {
		path := fmt.Sprintf("hooks[%d]", i)
		if err := checkFamily(path, list.Family); err != nil {
			return err
		}
		if err := badWord(path+".hook", list.Hook, hooks[:]...); err != nil {
			return err
		}
		for k, name := range list.Chains {
			if words := strings.Fields(name); len(words) != 3 && !(len(words) == 2 && strings.HasPrefix(name, "iptables-")) {
				return bad(fmt.Sprintf("%s.chains[%d]", path, k), "%q is no chain: write FAMILY TABLE CHAIN, or iptables-nft TABLE", name)
			}
			if slices.Index(list.Chains, name) < k {
				return bad(fmt.Sprintf("%s.chains[%d]", path, k), "%q is given twice", name)
			}
		}
	}
	return nil
}
