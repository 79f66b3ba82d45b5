package netfilter

import (
	"net/netip"
	"slices"
	"time"
)

// Fact is what a rule means, in whatever language it is written. The package that knows the language makes it: nobody else reads the text
// of rules.
type Fact struct {
	// Comment is what the rule's author wrote beside it, as it was meant: without quotes and escapes. Several are joined by a space.
	Comment string
	// Conditions are what a packet must have for the rule to hold.
	Conditions Conditions
	// Verdict ends the packet's way through the chain; empty if the rule gives none.
	Verdict Verdict
	// Jump is the chain that the rule leads to, and Goto says that the packet does not come back behind the rule.
	Jump string
	Goto bool
	// Translation is what becomes of the addresses of a connection whose first packet meets the rule; its Kind is empty if they are left.
	Translation Translation
	// Reject is the answer that the packet's sender gets, in the words of --reject-with, and the packet goes no further; empty if the rule
	// rejects nothing.
	Reject string
	// Mark is what becomes of the packet's mark; nil if the rule leaves it.
	Mark *Mark
	// Memories are what the rule asks of the kernel's memory or writes there, in the order of the rule.
	Memories []Memory
	// Other is the name of a target that does something which the words above do not say, such as LOG; empty if there is none.
	Other string
	// Opaque says that the rule has an extension of which nothing but the name is known.
	Opaque bool
}

// Verdict is a decision about a packet that ends its way through a chain. As a chain's policy it is what happens at the chain's end.
type Verdict string

// The verdicts, as netfilter calls them.
const (
	Accept Verdict = "ACCEPT"
	Drop   Verdict = "DROP"
	Return Verdict = "RETURN"
	Queue  Verdict = "QUEUE"
)

// Conditions are what a rule asks of a packet. What these words cannot say stands in Others.
type Conditions struct {
	Src, Dst netip.Prefix // not valid: any
	In, Out  string       // devices; empty: any
	Protocol uint8        // its number; 0: any
	DstPorts PortRange    // of TCP, UDP or SCTP; zero: any
	States   []string     // of the packet's connection, in the words of --ctstate; nil: any
	// Chance says that one of the Others holds at random.
	Chance bool
	// Others are the names of extensions, and of "source", "destination", "in", "out", "protocol" and "fragment" where it is no plain one.
	Others []string
}

// PortRange is a range of ports with both its ends.
type PortRange struct{ Min, Max uint16 }

// Any says whether the conditions hold for every packet.
func (c *Conditions) Any() bool {
	return !c.Src.IsValid() && !c.Dst.IsValid() && c.In == "" && c.Out == "" && c.Protocol == 0 && c.DstPorts == (PortRange{}) &&
		c.States == nil && len(c.Others) == 0
}

// AsksFor says whether one of the Others is of that name.
func (c *Conditions) AsksFor(name string) bool { return slices.Contains(c.Others, name) }

// Translation is what network address translation makes of a connection's addresses.
type Translation struct {
	Kind TranslationKind
	// Of is the side that is translated; empty where the hook decides that (NETMAP).
	Of Side
	// The range that is chosen from. An address that is not valid is kept, or chosen by the kernel (masquerade, redirect); a port of 0 is kept
	// if that is possible.
	MinAddr, MaxAddr netip.Addr
	MinPort, MaxPort uint16
}

// TranslationKind is a kind of translation; empty for none.
type TranslationKind string

// The kinds of translation.
const (
	DNAT       TranslationKind = "dnat"
	SNAT       TranslationKind = "snat"
	Masquerade TranslationKind = "masquerade" // the source becomes an address of the device that the packet leaves by
	Redirect   TranslationKind = "redirect"   // the destination becomes the host itself
	Netmap     TranslationKind = "netmap"     // the network of an address becomes another one; the rest of the address is kept
)

// To is the one address and port that destinations are translated to; not valid if the rule does something else, or has several to choose
// from.
func (t *Translation) To() netip.AddrPort {
	if t.Kind != DNAT || t.MinAddr != t.MaxAddr || t.MinPort != t.MaxPort {
		return netip.AddrPort{}
	}
	return netip.AddrPortFrom(t.MinAddr, t.MinPort)
}

// Side is one of a packet's two addresses, with its port.
type Side string

// The sides.
const (
	Source      Side = "source"
	Destination Side = "destination"
)

// Mark is what a rule makes of a mark: the bits of Mask are cleared, and then those of Value are flipped.
type Mark struct{ Value, Mask uint32 }

// Memory is an object of the kernel that outlives the packet, and what a rule does with it.
type Memory struct {
	Kind MemoryKind
	// Name is the object's.
	Name string
	// Reads: the rule holds only for what is there. Writes: it adds to the object or renews what is there. Removes: it takes something out.
	Reads, Writes, Removes bool
	// Within is how old at most what is there may be; 0: any age.
	Within time.Duration
}

// MemoryKind is a kind of object.
type MemoryKind string

// The kinds of memory.
const (
	Recent     MemoryKind = "recent" // a list of addresses that were seen, with their times (xt_recent)
	Set        MemoryKind = "set"    // a set of addresses, ports and the like
	Accounting MemoryKind = "nfacct" // an object that counts packets
)

// HasTarget says whether the rule does anything with a packet but to count it and, by its conditions, to remember it.
func (f *Fact) HasTarget() bool {
	return f.Verdict != "" || f.Jump != "" || f.Translation.Kind != "" || f.Reject != "" || f.Mark != nil || f.Other != ""
}

// Remembers says whether the rule has part in a memory of a kind.
func (f *Fact) Remembers(kind MemoryKind) bool {
	return slices.ContainsFunc(f.Memories, func(m Memory) bool { return m.Kind == kind })
}
