package allpackets

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"

	"github.com/chainwalk/chainwalk/forall"
	"github.com/chainwalk/chainwalk/netfilter"
	"github.com/chainwalk/chainwalk/packetsim"
	"github.com/chainwalk/chainwalk/packetsim/inet"
	"github.com/chainwalk/chainwalk/scenarios/explain/names"
)

// Kind is one kind of packets of all that there are.
type Kind struct {
	Family netfilter.Family `json:"family"`
	Class  string           `json:"class"`
	// Share is how much of all packets of the family and class are of the kind.
	Share float64 `json:"share"`
	// Packets is a range of them, If the conditions that it depends on, and Packet a likely one, with the names of its Ends.
	Packets string   `json:"packets"`
	If      []string `json:"if,omitempty"`
	Packet  string   `json:"packet"`
	Ends    string   `json:"ends,omitempty"`
}

// kindOf is the kind of the packets of a box, with a likely one of them.
func kindOf(space *forall.Space, share float64, likely *inet.Input, book *names.Book) Kind {
	k := Kind{
		Family: space.Family, Class: space.Class.String(), Share: share,
		Packets: space.String(), Packet: likely.String(), Ends: endsOf(book, likely),
	}
	for _, n := range space.Names {
		if n.Holds {
			k.If = append(k.If, n.String())
		} else {
			k.If = append(k.If, "not "+n.String())
		}
	}
	return k
}

// endsOf names the ends of a packet.
func endsOf(book *names.Book, in *inet.Input) string {
	if book == nil {
		return ""
	}
	var out []string
	if name := book.Address(in.Src); name != "" {
		out = append(out, "from "+name)
	}
	if name := book.Destination(in.Proto, netip.AddrPortFrom(in.Dst, in.DstPort)); name != "" {
		out = append(out, "to "+name)
	} else if name := book.Address(in.Dst); name != "" {
		out = append(out, "to "+name)
	}
	return strings.Join(out, ", ")
}

// endsOfBoth names the ends of a packet, by both sides if these name them otherwise.
func endsOfBoth(sides *[2]Side, in *inet.Input) string {
	before, after := endsOf(sides[0].Names, in), endsOf(sides[1].Names, in)
	switch {
	case before == "" || before == after:
		return after
	case after == "":
		return before + " (before)"
	}
	return before + "; after: " + after
}

// tolerance is what a draw of iptables that counts as 1/n may be off by, for all endpoints of a service together.
const tolerance = 1e-6

// confirm is an error if a walk of a packet says something else than was worked out for it. That is a mistake of chainwalk.
func confirm(h *packetsim.Host, class forall.Class, in inet.Input, want forall.Distribution, left forall.Part) error {
	otherwise, err := forall.Confirm(h, class, in, want, left, tolerance)
	if err != nil || otherwise == "" {
		return nil //nolint:nilerr // a walk that cannot say what becomes of a packet contradicts nothing, and decided says why
	}
	return fmt.Errorf("%s: a walk says something else than was worked out, so nothing can be said: %s "+
		"(please report this mistake of chainwalk)", in, otherwise)
}

// decided is what decides about a packet, for each outcome of a walk of it: the rule that translates it if it passes, or else the last rule
// or policy that it meets, or why the kernel stops it without a rule.
func decided(h *packetsim.Host, class forall.Class, in inet.Input) (out []string) {
	outcomes, err := h.WalkWith(in, packetsim.WalkOptions{State: class.State()})
	if err != nil {
		return []string{err.Error()}
	}
	for i := range outcomes {
		text := decidedBy(&outcomes[i])
		if !slices.Contains(out, text) {
			out = append(out, text)
		}
	}
	return out
}

// decidedBy is what decides in one outcome.
func decidedBy(o *packetsim.Outcome) string {
	switch {
	case o.Why != "":
		return "no rule: " + o.Why
	case len(o.Steps) == 0:
		return "no rule: it meets none"
	}
	by := &o.Steps[len(o.Steps)-1]
	translates := func(s packetsim.Step) bool { return s.Rule != nil && s.Rule.Fact.Translation.Of != "" }
	if at := slices.IndexFunc(o.Steps, translates); at >= 0 && o.Verdict == packetsim.Accept {
		by = &o.Steps[at]
	}
	return strings.TrimSpace(fmt.Sprintf("%s %s", by, by.Text()))
}
