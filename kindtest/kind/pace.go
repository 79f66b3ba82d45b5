package kind

import (
	"sync"
	"time"
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

// silence is how long a client waits until it takes silence for an answer.
func (s *Session) silence() time.Duration { return s.backend.sentinel.pace.silence() }
