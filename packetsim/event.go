package packetsim

import (
	"net/netip"

	"github.com/chainwalk/chainwalk/netfilter"
	"github.com/chainwalk/chainwalk/packetsim/conntrack"
	"github.com/chainwalk/chainwalk/packetsim/inet"
)

// EventKind says what happened to a packet beside the rules that it met.
type EventKind string

// The kinds of events.
const (
	EventConntrack   EventKind = "conntrack"   // conntrack looked at the packet: State, Reply, Entry
	EventEntry       EventKind = "entry"       // the packet's connection was put into conntrack's table: Entry
	EventConnmark    EventKind = "connmark"    // the connection has another mark: Entry
	EventRoute       EventKind = "route"       // routing decided: Route
	EventRewrite     EventKind = "rewrite"     // the header became another one: NAT, Before, After
	EventMark        EventKind = "mark"        // the packet has another mark, and all else is the same: Before, After
	EventEncapsulate EventKind = "encapsulate" // a tunnel put the packet into another one: Before, After
	EventDecapsulate EventKind = "decapsulate" // a tunnel took the packet out of another one: Before, After
	EventMissed      EventKind = "missed"      // a rule did not match: Rule. Only WalkOptions.Missed tells it
	EventOpaque      EventKind = "opaque"      // an unknown rule was assumed to give an answer: Rule. Only WalkOptions.Guess tells it
)

// Event is something that happened to a packet between the steps of its trace. Those of an outcome are in the order of time.
type Event struct {
	Kind EventKind `json:"kind"`
	// Step is how many of the outcome's steps were before it.
	Step int `json:"step"`
	// Hook is the one that the packet was in, or came from last; empty before the first.
	Hook string `json:"hook,omitempty"`
	// State is the packet's state in the words of -m conntrack --ctstate.
	State string `json:"state,omitempty"`
	// Reply: the packet is of the connection's reply direction.
	Reply bool `json:"reply,omitempty"`
	// Entry is the connection in the table, with what this packet changed of it; nil if it has none.
	Entry *conntrack.Entry `json:"entry,omitempty"`
	Route *Routing         `json:"route,omitempty"`
	// NAT is the kind of translation; empty if the header was changed by something else.
	NAT    Translation `json:"nat,omitempty"`
	Before *Header     `json:"before,omitempty"`
	After  *Header     `json:"after,omitempty"`
	Rule   *RuleLook   `json:"lookedAt,omitempty"`
}

// RuleLook is a rule that the packet came to and that is no step.
type RuleLook struct {
	Table   string            `json:"table"`
	Chain   string            `json:"chain"`
	Number  int               `json:"number"`
	Dialect netfilter.Dialect `json:"backend,omitempty"` // as in a Step
	Family  string            `json:"family,omitempty"`  // as in a Step, and so is Handle
	Handle  uint64            `json:"handle,omitempty"`
	// Rule is the rule; in JSON it is its text.
	Rule netfilter.Rule `json:"rule"`
	// Failed is the first condition that did not hold, as iptables-save prints it, and FailedAt the same as data; for EventMissed.
	Failed   string               `json:"failed,omitempty"`
	FailedAt netfilter.Conditions `json:"-"`
	// Extension is what is not known of the rule, "match NAME" or "target NAME", and Answer what it was taken to do; for EventOpaque.
	Extension string     `json:"extension,omitempty"`
	Answer    RuleAnswer `json:"answer,omitempty"`
}

// String is the place as a Step spells it: "filter:FORWARD:rule:2".
func (l *RuleLook) String() string {
	return Step{Family: l.Family, Table: l.Table, Chain: l.Chain, Kind: StepRule, Number: l.Number, Handle: l.Handle}.String()
}

// RuleAnswer is what an unknown rule is assumed to do.
type RuleAnswer string

// The answers: of a match that is not known the first two, of a target the others.
const (
	AnswerMatches  RuleAnswer = "matches"
	AnswerDiffers  RuleAnswer = "does not match"
	AnswerGoesOn   RuleAnswer = "lets the packet go on as it is"
	AnswerDecides  RuleAnswer = "decides" // what it decides is not known: the outcome's verdict is Unknown
	answersPerRule            = 2
)

// Translation is what NAT does to a packet: to those of a connection's original direction what the rules say, to replies the reverse.
type Translation string

// The translations.
const (
	TranslationDNAT   Translation = "dnat"
	TranslationSNAT   Translation = "snat" // MASQUERADE too
	TranslationUnDNAT Translation = "un-dnat"
	TranslationUnSNAT Translation = "un-snat"
)

// Header is what a packet's way can change of its header. SrcPort is 0 where the kernel chooses it.
type Header struct {
	Final
	TTL uint8 `json:"ttl,omitempty"` // 0: not known
	// Spent says that the TTL is 0.
	Spent bool  `json:"spent,omitempty"`
	TOS   uint8 `json:"tos,omitempty"`
	// ICMPID is the identifier of a query.
	ICMPID uint16        `json:"icmpID,omitempty"`
	Flags  inet.TCPFlags `json:"-"`
	MSS    uint16        `json:"mss,omitempty"`
}

// Routing is a decision of routing.
type Routing struct {
	// Local: the packet is for the host itself.
	Local bool `json:"local,omitempty"`
	// Out is the device that the packet goes to; of a bridge Port is the port, if it is known.
	Out  string `json:"out,omitempty"`
	Port string `json:"port,omitempty"`
	// NextHop is the neighbour that it is handed to.
	NextHop netip.Addr `json:"nextHop,omitzero"`
	// Src is the source address that a packet of the host got.
	Src netip.Addr `json:"src,omitzero"`
	// Again: a change in OUTPUT made the kernel look up the route of the host's own packet again.
	Again bool `json:"again,omitempty"`
	// Refused is why the packet goes nowhere; empty if it has a route.
	Refused string `json:"refused,omitempty"`
}

// header is the packet's header now.
func (s *skb) header() Header {
	h := Header{Final: FinalOf(&s.Packet), TTL: s.TTL, Spent: s.Spent, TOS: s.TOS, MSS: s.MSS, Flags: s.TCPFlags}
	if s.Proto.IsICMP() {
		h.ICMPID = s.ICMPID
	}
	if s.hasDrawnPort() {
		h.SrcPort = 0
	}
	return h
}

// hasDrawnPort says whether the source port is one that the kernel chose.
func (s *skb) hasDrawnPort() bool {
	c := s.conn
	return s.drawn || c != nil && c.ChosenPort && s.dir == conntrack.Original && s.relation != isRelated &&
		s.SrcPort == c.Tuples[conntrack.Reply].DstPort && s.SrcPort != c.Tuples[conntrack.Original].SrcPort
}

// stateNames are the states that rules know, by relation.
var stateNames = [...]string{
	isInvalid: "INVALID", isUntracked: "UNTRACKED", isNew: "NEW", isEstablished: "ESTABLISHED", isRelated: "RELATED",
}

// chosenSource is the source that routing gave to a packet that had none; unset if it had one.
func chosenSource(had, has netip.Addr) netip.Addr {
	if had.IsValid() && !had.IsUnspecified() {
		return netip.Addr{}
	}
	return has
}
