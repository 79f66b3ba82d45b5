package live

import (
	"encoding/json"
	"io"
	"slices"
	"strings"

	"github.com/chainwalk/chainwalk/netfilter"
	"github.com/chainwalk/chainwalk/packetsim"
	"github.com/chainwalk/chainwalk/scenarios/explain/cause"
	stories "github.com/chainwalk/chainwalk/scenarios/explain/story"
)

// reportVersion is the version of the Report's JSON.
const reportVersion = 2

// Report is what an examination found.
type Report struct {
	Version int `json:"version"`
	// Answer is the whole answer in one line.
	Answer string       `json:"answer"`
	Nodes  []NodeReport `json:"nodes"`
	// Connections is the number of connections that were judged.
	Connections int `json:"connections"`
	// Unanswered is how many of them get no answer though nothing is wrong, as nobody is promised one: the first notes say which.
	Unanswered int `json:"unanswered,omitempty"`
	// NotFollowed is how many of them were not followed for what they meet that is not walked or not known, where there is such a thing: they
	// were too many.
	NotFollowed int `json:"notFollowed,omitempty"`
	// Assumed is what was taken for granted of the network between the nodes: with each of them the answer holds.
	Assumed []string `json:"assumed,omitempty"`
	// Findings are what is wrong, the worst first: what pods and nodes suffer from before what clients outside do, then by the number of
	// services and of connections.
	Findings []Finding `json:"findings"`
	// AllPackets is what becomes of the replies to all packets of each node, if that was asked for.
	AllPackets []AllPackets `json:"allPackets,omitempty"`
	// Doubts are what was taken for granted, and may be otherwise.
	Doubts []Doubt `json:"doubts,omitempty"`
	// Unjudged are the packet classes that could not be judged.
	Unjudged []Unjudged `json:"unjudged,omitempty"`
	// Notes say what was assumed, what of the input does not fit together, and what somebody may want to know that is not wrong.
	Notes []string `json:"notes,omitempty"`

	names func() stories.Names // of the objects; nil in a report that was read
}

// NodeReport says what is known of a node.
type NodeReport struct {
	Name string `json:"name"`
	// Judged says that a snapshot of the node was given.
	Judged bool `json:"judged"`
	// Why says why there is none, of a node that was asked for one.
	Why string `json:"why,omitempty"`
	// Proxy is the service proxy that the node runs.
	Proxy Proxy `json:"proxy,omitzero"`
	// Backend is the backend of iptables whose rules were walked.
	Dialect netfilter.Dialect `json:"backend,omitempty"`
	// Second is the other backend, on a node that has rules of both: they were walked as well.
	Second netfilter.Dialect `json:"beside,omitempty"`
	// Missing and Foreign count the rules that are other than those that chainwalk's own proxier would leave there, whether
	// a packet suffers or not. Another proxier may have its own words for the same.
	Missing int `json:"missing"`
	Foreign int `json:"foreign"`
}

// Proxy is the service proxy of a node.
type Proxy struct {
	// Name is the program, and its mode if it has several: "kube-proxy, mode iptables".
	Name string `json:"name"`
	// Seen is how that was seen.
	Seen string `json:"seen"`
	// Walked says that packets are walked through what it does.
	Walked bool `json:"walked"`
	// Mode is that of kube-proxy, iptables or nftables, if it is one whose rules are walked.
	Mode string `json:"mode,omitempty"`
}

