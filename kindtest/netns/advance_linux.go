package netns

import (
	"context"
	"fmt"
	"time"
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
