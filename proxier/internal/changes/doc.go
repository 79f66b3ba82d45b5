// Package changes says what the API holds now and what has changed since the
// last sync. It is the first station of the proxier: informers give it Services
// and EndpointSlices, proxier/internal/model reads the maps that it keeps.
//
// There is one ServiceTracker and one EndpointsTracker for each address family.
// Updates arrive at any time and are coalesced by object; Apply merges them into
// the map and tells the names of the Services that now differ. The cost of Apply
// depends on what changed, not on the size of the cluster.
//
// A failed sync loses nothing. Apply goes on reporting a change until MarkSynced
// says that the rules were written.
//
// Both trackers may be used by several goroutines at once, except that Apply and
// MarkSynced belong to the one goroutine that syncs and owns the maps.
//
// What an API server would not have stored is left out with a log line and never
// stops the rest: addresses that do not parse or are of the other family, ports
// out of range. Objects that never met an API server get its defaults: protocol
// TCP, port name "", ready.
package changes
