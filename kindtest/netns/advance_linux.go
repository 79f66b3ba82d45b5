package netns

import (
	"context"
	"fmt"
	"time"

	"github.com/chainwalk/chainwalk/fakeipt"
)

// Advance makes everything older that has an age: the proxiers' clock, conntrack
// entries, and the entries of recent lists.
func (s *session) Advance(_ context.Context, d time.Duration) error {
	s.clock.Step(d)
	for _, n := range s.nodes {
		if err := n.age(d); err != nil {
			return err
		}
		if err := n.ageRecent(s.clock.Now()); err != nil {
			return fmt.Errorf("%s: recent lists: %w", n.Name, err)
		}
	}
	return nil
}

// ageRecent takes from the recent lists the entries that are too old for every rule
// that asks how old they are. The kernel's own times cannot be set.
func (n *nodeHost) ageRecent(now time.Time) error {
	oldest := map[string]time.Duration{}
	n.watch.rules.load()
	for _, chain := range n.watch.rules.chains {
		for i := range chain.rules {
			for m := range matches[*fakeipt.MatchRecent](chain.rules[i].Rule) {
				if m.Seconds > 0 {
					oldest[m.List] = max(oldest[m.List], time.Duration(m.Seconds)*time.Second)
				}
			}
		}
	}
	for list, entries := range n.memory.recent {
		limit, asked := oldest[list]
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
