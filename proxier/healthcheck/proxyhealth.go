package healthcheck

import (
	"sync"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/utils/clock"
)

// ProxyHealth is what /healthz and /livez answer.
type ProxyHealth struct {
	// LastUpdated is when a family last finished an update. In answers it is
	// the current time while all is well, since those who ask take an old time
	// for a sign of trouble, and a proxier without changes has no updates.
	LastUpdated time.Time `json:"lastUpdated"`
	CurrentTime time.Time `json:"currentTime"`
	// NodeEligible says whether the node may get traffic. Only /healthz tells.
	NodeEligible *bool `json:"nodeEligible,omitempty"`
	// Healthy is whether all families are healthy.
	Healthy bool `json:"healthy"`
	// Status has the families that an update was queued or finished for.
	Status map[v1.IPFamily]familyHealth `json:"status,omitempty"`
}

// familyHealth is the health of the proxier of one family.
type familyHealth struct {
	// LastUpdated is the zero time before the first update.
	LastUpdated time.Time `json:"lastUpdated"`
	Healthy     bool      `json:"healthy"`
}

// updates follows the updates of each family. A family is unhealthy while an
// update of its has been queued for the timeout or longer.
type updates struct {
	clock   clock.PassiveClock
	timeout time.Duration

	lock     sync.Mutex
	families map[v1.IPFamily]*familyUpdates
}

type familyUpdates struct {
	finished time.Time
	// queued is the zero time if none is queued. It is the time of the oldest.
	queued time.Time
}

func newUpdates(clock clock.PassiveClock, timeout time.Duration) *updates {
	return &updates{clock: clock, timeout: timeout, families: map[v1.IPFamily]*familyUpdates{}}
}

// of must be called with the lock held.
func (u *updates) of(family v1.IPFamily) *familyUpdates {
	if u.families[family] == nil {
		u.families[family] = &familyUpdates{}
	}
	return u.families[family]
}

func (u *updates) queue(family v1.IPFamily) {
	u.lock.Lock()
	defer u.lock.Unlock()
	if f := u.of(family); f.queued.IsZero() {
		f.queued = u.clock.Now()
	}
}

func (u *updates) finish(family v1.IPFamily) {
	u.lock.Lock()
	defer u.lock.Unlock()
	*u.of(family) = familyUpdates{finished: u.clock.Now()}
}

func (u *updates) health() ProxyHealth {
	u.lock.Lock()
	defer u.lock.Unlock()
	now := u.clock.Now()
	health := ProxyHealth{CurrentTime: now, Healthy: true, Status: map[v1.IPFamily]familyHealth{}}
	for family, f := range u.families {
		healthy := f.queued.IsZero() || now.Sub(f.queued) < u.timeout
		health.Status[family] = familyHealth{LastUpdated: f.finished, Healthy: healthy}
		health.Healthy = health.Healthy && healthy
		if f.finished.After(health.LastUpdated) {
			health.LastUpdated = f.finished
		}
	}
	return health
}
