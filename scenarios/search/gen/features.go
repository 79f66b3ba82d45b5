package gen

import (
	"fmt"
	"strings"
)

// Feature is something that a scenario may hold.
type Feature uint8

// The features. Those of the cluster first, then those of its services and
// endpoints, then those of what happens.
const (
	SeveralNodes Feature = iota
	Zones
	IPv6Only
	DualStack
	ExtraAddresses
	HostProcesses
	DetectLocal
	MasqueradeAll
	MasqueradeBit
	NodePortAddresses
	NoLocalhostNodePorts
	TCPLiberal
	NFTTools
	ForeignRules
	Leftovers
	DropPolicies

	SeveralServices
	SeveralPorts
	UDP
	SCTP
	NodePorts
	LoadBalancers
	SourceRanges
	ProxyMode
	ExternalIPs
	Contested
	ExternalLocal
	InternalLocal
	Affinity
	Headless
	ExternalNames
	OtherProxy

	SeveralSlices
	Duplicates
	NotReady
	Terminating
	ZoneHints
	NodeHints
	HostEndpoints
	FarEndpoints
	NoNodeName
	OddSlices
	OddSpelling
	ManyEndpoints
	ManyPorts

	ChangeServices
	ChangeSlices
	Recreate
	NodeLabels
	NodeMoves
	PodsStop
	Restart
	Reconfigure
	Flush
	ChainGone
	RestoreFails
	HalfApplied
	SaveFails
	ConntrackFails
	LockHeld
	SlowRestores
	LateEvents
	PartialSync
	Time

	features // how many there are
)

// names are the features as files and reports call them.
var names = [features]string{
	"several-nodes", "zones", "ipv6-only", "dual-stack", "extra-addresses", "host-processes", "detect-local", "masquerade-all",
	"masquerade-bit",
	"node-port-addresses", "no-localhost-node-ports", "tcp-liberal", "nft-tools", "foreign-rules", "leftovers", "drop-policies",
	"several-services", "several-ports", "udp", "sctp", "node-ports", "load-balancers", "source-ranges", "proxy-mode", "external-ips",
	"contested",
	"external-local", "internal-local", "affinity", "headless", "external-names", "other-proxy",
	"several-slices", "duplicates", "not-ready", "terminating", "zone-hints", "node-hints", "host-endpoints", "far-endpoints", "no-node-name",
	"odd-slices", "odd-spelling", "many-endpoints", "many-ports",
	"change-services", "change-slices", "recreate", "node-labels", "node-moves", "pods-stop", "restart", "reconfigure", "flush", "chain-gone",
	"restore-fails", "half-applied", "save-fails", "conntrack-fails", "lock-held", "slow-restores", "late-events", "partial-sync", "time",
}

// String is the feature's name.
func (f Feature) String() string {
	if f >= features {
		return fmt.Sprintf("feature %d", f)
	}
	return names[f]
}

// FeatureNamed is the feature of a name.
func FeatureNamed(name string) (Feature, error) {
	for f, n := range names {
		if n == name {
			return Feature(f), nil
		}
	}
	return 0, fmt.Errorf("there is no feature %q (want one of %s)", name, strings.Join(names[:], ", "))
}

// Features is a set of features.
type Features uint64

// Of is the set of some features.
func Of(list ...Feature) Features {
	var set Features
	for _, f := range list {
		set |= 1 << f
	}
	return set
}

// AllBut is the set of all features but some, for Options.Without.
func AllBut(list ...Feature) Features { return ^Of(list...) }

// Has reports whether a feature is in the set.
func (s Features) Has(f Feature) bool { return s>>f&1 == 1 }

// String are the names of the features in the set.
func (s Features) String() string {
	var out []string
	for f := range features {
		if s.Has(f) {
			out = append(out, f.String())
		}
	}
	return strings.Join(out, " ")
}

// chances are how many of a hundred scenarios may hold a feature. What is not
// listed may be in one of two.
func chance(f Feature) int {
	switch f {
	case SeveralNodes, ChangeServices, ChangeSlices:
		return 85
	case UDP, NodePorts, LoadBalancers, Zones, NotReady, Terminating, SeveralSlices:
		return 60
	case ManyEndpoints, ManyPorts:
		return 3
	case DropPolicies:
		return 20
	case IPv6Only, Leftovers, OtherProxy, MasqueradeBit, SlowRestores, NodeMoves:
		return 12
	case ForeignRules, Contested, Duplicates, OddSlices, OddSpelling, SCTP, ExternalNames, Headless, HostEndpoints, FarEndpoints, NoNodeName,
		HostProcesses,
		SaveFails, ConntrackFails, LockHeld, HalfApplied, ChainGone, Flush, RestoreFails, Reconfigure, NoLocalhostNodePorts, TCPLiberal:
		return 25
	case SeveralServices, ExtraAddresses, DualStack, DetectLocal, MasqueradeAll, NodePortAddresses:
		return 35
	}
	return 50
}

// swarm draws the features that a scenario may hold.
func swarm(d *draw, o Options) Features {
	var set Features
	for f := range features {
		if d.in(chance(f), 100) {
			set |= 1 << f
		}
	}
	return (set | o.With) &^ o.Without
}
