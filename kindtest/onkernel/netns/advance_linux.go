package netns

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// Advance makes everything older that has an age: the proxiers' clock, conntrack
// entries, the entries of recent lists, and the elements of affinity sets.
func (s *session) Advance(_ context.Context, d time.Duration) error {
	s.passing.Lock() // nodes that sync at the same time let time pass, too
	defer s.passing.Unlock()
	s.clock.Step(d)
	for _, n := range s.nodes {
		if err := n.age(d); err != nil {
			return err
		}
		if err := n.ageRecent(s.clock.Now()); err != nil {
			return fmt.Errorf("%s: recent lists: %w", n.Name, err)
		}
		if err := n.ageSets(s.clock.Now()); err != nil {
			return err
		}
	}
	return nil
}

// sleep is Advance within a sync, which says what went wrong.
func (s *session) sleep(d time.Duration) {
	if err := s.Advance(context.Background(), d); err != nil {
		s.passing.Lock()
		defer s.passing.Unlock()
		s.slept = errors.Join(s.slept, err)
	}
}
