package scenarios

import (
	"context"
)

// Player makes the steps of a scenario in a session one by one, for a judge who is not the
// scenario itself: it does what they say, and leaves it to the judge to sync and to look.
type Player struct{ r runner }

// NewPlayer returns a player for a session, and the cluster that the session was started with. Steps change the cluster.
func NewPlayer(c *Cluster, s Session) *Player {
	p := &Player{runner{cluster: c, session: s, play: play{mode: c.Mode(), dialect: c.Dialect}, result: &Result{}}}
	p.r.objects.put(c.Objects)
	return p
}

// Act makes a step, but for its sync. Of a step that only looks at something it makes nothing.
func (p *Player) Act(ctx context.Context, s *Step) error {
	a := s.action()
	if a.does.nothing() {
		return nil
	}
	return a.act(&p.r, ctx, s)
}

// Syncs are the nodes that sync after a step.
func (p *Player) Syncs(s *Step) []string { return s.syncs(p.r.cluster) }
