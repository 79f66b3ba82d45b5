package netns

import (
	"fmt"
	"maps"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/chainwalk/chainwalk/internal/lazyregexp"
	"github.com/chainwalk/chainwalk/netfilter"
)

// recentDir is where the calling thread's namespace shows its recent lists.
const recentDir = "/proc/thread-self/net/xt_recent"

var recentLine = lazyregexp.New(`src=(\S+) `)

// recentLists reads the node's recent lists.
func (n *nodeHost) recentLists() (map[string][]netip.Addr, error) {
	lists := map[string][]netip.Addr{}
	err := n.ns.Do(func() error {
		entries, err := os.ReadDir(recentDir)
		if os.IsNotExist(err) {
			return nil
		}
		if err != nil {
			return err
		}
		for _, entry := range entries {
			text, err := os.ReadFile(filepath.Join(recentDir, entry.Name()))
			if err != nil {
				return err
			}
			for _, m := range recentLine().FindAllStringSubmatch(string(text), -1) {
				a, err := netip.ParseAddr(m[1])
				if err != nil {
					return fmt.Errorf("recent list %s: %w", entry.Name(), err)
				}
				lists[entry.Name()] = append(lists[entry.Name()], a)
			}
		}
		return nil
	})
	return lists, err
}

// removeRecent takes an address from a recent list.
func (n *nodeHost) removeRecent(list string, address netip.Addr) error {
	return n.ns.Do(func() error {
		return os.WriteFile(filepath.Join(recentDir, list), []byte("-"+address.StringExpanded()), 0o600)
	})
}

// usesRecent reports whether packets that were seen met a rule with a recent list.
func (w *watch) usesRecent() bool {
	return slices.ContainsFunc(w.seen, func(s sighting) bool {
		for range memories(s.step.Rule, netfilter.Recent) {
			return true
		}
		return false
	})
}

// keepRecent remembers what the packets that were seen did to recent lists.
func (n *nodeHost) keepRecent(now time.Time) error {
	if !n.watch.usesRecent() {
		return nil
	}
	for i := range n.watch.seen {
		s := &n.watch.seen[i]
		for m := range memories(s.step.Rule, netfilter.Recent) {
			if !m.Writes {
				continue
			}
			if n.memory.recent[m.Name] == nil {
				n.memory.recent[m.Name] = map[netip.Addr]time.Time{}
			}
			n.memory.recent[m.Name][s.Src] = now
		}
	}
	lists, err := n.recentLists()
	for list, known := range n.memory.recent {
		maps.DeleteFunc(known, func(a netip.Addr, _ time.Time) bool { return err == nil && !slices.Contains(lists[list], a) })
	}
	return err
}

// restoreRecent takes from the recent lists what is not kept. A kept entry that was
// used since is not older or younger for it: its age is known from keepRecent.
func (n *nodeHost) restoreRecent() error {
	if !n.watch.usesRecent() {
		return nil
	}
	lists, err := n.recentLists()
	if err != nil {
		return err
	}
	for list, entries := range lists {
		for _, a := range entries {
			if _, kept := n.memory.recent[list][a]; kept {
				continue
			}
			if err := n.removeRecent(list, a); err != nil {
				return err
			}
		}
	}
	return nil
}

// recentLimits is how old the entries of a list may be for the most patient rule that asks how old they are.
func (b *ruleBook) recentLimits() map[string]time.Duration {
	limits := map[string]time.Duration{}
	b.load()
	for _, chain := range b.chains {
		for i := range chain.rules {
			for m := range memories(&chain.rules[i], netfilter.Recent) {
				if m.Within > 0 {
					limits[m.Name] = max(limits[m.Name], m.Within)
				}
			}
		}
	}
	return limits
}

// ageRecent takes from the recent lists the entries that are too old for every rule
// that asks how old they are. The kernel's own times cannot be set.
func (n *nodeHost) ageRecent(now time.Time) error {
	limits := n.watch.rules.recentLimits()
	for list, entries := range n.memory.recent {
		limit, asked := limits[list]
		for address, set := range entries {
			if !asked || now.Sub(set) <= limit {
				continue
			}
			if err := n.removeRecent(list, address); err != nil {
				return err
			}
			delete(entries, address)
		}
	}
	return n.watch.rules.err
}
