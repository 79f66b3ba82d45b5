package proxier

import (
	"net/netip"
	"slices"
	"sync"
)

// state holds what events say about when and where to sync.
type state struct {
	lock            sync.Mutex
	servicesSynced  bool
	endpointsSynced bool
	// stale is true until a sync begins after the last reason to write
	// everything: start, failure, topology, flush.
	stale bool
	zone  string
	// serviceCIDRs are the ranges of this family that cluster IPs come from.
	serviceCIDRs []netip.Prefix
}

func newState() state {
	return state{stale: true}
}

func (s *state) delivered() bool {
	s.lock.Lock()
	defer s.lock.Unlock()
	return s.servicesSynced && s.endpointsSynced
}

func (s *state) markServicesSynced() {
	s.lock.Lock()
	defer s.lock.Unlock()
	s.servicesSynced = true
}

func (s *state) markEndpointsSynced() {
	s.lock.Lock()
	defer s.lock.Unlock()
	s.endpointsSynced = true
}

// beginSync returns the zone to sync for, and whether everything must be
// written. A change after it needs another sync.
func (s *state) beginSync() (zone string, full bool) {
	s.lock.Lock()
	defer s.lock.Unlock()
	full, s.stale = s.stale, false
	return s.zone, full
}

func (s *state) dirty() {
	s.lock.Lock()
	defer s.lock.Unlock()
	s.stale = true
}

// setZone reports whether the zone is another one now.
func (s *state) setZone(zone string) (changed bool) {
	s.lock.Lock()
	defer s.lock.Unlock()
	if s.zone == zone {
		return false
	}
	s.zone = zone
	s.stale = true
	return true
}

// ranges returns those that cluster IPs come from. Nobody may modify them.
func (s *state) ranges() []netip.Prefix {
	s.lock.Lock()
	defer s.lock.Unlock()
	return s.serviceCIDRs
}

// setRanges reports whether cluster IPs come from other ranges now.
func (s *state) setRanges(cidrs []netip.Prefix) (changed bool) {
	s.lock.Lock()
	defer s.lock.Unlock()
	changed = !slices.Equal(s.serviceCIDRs, cidrs)
	s.serviceCIDRs = cidrs
	return changed
}
