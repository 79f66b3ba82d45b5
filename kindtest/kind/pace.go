package kind

import (
	"sync"
	"time"

	"github.com/chainwalk/chainwalk/scenarios"
)

// pace is how fast the machine is now: how long the slowest answer took of those that the sentinel gave last.
type pace struct {
	mu      sync.Mutex
	slowest time.Duration
}

// begin forgets the answers before.
func (p *pace) begin() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.slowest = 0
}

// note notes an answer.
func (p *pace) note(took time.Duration) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.slowest = max(p.slowest, took)
}

// How long a client waits until it takes silence for an answer: this many times as long as the slowest of the last answers took, within bounds.
const (
	slower                          = 20
	shortestSilence, longestSilence = 250 * time.Millisecond, time.Second
)

// silence is how long a client waits until it takes silence for an answer.
func (p *pace) silence() time.Duration {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.slowest == 0 {
		return longestSilence
	}
	return min(max(slower*p.slowest, shortestSilence), longestSilence)
}

// silence is how long a client waits until it takes silence for an answer. Where one is sure to come, as far as can be told, it waits as long as it
// takes at most: that costs nothing, and a machine that stumbles does not make a wrong answer of it.
func (s *Session) silence(sure bool) time.Duration {
	if sure {
		return longestSilence
	}
	return s.backend.sentinel.pace.silence()
}

// Foretold says whether something is sure to come back to the client of a connection, or to the sender of a later packet of one (Follow), until it is
// said otherwise. Without it silence is taken for an answer as soon as the machine allows.
func (s *Session) Foretold(a scenarios.Attempt, sure bool) { s.sure[a] = sure }

// FollowForetold is Foretold for the next packet of a kept connection.
func (s *Session) FollowForetold(sure bool) { s.sureToFollow = sure }