// Finding is one cause, with everything that suffers from it.
type Finding struct {
	cause.Cause
	// Also is the same fault in the other family, where one mistake was made in both: it has a remedy of its own. Otherwise it is empty.
	Also cause.Cause `json:"also,omitzero"`
	// Nodes lists where the cause is, and Services whose packets suffer, as NAMESPACE/NAME.
	Nodes    []string `json:"nodes"`
	Services []string `json:"services"`
	// Suffering counts the connections that suffer.
	Suffering int `json:"suffering"`
	// Outside says that only clients suffer that are no part of the cluster.
	Outside bool `json:"outside,omitempty"`
	// Heals says that packets would be right after kube-proxy has written its rules anew.
	Heals bool `json:"heals"`
	// Clauses are the clauses of the specification that are broken.
	Clauses []Broken `json:"clauses"`
	// Missing are rules that are not there, Foreign such as should not be: left from what is no more, of somebody else,
	// or changed. Moved are rules that stand at another place than they should. The numbers are of those that are not in the lists.
	Missing     []Rule `json:"missing,omitempty"`
	MoreMissing int    `json:"moreMissing,omitempty"`
	Foreign     []Rule `json:"foreign,omitempty"`
	MoreForeign int    `json:"moreForeign,omitempty"`
	Moved       []Rule `json:"moved,omitempty"`
	MoreMoved   int    `json:"moreMoved,omitempty"`
	// Deciding are the rules and policies that decided, if none is missing, foreign or moved.
	Deciding []Rule `json:"deciding,omitempty"`
	// Remembered are the UDP connections that nodes remember though they lead nowhere, as the command that makes a node forget one.
	Remembered []string `json:"remembered,omitempty"`
	// Packets are the first of the connections that suffer.
	Packets []Packet `json:"packets"`
	// Stopped are, of all packets, replies that the cause stops, the first sets of them; MoreStopped counts the others.
	Stopped     []PacketRange `json:"stopped,omitempty"`
	MoreStopped int           `json:"moreStopped,omitempty"`

	attempts []*suffering
}

// Broken is a clause that is broken.
type Broken struct {
	Clause string   `json:"clause"`
	Says   string   `json:"says"`
	Source []string `json:"source,omitempty"`
}

// Packet is the first packet of a connection that suffers.
type Packet struct {
	Packet string `json:"packet"`
	Want   string `json:"want"`
	Got    string `json:"got"`
	// Ways are what became of it, of the first packet of a finding, and Way is the same rule by rule.
	Ways []string `json:"ways,omitempty"`
	Way  []string `json:"way,omitempty"`

	told []story // the same for a page
}

// PacketRange is replies that fare alike on a node.
type PacketRange struct {
	Node string `json:"node"`
	// Replies is one range of them.
	Replies string `json:"replies"`
}

// AllPackets is what becomes of all replies on a node, to the ports that Linux gives to clients. It says nothing of those that a rule stops
// only since NAT translates their connection.
type AllPackets struct {
	Node string `json:"node"`
	// Answer is all of it in one line.
	Answer string `json:"answer"`
	// Stopped counts the sets of replies that the node stops to packets that it lets through, and that somebody is promised. They are in
	// the findings.
	Stopped int `json:"stopped,omitempty"`
	// Unknown says why it cannot be said of some replies.
	Unknown []string `json:"unknown,omitempty"`
	// Skipped says why the packets of the node were not looked at; empty: they were.
	Skipped string `json:"skipped,omitempty"`
}

// open notes that something cannot be said.
func (a *AllPackets) open(why string) {
	if !slices.Contains(a.Unknown, why) {
		a.Unknown = append(a.Unknown, why)
	}
}

// conclude puts the answer into words.
func (a *AllPackets) conclude() {
	switch {
	case a.Skipped != "":
		a.Answer = "not looked at: " + a.Skipped
		return
	case a.Stopped > 0:
		a.Answer = plural(a.Stopped, "set") + " of replies to packets that get through are stopped (see the findings)"
	default:
		a.Answer = "where a packet gets through, the reply does"
	}
	if len(a.Unknown) > 0 {
		a.Answer += "; of some it cannot be said: " + strings.Join(a.Unknown, "; ")
	}
}

// Doubt is something that was taken for granted, with the number of the connections that meet it.
type Doubt struct {
	packetsim.Doubt
	Nodes       []string `json:"nodes"`
	Connections int      `json:"connections"`
}

// Unjudged is a class of packets that could not be judged.
type Unjudged struct {
	Why         string `json:"why"`
	Connections int    `json:"connections"`
}

// leaveOut counts connections that could not be judged.
func (r *Report) leaveOut(why string, connections int) {
	i := slices.IndexFunc(r.Unjudged, func(u Unjudged) bool { return u.Why == why })
	if i < 0 {
		i, r.Unjudged = len(r.Unjudged), append(r.Unjudged, Unjudged{Why: why})
	}
	r.Unjudged[i].Connections += connections
}

// WriteJSON writes the report as JSON.
func (r *Report) WriteJSON(w io.Writer) error {
	encoder := json.NewEncoder(w)
	encoder.SetEscapeHTML(false)
	encoder.SetIndent("", "  ")
	return encoder.Encode(r)
}
