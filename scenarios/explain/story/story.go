// Package story tells the fate of a packet or a connection, and the reason, in plain words: one sentence first, then the lines that all
// outcomes share, then those that differ. A Story is made once, from a walk through one host or a journey through many, and written as
// text, as a page or as a diagram.
package story

import (
	"net/netip"

	"github.com/chainwalk/chainwalk/netfilter"
	"github.com/chainwalk/chainwalk/packetsim"
	"github.com/chainwalk/chainwalk/packetsim/inet"
	"github.com/chainwalk/chainwalk/scenarios/explain/cause"
)

// Story is what became of one packet, or of one connection there and back.
type Story struct {
	// Packet is what was asked, in the PACKET syntax.
	Packet string `json:"packet"`
	// Sentence says what happened, all outcomes together: "shop/web:http -> 3 endpoints, 1/3 each, source kept, forwarded by eth0".
	Sentence string `json:"sentence"`
	// Doubts are what was taken for granted, and may end the packet otherwise. With any, the sentence begins with the first.
	Doubts []packetsim.Doubt `json:"doubts,omitempty"`
	// Causes are what stopped the packet or its reply, in the order of the outcomes, each once.
	Causes []cause.Cause `json:"causes,omitempty"`
	// Outcomes are the ways that the packet can take, the likeliest first; those of one probability in the order of the rules.
	Outcomes []Outcome `json:"outcomes"`
	// Unreached are the endpoints that could have been expected and are in no outcome.
	Unreached []Unreached `json:"unreached,omitempty"`
	// Notes say what could not be seen, each in a line.
	Notes []string `json:"notes,omitempty"`
}

// Outcome is one way.
type Outcome struct {
	Probability float64 `json:"probability"`
	// Verdict is what became of the packet, in a word.
	Verdict Verdict `json:"verdict,omitempty"`
	// Sentence says how this way ends: "to 10.244.1.2:8080 (pod shop/web-1), source kept, forwarded by eth0".
	Sentence string    `json:"sentence"`
	Passages []Passage `json:"passages"`
	// Assumed are the answers that this way assumes of unknown rules, each in words: "-m geoip matches at
	// filter:FORWARD:rule:2". With any of them, Probability is that under them, and which of the ways a packet takes is not known.
	Assumed []string `json:"assumed,omitempty"`
	// Decided is where the decision fell; nil if no rule decided.
	Decided *Place `json:"decided,omitempty"`
}

// Place is a line of an outcome.
type Place struct {
	Passage int `json:"passage"`
	Line    int `json:"line"`
}

// Direction says which packet of a connection a passage is of.
type Direction string

// The directions.
const (
	There  Direction = "there"  // from the client
	Back   Direction = "back"   // from the server
	Answer Direction = "answer" // made by a host on the way: REJECT, no route, TTL
	Copy   Direction = "copy"   // made by TEE
)

// Role says what a host is to the connection.
type Role string

// The roles.
const (
	Client Role = "client"
	Node   Role = "node"
	Server Role = "server"
)

// Passage is one packet's way through one host.
type Passage struct {
	Direction Direction `json:"direction"`
	Host      string    `json:"host"`
	Role      Role      `json:"role"`
	// Came is the packet as it came to the host; In the device that it came by, "local" if the host made it.
	Came Header `json:"came"`
	In   string `json:"in"`
	// Left is the packet as it left, or as it was when it ended here.
	Left Header `json:"left"`
	// Out is the device that it left by, "local" if a socket of the host took it, empty if it ended here.
	Out string `json:"out,omitempty"`
	// Result is what the host did with it: "forwarded by eth0 to 172.18.0.2".
	Result string `json:"result"`
	Lines  []Line `json:"lines"`

	folded bool // its text is the heading alone
}

// Header is what a person looks at of a packet.
type Header struct {
	Proto inet.Proto     `json:"proto"`
	Src   netip.AddrPort `json:"src"`
	Dst   netip.AddrPort `json:"dst"`
	Mark  uint32         `json:"mark,omitempty"`
	// SrcName and DstName are the objects behind the addresses, if they are known: "pod shop/client", "service shop/web:http".
	SrcName string `json:"srcName,omitempty"`
	DstName string `json:"dstName,omitempty"`
	// Rest is what else is of interest, in the PACKET syntax: "flags SYN,ACK".
	Rest string `json:"rest,omitempty"`
}

// Kind says what a line is.
type Kind string

// The kinds of lines.
const (
	Rule      Kind = "rule"      // a rule that matched
	Policy    Kind = "policy"    // the policy of a built-in chain
	Return    Kind = "return"    // the end of another chain
	Missed    Kind = "missed"    // a rule that did not match, and the condition that failed
	Conntrack Kind = "conntrack" // what conntrack knows of the packet, or an entry that is made
	Route     Kind = "route"     // a decision of routing
	Rewrite   Kind = "rewrite"   // the header is another one from here
	Marked    Kind = "marked"    // the mark is another one from here
	Opaque    Kind = "opaque"    // a rule with an unknown extension
)

// Line is one thing that happened to the packet in a host.
type Line struct {
	Hook string `json:"hook,omitempty"`
	// Table is empty for what is no table's, such as routing.
	Table   string            `json:"table,omitempty"`
	Dialect netfilter.Dialect `json:"backend,omitempty"` // legacy or nft, on a host with rules of both
	Kind    Kind              `json:"kind"`
	// At is the place as the kernel's TRACE log spells it: "nat:KUBE-SERVICES:rule:16".
	At string `json:"at,omitempty"`
	// Text is the rule as iptables-save prints it, or what happened in words.
	Text string `json:"text,omitempty"`
	// Object is what the rule was written for: "service shop/web:http", "pod shop/web-1", "policy shop/deny".
	Object string `json:"object,omitempty"`
	// Failed is the condition of a missed rule that did not hold, as iptables-save prints it.
	Failed string `json:"failed,omitempty"`
	// Assumed is what an unknown rule is assumed to do in this outcome: "-m geoip does not match".
	Assumed string `json:"assumed,omitempty"`
	// After is the header behind a rewrite or a mark; nil elsewhere.
	After *Header `json:"after,omitempty"`
}

// Unreached is an endpoint, or a rule of the service, that could have been expected, and why it is in no outcome.
type Unreached struct {
	// What is the endpoint with its name, or the rule: "10.244.1.9:8080 (pod shop/web-3)".
	What string `json:"what"`
	// Why is the reason: "terminating", "not ready", "hint of zone b", "port name differs", "source range", "policy Local".
	Why string `json:"why"`
}
