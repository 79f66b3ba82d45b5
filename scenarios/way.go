package scenarios

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"

	"github.com/chainwalk/chainwalk/netfilter"
	"github.com/chainwalk/chainwalk/packetsim"
	"github.com/chainwalk/chainwalk/packetsim/inet"
)

// ruleText is the rule of a step, or the step's name where it is a policy.
func ruleText(step *packetsim.Step) string {
	switch {
	case step == nil:
		return ""
	case step.Rule == nil:
		return step.String()
	}
	return step.Text()
}

// TraceOf is what a report shows of steps.
func TraceOf(steps []packetsim.Step) []TraceStep {
	var out []TraceStep
	for _, step := range steps {
		out = append(out, TraceStep{Dialect: step.Dialect, At: step.String(), Rule: step.Text()})
	}
	return out
}

// End is how a packet's way ends.
type End string

// The ends.
const (
	Delivered End = "delivered" // a socket took it; for a single packet: the node let it pass
	Refused   End = "refused"   // it arrived, nothing listens there, and the host says so
	Rejected  End = "rejected"  // a REJECT rule answered
	Dropped   End = "dropped"   // a rule or a policy dropped it
	Lost      End = "lost"      // a host dropped it without a rule, or has no route
)

// Certainty is a yes, a no, or nothing known.
type Certainty uint8

// The certainties.
const (
	Unknown Certainty = iota
	No
	Yes
)

// Way is one way that a packet can take, and the answer's.
type Way struct {
	Probability float64 `json:"probability"`
	End         End     `json:"end"`
	// Host is where the packet ended.
	Host string `json:"host"`
	// Sender is the packet's source as it was sent. Server is its destination and
	// Client its source where it ended.
	Sender netip.AddrPort `json:"sender"`
	Server netip.AddrPort `json:"server"`
	Client netip.AddrPort `json:"client"`
	// Masqueraded says whether a MASQUERADE rule met the packet.
	Masqueraded Certainty `json:"-"`
	// With is what a REJECT rule answered: icmp-port-unreachable, tcp-reset, ...
	With string `json:"with,omitempty"`
	// Rule is the rule that decided; Reason says why without a rule.
	Rule   string `json:"rule,omitempty"`
	Reason string `json:"reason,omitempty"`
	// Out is the device by which a single packet leaves the node, "local" if it does not.
	Out string `json:"out,omitempty"`
	// Heard says that the sender's socket got an answer that it takes for one: from
	// the address that it called. For a packet of a kept connection: that the
	// other end's socket took the packet for one of the connection.
	Heard bool `json:"heard"`
	// Answered says, for a packet of a kept connection, that its sender was sent an error about it.
	Answered bool `json:"-"`
	// OnTheWire says that a packet that is Lost had left Host, and nobody took it.
	OnTheWire bool `json:"-"`
	// Why says why not.
	Why string `json:"why,omitempty"`
	// Forward and Back are the hosts that the packet and its answer passed.
	Forward []Hop `json:"forward,omitempty"`
	Back    []Hop `json:"back,omitempty"`
}

// Hop is a packet's passage through one host.
type Hop struct {
	Host string `json:"host"`
	// Packet is the packet as it came, in the PACKET syntax.
	Packet string      `json:"packet"`
	Steps  []TraceStep `json:"steps,omitempty"`
	// Result is what the host did with it, in words.
	Result string `json:"result"`
	// Input and Walk are the packet as it came and the walk through the host, with the changes of its header and what conntrack knew, where
	// the backend walks packets; Walk is nil elsewhere.
	Input inet.Input         `json:"-"`
	Walk  *packetsim.Outcome `json:"-"`
}

// TraceStep is a rule that a packet met on its way.
type TraceStep struct {
	// Backend is the tools that the rule belongs to, legacy or nft, on a node where both have tables; else empty.
	Dialect netfilter.Dialect `json:"backend,omitempty"`
	At      string            `json:"at"` // as the kernel's TRACE spells it: nat:KUBE-SERVICES:rule:1
	Rule    string            `json:"rule,omitempty"`
}

// String is the step in one line.
func (s *TraceStep) String() string {
	return strings.Join(slices.DeleteFunc([]string{string(s.Dialect), s.At, s.Rule}, func(part string) bool { return part == "" }), "  ")
}

func (w *Way) passes(want string) bool {
	return slices.ContainsFunc(w.Forward, func(h Hop) bool {
		return slices.ContainsFunc(h.Steps, func(s TraceStep) bool {
			return s.At == want || strings.Contains(s.Rule, want)
		})
	})
}

// Decide fills what the rules that the packet met say of its way, once its end is known: whether it was masqueraded, and the rule that
// made the end what it is, which is the last one for a packet that was stopped, the translation for one that arrived.
func (w *Way) Decide(d packetsim.Decision) {
	w.Rule, w.Masqueraded = "", No
	if d.SourceTranslated {
		w.Masqueraded = Yes
	}
	switch w.End {
	case Rejected, Dropped:
		w.Rule = ruleText(d.Last)
	case Delivered, Refused:
		w.Rule = ruleText(d.Translation)
	}
}

// isNative says whether the rule that decided is one of nftables, and neither a rule of iptables nor a policy.
func (w *Way) isNative() bool {
	return w.Rule != "" && !strings.HasPrefix(w.Rule, "-A ") && !strings.Contains(w.Rule, ":policy:")
}

// Describe says in one line how a way ends.
func (w *Way) Describe() string {
	switch w.End {
	case Delivered:
		switch {
		case !w.Heard:
			return fmt.Sprintf("reaches %s at %s, from %s, but in vain: %s", endpoint(w.Server), w.Host, endpoint(w.Client), w.Why)
		case w.Out != "" && w.Out != "local":
			return fmt.Sprintf("leaves %s for %s, from %s", w.Host, endpoint(w.Server), endpoint(w.Client))
		}
		return fmt.Sprintf("reaches %s at %s, from %s", endpoint(w.Server), w.Host, endpoint(w.Client))
	case Refused:
		return fmt.Sprintf("refused by %s: nothing listens on %s", w.Host, endpoint(w.Server))
	case Rejected:
		return fmt.Sprintf("rejected on %s with %s%s", w.Host, w.With, unheard(w))
	case Dropped:
		return fmt.Sprintf("dropped on %s by %s", w.Host, w.Rule)
	}
	return fmt.Sprintf("lost at %s: %s", w.Host, w.Reason)
}

// endpoint is ADDRESS:PORT, or the address where there is no port, as of ICMP.
func endpoint(a netip.AddrPort) string {
	if a.Port() == 0 {
		return a.Addr().String()
	}
	return a.String()
}

func unheard(w *Way) string {
	if w.Heard || w.Why == "" {
		return ""
	}
	return ", which the client does not get: " + w.Why
}

// describeWays says in a few lines what was seen, ways of the same end together.
func describeWays(ways []Way) string {
	chance := map[string]float64{}
	for i := range ways {
		chance[ways[i].Describe()] += ways[i].Probability
	}
	texts := ends(ways)
	for i, text := range texts {
		if len(texts) > 1 {
			texts[i] = fmt.Sprintf("%.9g %s", chance[text], text)
		}
	}
	return strings.Join(texts, "; ")
}

// ends are how ways end, in words, sorted and each once.
func ends(ways []Way) []string {
	var out []string
	for i := range ways {
		out = append(out, ways[i].Describe())
	}
	slices.Sort(out)
	return slices.Compact(out)
}
