package packetsim

import (
	"maps"
	"math/bits"
	"net/netip"
	"slices"
	"time"

	"github.com/chainwalk/chainwalk/fakeipt/match"
	"github.com/chainwalk/chainwalk/fakeipt/xtables"
	"github.com/chainwalk/chainwalk/packetsim/inet"
)

// The kernel's defaults of the module xt_recent: addresses in a list, and the least number of times kept of each.
const (
	recentAddresses = 100
	recentTimes     = 32
)

// recentList is a list of -m recent. Both families share it. A change makes another list, which has the entries that stay in common
// with the one before.
type recentList struct {
	mask    netip.Addr // of the rule that made the list
	times   int        // how many are kept of an address
	entries map[recentKey]*recentEntry
	order   []recentKey // the least recently touched first
}

// recentLists are the lists by their names.
type recentLists struct {
	remembered[string, *recentList]
	masks recentMasks
}

type recentKey struct{ addr netip.Addr }

// recentEntry is what a list knows of an address: a ring of the times that it was seen.
type recentEntry struct {
	times []time.Time
	next  int
	ttl   uint8
}

// RecentLists says how many addresses each list of the recent match holds.
func (h *Host) RecentLists() map[string]int {
	h.lock.Lock()
	defer h.lock.Unlock()
	addresses := map[string]int{}
	for name, list := range h.memory.recent.all() {
		addresses[name] = len(list.entries)
	}
	return addresses
}

// Remember puts an address into a list of the recent match, as if a packet of a hop limit of 64 had made a rule do it just now. The list
// is made if no packet has made it.
func (h *Host) Remember(list string, client netip.Addr) {
	h.lock.Lock()
	defer h.lock.Unlock()
	m := &match.Recent{List: list, Mask: allOnes(client)}
	l := h.memory.recent.list(m)
	l = h.memory.recent.change(m, &l)
	key, now := recentKey{applyMask(client, l.mask)}, h.clock.Now()
	if l.entries[key] != nil {
		l.touch(key, now, inet.DefaultTTL)
		return
	}
	l.add(key, now, inet.DefaultTTL)
}

// matchRecent is -m recent (recent_mt in net/netfilter/xt_recent.c).
func (mt *matcher) matchRecent(s *skb, m *match.Recent) bool {
	list := mt.memory.recent.list(m)
	addr, ttl := s.Src, s.HopLimit()
	if m.Side == match.RecentDest {
		addr = s.Dst
	}
	if s.out != nil && (!s.local || s.Socket != nil && s.Socket.None) {
		ttl++ // as it was before forwarding: the kernel takes every packet without a socket for a forwarded one
	}
	key := recentKey{applyMask(addr, list.mask)}
	entry := list.entries[key]
	if entry != nil && m.TTL && entry.ttl != ttl && entry.ttl != 0 && ttl != 0 { // 0 is as any other (recent_entry_lookup)
		entry = nil
	}
	if entry == nil {
		if m.Mode != match.RecentSet {
			return m.Invert
		}
		mt.memory.recent.change(m, &list).add(key, mt.memory.clock.Now(), ttl)
		return !m.Invert
	}
	return mt.recentSeen(m, list, key, ttl)
}

// recentSeen evaluates the match for an address that is in the list.
func (mt *matcher) recentSeen(m *match.Recent, list *recentList, key recentKey, ttl uint8) bool {
	now := mt.memory.clock.Now()
	holds := m.Invert
	switch m.Mode {
	case match.RecentSet:
		holds = !holds
	case match.RecentRemove:
		mt.memory.recent.change(m, &list).remove(key)
		return !holds
	default:
		if list.entries[key].hits(m, now) {
			holds = !holds
		}
		if m.Reap {
			mt.memory.recent.change(m, &list).reap(now.Add(-time.Duration(m.Seconds) * time.Second))
		}
	}
	if m.Mode == match.RecentSet || (m.Mode == match.RecentUpdate && holds) {
		if list.entries[key] != nil {
			mt.memory.recent.change(m, &list).touch(key, now, ttl)
		}
	}
	return holds
}

// hits says whether enough of the times are recent enough.
func (e *recentEntry) hits(m *match.Recent, now time.Time) bool {
	hits := uint32(0)
	for _, t := range e.times {
		if m.Seconds != 0 && now.Sub(t) > time.Duration(m.Seconds)*time.Second {
			continue
		}
		if hits++; hits >= m.HitCount {
			return true
		}
	}
	return false
}

// list is the list that a rule names. It is made on its first use.
func (r *recentLists) list(m *match.Recent) *recentList {
	list, known := r.get(m.List)
	if !known {
		list = &recentList{mask: r.masks.maskOf(m), times: recentTimes, entries: map[recentKey]*recentEntry{}}
		r.put(m.List, list)
	}
	if m.HitCount > 0 {
		if want := 1 << bits.Len32(m.HitCount-1); want > list.times {
			r.change(m, &list).times = want
		}
	}
	return list
}

// change puts a copy of the list, to be written to, in its place.
func (r *recentLists) change(m *match.Recent, list **recentList) *recentList {
	changed := **list
	changed.entries, changed.order = maps.Clone(changed.entries), slices.Clone(changed.order)
	*list = &changed
	r.put(m.List, &changed)
	return &changed
}

func (l *recentList) add(key recentKey, now time.Time, ttl uint8) {
	if len(l.order) >= recentAddresses {
		l.remove(l.order[0])
	}
	l.entries[key] = &recentEntry{times: []time.Time{now}, next: 1, ttl: ttl}
	l.order = append(l.order, key)
}

func (l *recentList) touch(key recentKey, now time.Time, ttl uint8) {
	e := *l.entries[key]
	e.times = slices.Clone(e.times)
	e.next %= l.times
	if e.next == len(e.times) {
		e.times = append(e.times, now)
	} else {
		e.times[e.next] = now
	}
	e.next++
	e.ttl = ttl
	l.entries[key] = &e
	l.order = append(slices.DeleteFunc(l.order, func(k recentKey) bool { return k == key }), key)
}

func (l *recentList) remove(key recentKey) {
	delete(l.entries, key)
	l.order = slices.DeleteFunc(l.order, func(k recentKey) bool { return k == key })
}

// reap removes the least recently touched address if its last time is before the limit.
func (l *recentList) reap(limit time.Time) {
	if len(l.order) == 0 {
		return
	}
	oldest := l.entries[l.order[0]]
	if oldest.times[oldest.next-1].Before(limit) {
		l.remove(l.order[0])
	}
}

// applyMask masks an address; a mask of the other family leaves it whole.
func applyMask(addr, mask netip.Addr) netip.Addr {
	if addr.Is4() != mask.Is4() || !mask.IsValid() {
		return addr
	}
	return xtables.MaskAddr(addr, mask)
}
