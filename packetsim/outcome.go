package packetsim

import (
	"fmt"
	"net/netip"
	"strconv"

	"github.com/chainwalk/chainwalk/netfilter"
	"github.com/chainwalk/chainwalk/packetsim/inet"
)

// Verdict is what became of a packet in one host.
type Verdict string

// The verdicts of a walk.
const (
	Accept Verdict = "accept"
	Drop   Verdict = "drop"
	Reject Verdict = "reject"
	// Unknown is the verdict of an unknown target. Only a walk that guesses has it.
	Unknown Verdict = "unknown"
)

// Destination is where an accepted packet went.
type Destination string

// The destinations of a walk.
const (
	ToLocal   Destination = "local"   // to a socket of the host
	ToForward Destination = "forward" // out of the device Outcome.Out
	ToNone    Destination = "none"    // nowhere: dropped or rejected
)

// StepKind says which kind of line a step is in the kernel's TRACE log.
type StepKind string

// The kinds of steps.
const (
	StepRule   StepKind = "rule"
	StepPolicy StepKind = "policy"
	StepReturn StepKind = "return"
)

// Step is one line of the kernel's TRACE log, or of nf_tables' trace: a rule that matched, a built-in chain's policy, or the end of a
// user-defined chain. As in the kernel's log, a rule without any condition whose target is ACCEPT, DROP or RETURN
// has the kind policy (in a built-in chain) or return (in another), since the kernel cannot tell it from the chain's tail. Of nftables such
// a rule is a rule.
type Step struct {
	Hook   string   `json:"hook"`
	Table  string   `json:"table"`
	Chain  string   `json:"chain"`
	Kind   StepKind `json:"kind"`
	Number int      `json:"number"`
	// Family is that of the table, by its name in nft, Handle the rule's, and Verdict what it said: "accept", "jump CHAIN", "continue", as nft
	// monitor trace prints them. Only steps in nftables have them.
	Family  string `json:"family,omitempty"`
	Handle  uint64 `json:"handle,omitempty"`
	Verdict string `json:"verdict,omitempty"`
	// Rule is the one that the packet met; nil for a policy or the end of a chain. In JSON it is its text.
	Rule *netfilter.Rule `json:"rule,omitempty"`
	// Elements are those of named sets and maps of nftables by which the rule held, in the order of the rule.
	Elements []SetElement `json:"elements,omitempty"`
	// Policy is the built-in chain's, where a policy decided and no rule.
	Policy netfilter.Verdict `json:"-"`
	// Dialect is the tools that the chain belongs to, legacy or nft, on a host where both have tables of the packet's family, or one
	// has beside nftables; else empty, as it is of a chain of nftables.
	Dialect netfilter.Dialect `json:"backend,omitempty"`
}

// String is the step as the kernel's TRACE log spells it: "nat:KUBE-SERVICES:rule:1". A rule of nftables is named by its handle:
// "ip kube-proxy:services:rule:12".
func (s Step) String() string {
	if s.Family != "" {
		text := s.Family + " " + s.Table + ":" + s.Chain + ":" + string(s.Kind)
		if s.Kind == StepRule {
			text += ":" + strconv.FormatUint(s.Handle, 10)
		}
		return text
	}
	return s.Table + ":" + s.Chain + ":" + string(s.Kind) + ":" + strconv.Itoa(s.Number)
}

// Text is the rule as iptables-save prints it; empty for a policy or the end of a chain.
func (s Step) Text() string {
	if s.Rule == nil {
		return ""
	}
	return s.Rule.Text
}

// Final is a packet's header at the end of its walk, as trace reports it.
type Final struct {
	Proto inet.Proto `json:"proto"`
	Src   netip.Addr `json:"src"`
	// SrcPort is 0 where the kernel chooses it.
	SrcPort uint16     `json:"sport"`
	Dst     netip.Addr `json:"dst"`
	DstPort uint16     `json:"dport"`
	Mark    uint32     `json:"mark"`
}

// Outcome is one way that a packet can go through a host.
type Outcome struct {
	Probability float64     `json:"probability"`
	Verdict     Verdict     `json:"verdict"`
	RejectWith  string      `json:"rejectWith,omitempty"`
	To          Destination `json:"to"`
	Out         string      `json:"out,omitempty"`
	Final       Final       `json:"final"`
	// Masqueraded says that the source address or port is translated by the connection's entry.
	Masqueraded bool `json:"masqueraded"`
	// DNAT is the translated destination, "ADDRESS:PORT", or "ADDRESS" without ports; empty if there is none.
	DNAT string `json:"dnat,omitempty"`
	// Reason says why a packet was dropped or rejected without a rule; empty if a rule or a policy decided.
	Reason Reason `json:"-"`
	// Why is Reason in words, with the device or the queue that it is about.
	Why   string `json:"reason,omitempty"`
	Steps []Step `json:"steps"`
	// Events are what happened beside the steps: conntrack, routing, changes of the header.
	Events []Event `json:"events,omitempty"`
	// Back is the reply on its way back through the host; nil if the packet is none that is answered, or nobody asked (WalkOptions.Back).
	Back *Back `json:"back,omitempty"`

	// Passed are the hooks that the packet came to, whether or not it met a rule there.
	Passed Hooks `json:"-"`
	// Packet is the packet at the end of its walk, with the source port that the conntrack entry holds.
	Packet inet.Packet `json:"-"`
	// Port is the port of the bridge Out that the packet leaves by, if it is known.
	Port string `json:"-"`
	// SourceTranslated says that a rule with MASQUERADE or SNAT met the packet; Masqueraded says what became of it.
	SourceTranslated bool `json:"-"`
	// NextHop is the neighbour that a forwarded packet is handed to.
	NextHop netip.Addr `json:"-"`
	// Replies are the packets that the host itself made because of this one (REJECT, no route, TTL, copies), walked out
	// already.
	Replies []Reply `json:"-"`
}

// Reply is a packet that the host made, and what became of it on its way out (or, if it goes to the host itself, in again).
type Reply struct {
	Packet  inet.Packet
	Outcome Outcome
	// Copy says that it is no answer, but a copy of the packet: the one that TEE made, or
	// if it is Looped the one that the host's own sockets get of what it sends to a group or to everybody on a link.
	Copy, Looped bool
	// After is how many of the packet's steps there were before it.
	After int
}

// Inside is the header at the end of the packet that was asked about: of the one that a tunnel of the host has put into another, or Final.
func (o *Outcome) Inside() Final {
	if inside := o.Packet.Carried; inside != nil {
		return FinalOf(inside)
	}
	return o.Final
}

// Summary is the verdict with where the packet went, or why it did not.
func (o *Outcome) Summary() string {
	text := string(o.Verdict)
	switch {
	case o.Verdict == Reject:
		text += " with " + o.RejectWith
	case o.To == ToLocal:
		text += ", to the host itself"
	case o.To == ToForward && o.NextHop.IsValid():
		text += fmt.Sprintf(", out of %s to %s", o.Out, o.NextHop)
	case o.To == ToForward:
		text += ", out of " + o.Out
	}
	if o.Why != "" {
		text += " (" + o.Why + ")"
	}
	return text
}
