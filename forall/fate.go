package forall

import (
	"cmp"
	"fmt"
	"net/netip"
	"slices"
	"strings"

	"github.com/chainwalk/chainwalk/packetsim"
)

// Fate is what becomes of a packet. Rules and places are no part of it: packets that are dropped are alike wherever they were.
type Fate struct {
	Verdict    packetsim.Verdict     `json:"verdict"`
	To         packetsim.Destination `json:"to"`
	RejectWith string                `json:"rejectWith,omitempty"`
	Out        string                `json:"out,omitempty"` // the device of a forwarded packet
	// Dst and DstPort are the translated destination; an invalid address and 0: as in the packet.
	Dst     netip.Addr `json:"dst,omitzero"`
	DstPort uint16     `json:"dport,omitempty"`
	// Src is the translated source; invalid: as in the packet. Ports that the kernel chooses are not told.
	Src  netip.Addr `json:"src,omitzero"`
	Mark uint32     `json:"mark,omitempty"`
	// Unmodelled says why the fate is not known; empty: it is known, and otherwise nothing else of it is.
	Unmodelled string `json:"unmodelled,omitempty"`
	// Way is the nodes that the packet passed, from the first to the last, if there are others to go through (Options.Through).
	Way string `json:"way,omitempty"`
	// Back is what becomes of the reply, if that was asked for (Options.Replies); its zero value: nobody replies.
	Back Back `json:"back,omitzero"`
}

// String is the fate in a few words.
func (f Fate) String() string {
	if f.Unmodelled != "" {
		return "not known: " + f.Unmodelled
	}
	var b strings.Builder
	b.WriteString(string(f.Verdict))
	switch {
	case f.RejectWith != "":
		b.WriteString(" with " + f.RejectWith)
	case f.To == packetsim.ToLocal:
		b.WriteString(" local")
	case f.To == packetsim.ToForward:
		b.WriteString(" out of " + f.Out)
	}
	if f.Dst.IsValid() || f.DstPort != 0 {
		dst := "its address"
		if f.Dst.IsValid() {
			dst = f.Dst.String()
		}
		if b.WriteString(", to " + dst); f.DstPort != 0 {
			fmt.Fprintf(&b, " port %d", f.DstPort)
		}
	}
	if f.Src.IsValid() {
		b.WriteString(", from " + f.Src.String())
	}
	if f.Mark != 0 {
		fmt.Fprintf(&b, ", mark %#x", f.Mark)
	}
	if f.Way != "" {
		b.WriteString(" on " + f.Way)
	}
	if f.Back != (Back{}) {
		b.WriteString(" (reply: " + f.Back.String() + ")")
	}
	return b.String()
}

// Arrives says whether the packet gets anywhere.
func (f *Fate) Arrives() bool { return f.Unmodelled == "" && f.Verdict == packetsim.Accept }

// Why the fates of packets are not known that go to several receivers, or are of some other kinds.
const (
	toGroup     = "multicast"
	toEverybody = "a packet of the host to everybody on a link"
	extended    = "the protocol behind an extension header"
	bridgePort  = "a packet that comes in by a port of a bridge"
)

// ToMany says that the fate is not known since the packet goes to several receivers, by multicast or broadcast.
func (f *Fate) ToMany() bool { return f.Unmodelled == toGroup || f.Unmodelled == toEverybody }

// IsAside says that the fate is not known since the packet is of a kind that no host's rules are compared by: it goes to several receivers,
// has extension headers, or comes by a device that only another host has or that is a port of a bridge.
func (f *Fate) IsAside() bool {
	return f.ToMany() || f.Unmodelled == extended || f.Unmodelled == noDevice || f.Unmodelled == bridgePort
}

// without is the fate but for some parts.
func (f Fate) without(p Part) Fate {
	if f.Unmodelled != "" {
		return f
	}
	if p&(Mark|Detail) != 0 {
		f.Mark = 0
	}
	if p&(Source|Detail) != 0 {
		f.Src = netip.Addr{}
	}
	if p&Detail != 0 {
		f.Dst, f.DstPort, f.RejectWith = netip.Addr{}, 0, ""
	}
	return f
}

func compareFates(a, b Fate) int {
	return cmp.Or(cmp.Compare(a.Verdict, b.Verdict), cmp.Compare(a.To, b.To),
		cmp.Compare(a.RejectWith, b.RejectWith), cmp.Compare(a.Out, b.Out),
		a.Dst.Compare(b.Dst), cmp.Compare(a.DstPort, b.DstPort), a.Src.Compare(b.Src), cmp.Compare(a.Mark, b.Mark),
		cmp.Compare(a.Unmodelled, b.Unmodelled), cmp.Compare(a.Way, b.Way), compareBacks(a.Back, b.Back))
}

// Share is a fate and how likely it is.
type Share struct {
	Fate        Fate    `json:"fate"`
	Probability float64 `json:"probability"`
}

// Distribution is the fates that packets have by chance; their probabilities add up to 1.
type Distribution []Share

// String is the fates with their probabilities.
func (d Distribution) String() string {
	if len(d) == 1 {
		return d[0].Fate.String()
	}
	texts := make([]string, len(d))
	for i, s := range d {
		texts[i] = fmt.Sprintf("%.4g: %s", s.Probability, s.Fate)
	}
	return strings.Join(texts, "; ")
}

// Known says whether all of its fates are known.
func (d Distribution) Known() bool {
	return !slices.ContainsFunc(d, func(s Share) bool { return s.Fate.Unmodelled != "" })
}
