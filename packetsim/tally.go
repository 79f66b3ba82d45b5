package packetsim

import "github.com/chainwalk/chainwalk/netfilter"

// tally is what walks count of a ruleset's rules and chains and of nfacct's objects, which others share: it waits until the outermost
// checkpoint is kept.
type tally struct {
	namespace *netfilter.Namespace
	pending   []pendingCount
	probes    int // open checkpoints that will be undone, under which nothing is counted
}

// pendingCount is one packet for a rule's or chain's counters, or for an nfacct object.
type pendingCount struct {
	counters *netfilter.Counters
	object   string // nfacct, if counters is nil
	bytes    uint64
}

// counts says that what walks count may be kept. What a probe counts never is.
func (t *tally) counts() bool { return t.probes == 0 }

// count notes one packet for the counters; keep adds it.
func (t *tally) count(c *netfilter.Counters, s *skb) {
	if c != nil && t.counts() {
		t.pending = append(t.pending, pendingCount{counters: c, bytes: uint64(s.Size())})
	}
}

// countObject is count for an object of nfacct.
func (t *tally) countObject(name string, s *skb) {
	if t.counts() {
		t.pending = append(t.pending, pendingCount{object: name, bytes: uint64(s.Size())})
	}
}

// keep adds what waits to the counters.
func (t *tally) keep() {
	for _, p := range t.pending {
		if p.counters != nil {
			p.counters.Add(1, p.bytes)
		} else {
			t.namespace.Accounts().Count(p.object, 1, p.bytes)
		}
	}
	t.pending = t.pending[:0]
}
