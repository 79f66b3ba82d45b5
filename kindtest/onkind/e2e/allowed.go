package main

import (
	"regexp"
	"slices"
	"strings"

	"github.com/chainwalk/chainwalk/scenarios/spec/oracle"
)

// allowance is a difference between a mode and mode iptables that a document tells users of, as the specification has it.
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

// nobodyListens is what a host says where nobody listens.
const nobodyListens = `refused with (tcp-reset|icmp-port-unreachable|sctp-abort)`

// allowances are all that is allowed: what a probe may come to where the specification has a clause of the mode with the sentence that
// tells users. What no document says is a finding. docs/findings.md has them.
var allowances = []allowance{
	allowed(localhostNodePort, "no-node-port-at-loopback", `^`+nobodyListens+`$`, true),
	allowed(otherNodePort, "node-port-at-primary-addresses", `^`+nobodyListens+`$`, true),
	allowed(unusedPort, "unused-port-rejected", `^refused with icmp-port-unreachable$`, false),
	allowed(unallocatedIP, "unassigned-cluster-ip-dropped", `^silent$`, false),
	allowed(invalidPacket, "invalid-packet-passes", `^(silent|refused( with tcp-reset)?|leaves .*|answered by .*)$`, false),
}

// allowed is what a clause of the specification, by its name, allows a probe of packets to come to.
func allowed(of clause, name, outcomes string, asCalled bool) allowance {
	c := oracle.ByName(name)
	return allowance{
		Clause: of, Mode: string(c.Mode), Document: c.Sentence.Document, Sentence: c.Sentence.Text,
		outcomes: regexp.MustCompile(outcomes), asCalled: asCalled,
	}
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
