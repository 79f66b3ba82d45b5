package judge

import (
	"net/netip"
	"regexp"
	"slices"
	"strings"

	"github.com/chainwalk/chainwalk/proxier/upstream/peers"
)

// keepsIdle says of a connection that ours alone deletes it, that kube-proxy has looked for stale ones, and that it goes to a UDP
// service without an endpoint that serves.
func (r *run) keepsIdle(d *Difference) bool {
	if !d.onlyOursDeletes() || !r.theirs.Flows().Looked(d.family) {
		return false
	}
	claimed, serving := r.served(d.entry.Original.Dst, d.family)
	return claimed > 0 && !serving
}

// isNodeAddress says whether an address is one of the node's.
func isNodeAddress(a netip.Addr) bool {
	return slices.ContainsFunc(peers.Addresses(), func(own netip.Prefix) bool { return own.Addr() == a })
}

// oldTools says whether a difference is that the tools are taken to know --random-fully.
func (r *run) oldTools(d *Difference) bool {
	return r.settings.NoRandomFully && slices.EqualFunc(d.ours, d.theirs, func(ours, theirs string) bool {
		return withoutRandomFully(ours) == withoutRandomFully(theirs)
	})
}

// sourcePort is what a packet has of a masquerade that keeps its address, or chooses its port: which is kept to where it is free.
var sourcePort = regexp.MustCompile(`( masqueraded)?( \{.*SrcPort:)\d+`)

// withoutRandomFully takes from a rule what tools before 1.6.2 do not know, and from a packet what it leads to: a port by chance.
func withoutRandomFully(line string) string {
	return sourcePort.ReplaceAllString(strings.ReplaceAll(line, " --random-fully", ""), "$2")
}
