package nft

import (
	"slices"
	"time"
)

// deletionDelay is how long a chain must have been out of use before it is deleted. Before Linux 6.2, the kernel takes a chain for used for
// a moment after an element that led to it is gone, and refuses to delete it (https://issue.k8s.io/122604).
const deletionDelay = time.Second

// stale are chains in the kernel that are empty and that nothing leads to, with the time since when.
type stale map[string]time.Time

// addSince adds a chain. If it was out of use before, that counts.
func (s stale) addSince(name string, before stale, now time.Time) {
	since, found := before[name]
	if !found {
		since = now
	}
	s[name] = since
}

// due returns the chains that can be deleted, sorted.
func (s stale) due(now time.Time) []string {
	var names []string
	for name, since := range s {
		if now.Sub(since) >= deletionDelay {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}
