package netns

import (
	"fmt"
	"maps"
	"net/netip"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/chainwalk/chainwalk/fakeipt"
	"github.com/chainwalk/chainwalk/scenarios"
	"github.com/chainwalk/chainwalk/scenarios/tools"
)

// memory is what is known of a node's kernel state: what belongs to connections that
// are kept, and what others have counted.
type memory struct {
	// connections are the tuples of kept connections' packets.
	connections map[string]bool
	// recent says when the kept entries of recent lists were last set, by list and address.
	recent map[string]map[netip.Addr]time.Time
	// counted are the packets of connections that were taken back, by rule, and
	// accounted by accounting object.
	counted   map[countedRule]int
	accounted map[string]int
}

type countedRule struct {
	v6          bool
	table, rule string
}

func newMemory() memory {
	return memory{
		connections: map[string]bool{}, recent: map[string]map[netip.Addr]time.Time{},
		counted: map[countedRule]int{}, accounted: map[string]int{},
	}
}

// discount notes what packets have counted that do not count.
func (m *memory) discount(seen []sighting) {
	for i := range seen {
		s := &seen[i]
		if s.point != "" || s.step.Rule == nil {
			continue
		}
		m.counted[countedRule{s.Src.Is6(), s.step.Table, s.step.Text}]++
		for object := range matches[*fakeipt.MatchNFAcct](s.step.Rule) {
			m.accounted[object.Object]++
		}
	}
}

var savedCounters = regexp.MustCompile(`^\[(\d+):(\d+)\] (-A .*)$`)

// discountRules takes what does not count from the counters that iptables-save printed.
func (m *memory) discountRules(v6 bool, save string) string {
	var out strings.Builder
	table := ""
	for line := range strings.Lines(save) {
		line = strings.TrimRight(line, "\n")
		if strings.HasPrefix(line, "*") {
			table = line[1:]
		}
		if c := savedCounters.FindStringSubmatch(line); c != nil {
			packets, _ := strconv.Atoi(c[1])
			less := m.counted[countedRule{v6, table, c[3]}]
			line = fmt.Sprintf("[%d:%s] %s", max(packets-less, 0), c[2], c[3])
		}
		out.WriteString(line + "\n")
	}
	return out.String()
}

// rulesChanged forgets what was read of a node's rules, and what rules have counted
// that were written anew: they count from 0.
func (n *nodeHost) rulesChanged() error {
	n.watch.rules.forget()
	if len(n.memory.counted) == 0 {
		return nil
	}
	for _, family := range []scenarios.IPFamily{scenarios.FamilyIPv4, scenarios.FamilyIPv6} {
		text, err := tools.Run(n.exec, "", tools.Name(family, "-save"), "-c")
		if err != nil {
			return err
		}
		n.memory.recount(family == scenarios.FamilyIPv6, text)
	}
	return nil
}

func (m *memory) recount(v6 bool, save string) {
	have := map[countedRule]int{}
	table := ""
	for line := range strings.Lines(save) {
		line = strings.TrimRight(line, "\n")
		if strings.HasPrefix(line, "*") {
			table = line[1:]
		}
		if c := savedCounters.FindStringSubmatch(line); c != nil {
			have[countedRule{v6, table, c[3]}], _ = strconv.Atoi(c[1])
		}
	}
	for rule, less := range m.counted {
		if rule.v6 == v6 && have[rule] < less {
			delete(m.counted, rule)
		}
	}
}

// recentDir is where the calling thread's namespace shows its recent lists.
const recentDir = "/proc/thread-self/net/xt_recent"

var recentLine = regexp.MustCompile(`src=(\S+) `)

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
			for _, m := range recentLine.FindAllStringSubmatch(string(text), -1) {
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
		for range matches[*fakeipt.MatchRecent](s.step.Rule) {
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
		for m := range matches[*fakeipt.MatchRecent](s.step.Rule) {
			if m.Mode != fakeipt.RecentSet && m.Mode != fakeipt.RecentUpdate {
				continue
			}
			if n.memory.recent[m.List] == nil {
				n.memory.recent[m.List] = map[netip.Addr]time.Time{}
			}
			n.memory.recent[m.List][s.Src] = now
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
