package allpackets

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"

	"github.com/chainwalk/chainwalk/packetsim"
	"github.com/chainwalk/chainwalk/packetsim/inet"
)

// Reply is a reply to a packet, and what becomes of it.
type Reply struct {
	// Probability is how likely the packet goes where this is the reply.
	Probability float64 `json:"probability"`
	// Heard says that the sender gets it from the address that it called, From as it leaves the node.
	Heard bool   `json:"heard"`
	From  string `json:"from,omitempty"`
	// Why says why it is not heard, and Decided by what rule.
	Why     string `json:"why,omitempty"`
	Decided string `json:"decided,omitempty"`
	// Packet is the reply as it comes to the node.
	Packet string `json:"packet,omitempty"`
}

// repliesTo is the replies to a packet, by a walk of it.
func repliesTo(h *packetsim.Host, in inet.Input) (out []Reply) {
	outcomes, err := h.WalkWith(in, packetsim.WalkOptions{Back: true})
	if err != nil {
		return []Reply{{Probability: 1, Why: "what becomes of it is not known: " + err.Error()}}
	}
	for i := range outcomes {
		back := outcomes[i].Back
		if back == nil {
			continue
		}
		one := Reply{Heard: back.Heard, Why: back.Why, Packet: back.Packet}
		if o := back.Outcome; o != nil && o.Verdict == packetsim.Accept {
			one.From = endText(o.Final.Src, o.Final.SrcPort)
		} else if o != nil {
			one.Decided = decidedBy(o)
		}
		at := slices.IndexFunc(out, func(r Reply) bool {
			return r.Heard == one.Heard && r.From == one.From && r.Decided == one.Decided && (one.Heard || r.Why == one.Why)
		})
		if at < 0 {
			at = len(out)
			out = append(out, one)
		}
		out[at].Probability += outcomes[i].Probability
	}
	return out
}

// endText is an address with its port, if it has one.
func endText(a netip.Addr, port uint16) string {
	if port == 0 {
		return a.String()
	}
	return netip.AddrPortFrom(a, port).String()
}

// text is what becomes of the reply.
func (r *Reply) text() string {
	text := "comes back from " + r.From
	if !r.Heard {
		text = "is not heard: " + strings.TrimPrefix(r.Why, "the answer ")
	}
	if r.Probability < 1-tolerance {
		text = fmt.Sprintf("%.4g: %s", r.Probability, text)
	}
	return text
}
