package main

import (
	"regexp"
	"slices"
	"strings"
)

// allowance is a difference between a mode and mode iptables that a document tells users of.
type allowance struct {
	Clause   clause `yaml:"clause"`
	Mode     string `yaml:"mode"`
	Document string `yaml:"document"`
	// Sentence is the one that allows it, as the document has it.
	Sentence string `yaml:"sentence"`
	// outcomes are what may happen in that mode; anything else is no difference that is allowed.
	outcomes *regexp.Regexp
	// asCalled: it may also be answered at the very address and port that was called, by a process of the node.
	asCalled bool
}

// The documents.
const (
	virtualIPs = "https://kubernetes.io/docs/reference/networking/virtual-ips/#migrating-from-iptables-mode-to-nftables"
	kep3866    = "https://github.com/kubernetes/enhancements/blob/master/keps/sig-network/3866-nftables-proxy/README.md"
)

// nobodyListens is what a host says where nobody listens.
const nobodyListens = `refused with (tcp-reset|icmp-port-unreachable|sctp-abort)`

// allowances are all that is allowed. What the documents do not say is a finding: an echo request to a cluster IP, say, which mode
// nftables refuses as it does ports that are not used. docs/findings.md has them.
var allowances = []allowance{
	{
		Clause: localhostNodePort, Mode: "nftables", Document: virtualIPs,
		Sentence: "NodePort services on 127.0.0.1: [...] In nftables mode (and ipvs mode), this will not work.",
		outcomes: regexp.MustCompile(`^` + nobodyListens + `$`), asCalled: true,
	},
	{
		Clause: otherNodePort, Mode: "nftables", Document: virtualIPs,
		Sentence: "the nftables mode defaults to --nodeport-addresses primary, meaning NodePort services are only reachable on the node's primary " +
			"IPv4 and/or IPv6 addresses",
		outcomes: regexp.MustCompile(`^` + nobodyListens + `$`), asCalled: true,
	},
	{
		Clause: unusedPort, Mode: "nftables", Document: kep3866 + "#behavior-of-service-ips",
		Sentence: "Traffic to invalid ports on active cluster IPs will be rejected by the nftables proxy.",
		outcomes: regexp.MustCompile(`^refused with icmp-port-unreachable$`),
	},
	{
		Clause: unallocatedIP, Mode: "nftables", Document: kep3866 + "#behavior-of-service-ips",
		Sentence: "If the MultiServiceCIDRAllocator feature gate is enabled, it will additionally drop traffic to unassigned cluster IPs.",
		outcomes: regexp.MustCompile(`^silent$`),
	},
	{
		Clause: invalidPacket, Mode: "nftables", Document: virtualIPs,
		Sentence: "The nftables mode does not install any workaround by default", // so that such a segment goes on, untranslated
		outcomes: regexp.MustCompile(`^(silent|refused( with tcp-reset)?|leaves .*|answered by .*)$`),
	},
}

// allowedBy finds what allows a mode to let a probe of a packet about these clauses come to these outcomes; nil if nothing does.
func allowedBy(mode, packet string, clauses []clause, outcomes []string) *allowance {
	for i := range allowances {
		a := &allowances[i]
		if a.Mode == mode && slices.Contains(clauses, a.Clause) && len(outcomes) > 0 && !slices.ContainsFunc(outcomes, func(o string) bool {
			return !a.outcomes.MatchString(o) && !(a.asCalled && answeredAsCalled(packet, o))
		}) {
			return a
		}
	}
	return nil
}

// answeredAsCalled reports whether a packet such as "tcp 192.168.1.2:30080 from internet" was answered where it was sent to.
func answeredAsCalled(packet, outcome string) bool {
	words := strings.Fields(packet)
	_, at, answered := strings.Cut(outcome, " at ")
	at, _, _ = strings.Cut(at, ",")
	return answered && strings.HasPrefix(outcome, "answered by ") && len(words) > 1 && at == words[1]
}

// missedBy finds what allows a mode to have nothing to say of a later packet, since the connection that it is of was not made there.
func missedBy(mode string, clauses []clause) *allowance {
	i := slices.IndexFunc(allowances, func(a allowance) bool { return a.Mode == mode && slices.Contains(clauses, a.Clause) })
	if i < 0 {
		return nil
	}
	return &allowances[i]
}

// String is the allowance in a few words.
func (a *allowance) String() string {
	return string(a.Clause) + ": \"" + a.Sentence + "\" (" + a.Document + ")"
}
