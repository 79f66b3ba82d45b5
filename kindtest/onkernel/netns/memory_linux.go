package netns

import (
	"fmt"
	"net/netip"
	"strconv"
	"strings"
	"time"

	"github.com/chainwalk/chainwalk/internal/lazyregexp"
	"github.com/chainwalk/chainwalk/netfilter"
)

// memory is what is known of a node's kernel state: what belongs to connections that
// are kept, and what others have counted.
type memory struct {
	// connections are the tuples of kept connections' packets.
	connections map[string]bool
	// recent says when the kept entries of recent lists were last set, by list and address.
	recent map[string]map[netip.Addr]time.Time
	// sticks says when the kept elements of affinity sets of nftables end.
	sticks map[stuck]time.Time
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
		sticks: map[stuck]time.Time{}, counted: map[countedRule]int{}, accounted: map[string]int{},
	}
}

// takeBackState removes from the nodes what the packets since the last forget did.
func (s *session) takeBackState() error {
	for _, n := range s.nodes {
		for _, p := range n.passages() {
			if err := n.deleteConnection(p.first); err != nil {
				return err
			}
		}
		if err := n.restoreRecent(); err != nil {
			return err
		}
		if err := n.restoreSets(); err != nil {
			return err
		}
		n.memory.discount(n.watch.seen, n.exec.dialect)
	}
	return s.bookError()
}

// keepState remembers what the packets since the last forget did.
func (s *session) keepState() error {
	for _, n := range s.nodes {
		for _, p := range n.passages() {
			n.memory.connections[tupleText(p.first)] = true
		}
		if err := n.keepRecent(s.clock.Now()); err != nil {
			return err
		}
		n.keepSets(s.clock.Now())
	}
	return nil
}

// discount notes what packets have counted that do not count; of rules, those of the node's own tools, which alone are saved.
func (m *memory) discount(seen []sighting, own netfilter.Dialect) {
	for i := range seen {
		s := &seen[i]
		if s.point != "" || s.step.Rule == nil {
			continue
		}
		if s.step.Dialect == "" || s.step.Dialect == own {
			m.counted[countedRule{s.Src.Is6(), s.step.Table, s.step.Text()}]++
		}
		for object := range memories(s.step.Rule, netfilter.Accounting) {
			m.accounted[object.Name]++
		}
	}
}

var savedCounters = lazyregexp.New(`^\[(\d+):(\d+)\] (-A .*)$`)

// discountRules takes what does not count from the counters that iptables-save printed.
func (m *memory) discountRules(v6 bool, save string) string {
	var out strings.Builder
	for table, line := range savedLines(save) {
		if c := savedCounters().FindStringSubmatch(line); c != nil {
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
	n.forgetSets()
	if len(n.memory.counted) == 0 {
		return nil
	}
	recount := func(v6 bool, save string) error {
		n.memory.recount(v6, save)
		return nil
	}
	return n.eachSave(n.exec.dialect, recount, "-c")
}

func (m *memory) recount(v6 bool, save string) {
	have := map[countedRule]int{}
	for table, line := range savedLines(save) {
		if c := savedCounters().FindStringSubmatch(line); c != nil {
			have[countedRule{v6, table, c[3]}], _ = strconv.Atoi(c[1])
		}
	}
	for rule, less := range m.counted {
		if rule.v6 == v6 && have[rule] < less {
			delete(m.counted, rule)
		}
	}
}
