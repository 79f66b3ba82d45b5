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

// Outlook is what is foretold of whether anything comes back to who sends a packet.
type Outlook uint8

// The outlooks.
const (
	Unforetold Outlook = iota
	AnswerForetold
	SilenceForetold
	// ChanceForetold: whether something comes back is a matter of chance.
	ChanceForetold
)

// Silence is taken for an answer after this many times as long as the slowest of the last answers took, within bounds. Where an answer is
// foretold it would be a wrong one: that is waited for as long as no machine is too slow for, since a fast one need not wait. Where
// silence is foretold, no machine is slow enough to make a wrong answer of it. Where it is one of several ways, both matter.
const (
	slower           = 20
	shortestSilence  = 250 * time.Millisecond
	foretoldSilence  = time.Second
	longestSilence   = 5 * time.Second
	patientForAnswer = 20 * time.Second
)

// silence is how long a client waits until it takes silence for an answer.
func (p *pace) silence(o Outlook) time.Duration {
	shortest, longest := shortestSilence, longestSilence
	switch o {
	case AnswerForetold:
		return patientForAnswer
	case SilenceForetold:
		longest = foretoldSilence
	case ChanceForetold:
		shortest, longest = foretoldSilence, patientForAnswer
	case Unforetold:
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.slowest == 0 {
		return longest
	}
	return min(max(slower*p.slowest, shortest), longest)
}

// shortestWay is how long a packet may be under way from one sighting to the next on a machine that is not slow.
const shortestWay = 50 * time.Millisecond

// underWay is how long a packet may be under way from one sighting to the next.
func (p *pace) underWay() time.Duration {
	p.mu.Lock()
	defer p.mu.Unlock()
	return min(max(shortestWay, 2*p.slowest), longestSilence)
}

// silence is how long to wait for what nobody has foretold.
func (s *stage) silence(o Outlook) time.Duration { return s.backend.sentinel.pace.silence(o) }

// outlooks are what was foretold of connections.
type outlooks struct {
	first map[scenarios.Attempt]Outlook // of the first packet of each
	next  Outlook                       // of the next packet of a kept one
}

// Foretold says whether something comes back to the client of a connection, until it is said otherwise.
func (l *outlooks) Foretold(a scenarios.Attempt, o Outlook) { l.first[tried(a)] = o }

// outlook is what was said of a connection, whether it is kept or not.
func (l *outlooks) outlook(a scenarios.Attempt) Outlook { return l.first[tried(a)] }

func tried(a scenarios.Attempt) scenarios.Attempt {
	a.Keep = ""
	return a
}

// FollowForetold is Foretold for the next packet of a kept connection.
func (l *outlooks) FollowForetold(o Outlook) { l.next = o }
