package xtables

import (
	"net/netip"

	"github.com/chainwalk/chainwalk/netfilter"
)

// Rule is one rule of a chain. A Rule is immutable but for its Counters, and is shared
// by every ruleset that holds it. The fields outside Matches and Target are
// those of the kernel's struct ipt_ip and ip6t_ip6.
type Rule struct {
	Src, Dst  *AddrMatch  // nil: any
	In, Out   *IfaceMatch // nil: any
	Proto     ProtoMatch
	Fragment  FragmentMatch
	HasOpaque bool    // an extension is not known
	Matches   []Match // in the order given, which is the order of evaluation
	Target    Target  // nil: count and go on
	Counters  *netfilter.Counters
	// Handle is the number of the rule within its table that the kernel gave it; 0 if the tools are the legacy ones.
	Handle uint64
}

// AddrMatch is -s or -d: an address under a mask, which need not be a prefix.
type AddrMatch struct {
	Addr, Mask netip.Addr // Addr is masked, but for those of -m conntrack
	Invert     bool
}

// IfaceMatch is -i or -o. Prefix stands for a trailing "+".
type IfaceMatch struct {
	Name   string // without the "+"
	Prefix bool
	Invert bool
}

// MaxIfaceName is the length of a device's name.
const MaxIfaceName = 15

// ProtoMatch is -p. Number 0 is any protocol; one beyond 255, which the legacy tools take (mptcp), is none that a packet has.
type ProtoMatch struct {
	Number uint16
	Invert bool
	// All says that all protocols were asked for by name: the legacy tools of IPv6 take the rule for another one then.
	All bool
}

// FragmentMatch is -f (IPv4 only).
type FragmentMatch uint8

// FragmentAny matches every packet.
const (
	FragmentAny FragmentMatch = iota
	FragmentOnly
	FragmentNot
)

// Reads is what a match looks at.
type Reads struct {
	netfilter.Reading
	// Dst and DstMasks are the destinations that it compares with, now or of the connection; nil masks do not count. DstPorts are the
	// ports of the destination that it holds for; none: it says nothing of them that can be said so.
	Dst      []AddrRange
	DstMasks []*AddrMatch
	DstPorts []PortRange
}

// AddrRange is the addresses from Min to Max.
type AddrRange struct{ Min, Max netip.Addr }

// Match is one "-m NAME ..." of a rule; the concrete types are in package match, one file for
// each extension: the data is public, since packetsim evaluates it.
type Match interface {
	// Name is the extension's name as -m spells it.
	Name() string
	// AppendSave appends the options behind "-m NAME" as iptables-save prints them.
	AppendSave(dst []byte, family netfilter.Family, dialect netfilter.Dialect) []byte
	// AppendList appends what a listing says about the match.
	AppendList(dst []byte, style ListStyle) []byte
	// AddReads adds what the match looks at beside its protocol, source and source port.
	AddReads(*Reads)
}

// Target is what a rule does with the packet it matches; the concrete types are in package target.
type Target interface {
	// Name is the target's name as -j spells it.
	Name() string
	// AppendSave appends the options behind "-j NAME" as iptables-save prints them.
	AppendSave(dst []byte, family netfilter.Family, dialect netfilter.Dialect) []byte
	// AppendList appends what a listing says about the target.
	AppendList(dst []byte, style ListStyle) []byte
	// Reads is what the target looks at.
	Reads() netfilter.Reading
}
