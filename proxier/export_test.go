package proxier

// NeedsSync says whether Sync would have a reason: it was never called, the
// last one failed, or something has changed since.
func (p *Proxier) NeedsSync() bool {
	return p.state.needsSync() || p.services.Pending() > 0 || p.endpoints.Pending() > 0
}

// NeedsSync says whether one of the families needs a sync.
func (d *DualStack) NeedsSync() bool {
	return d.IPv4.NeedsSync() || d.IPv6.NeedsSync()
}

func (s *state) needsSync() bool {
	s.lock.Lock()
	defer s.lock.Unlock()
	return s.stale
}
