package certificate

import (
	"cmp"
	"fmt"
	"math/big"
	"net/netip"
	"strings"

	"github.com/chainwalk/chainwalk/netfilter"
	"github.com/chainwalk/chainwalk/packetsim"
	"github.com/chainwalk/chainwalk/packetsim/inet"
	"github.com/chainwalk/chainwalk/packetsim/snapshot"
)

// Version is the version of the document that this package reads and writes.
const Version = 1

// Certificate says what two hosts do with all packets of some classes.
type Certificate struct {
	// Version is the constant of that name.
	Version int `json:"version"`
	// Before and After are the two hosts.
	Before Input `json:"before"`
	After  Input `json:"after"`
	// Chance is "ideal", if a draw as near to 1/n as a rule can say it counts as 1/n, or "exact".
	Chance Chance `json:"chance"`
	// Ignore is what fates do not say: "mark", "source" (what it is translated to), or "detail" (everything but the verdict and where the
	// packet goes).
	Ignore []Part `json:"ignore"`
	// Same says that both hosts treat the packets of all boxes alike that are not open.
	Same bool `json:"same"`
	// Fates are what boxes say of their packets, by their numbers from 0 on.
	Fates []Distribution `json:"fates"`
	// Parts have the boxes, each those of a family and class.
	Parts []Boxes `json:"parts"`
}

// Chance is how draws are read.
type Chance string

// The readings.
const (
	Ideal Chance = "ideal"
	Exact Chance = "exact"
)

// Part is a part of fates that a certificate may leave out.
type Part string

// The parts.
const (
	Mark   Part = "mark"
	Source Part = "source"
	Detail Part = "detail"
)

// Input is a host: a text that says all of it, so that who checks a certificate needs nothing else.
type Input struct {
	// Name is how messages call it.
	Name string `json:"name"`
	// Text is a NodeSnapshot, or rules as iptables-save, ip6tables-save and nft list ruleset print them.
	Text string `json:"text"`
	// Local are the addresses of a host of which only the rules are known.
	Local []netip.Addr `json:"local,omitempty"`
	// Tools are the only ones whose rules count, legacy or nft; empty: both.
	Tools netfilter.Dialect `json:"tools,omitempty"`
}

// Host is the host without its connections.
func (i *Input) Host() (*packetsim.Host, error) {
	known := snapshot.RulesOptions{Local: i.Local, Dialect: i.Tools}
	saved, err := snapshot.ReadSaved(i.Name, strings.NewReader(i.Text), known)
	switch {
	case err == nil:
		return saved.Host(inet.Input{})
	case !isSnapshot(err):
		return nil, err
	}
	node, err := snapshot.Read(i.Name, strings.NewReader(i.Text))
	if err != nil {
		return nil, err
	}
	node.Conntrack = nil
	return snapshot.NewHost(node, snapshot.HostOptions{Dialect: i.Tools})
}

// Boxes are boxes of a family and class, disjoint and with all of its packets.
type Boxes struct {
	Family netfilter.Family `json:"family"`
	// Class is the name of a class, such as New; empty: New.
	Class string `json:"class,omitempty"`
	Boxes []Box  `json:"boxes"`
}

// class is what is known of the class, whose name is one.
func (b *Boxes) class() *class { return classes[cmp.Or(b.Class, New)] }

// Box is packets, by the ranges that each part of them is in, and what becomes of them. Ports are those of packets that have ports;
// others are in the box whatever these say.
type Box struct {
	Dst      Addrs   `json:"dst"`
	DstPorts Numbers `json:"dports"`
	Protos   Numbers `json:"protos"`
	Src      Addrs   `json:"src"`
	SrcPorts Numbers `json:"sports"`
	// In are the devices by which the packets come; Host is the host itself.
	In []string `json:"in"`
	// Fates is the number of the fates on both hosts, where they are the same. Otherwise Before and After are the numbers of those on
	// either host, and Witness is a packet of the box, as trace takes it.
	Fates   *int   `json:"fates,omitempty"`
	Before  *int   `json:"before,omitempty"`
	After   *int   `json:"after,omitempty"`
	Witness string `json:"witness,omitempty"`
	// Open says why the certificate does not say what becomes of the packets; empty: it does.
	Open string `json:"open,omitempty"`
}

// on is the number of the fates on a host, 0 for that before and 1 for that after.
func (b *Box) on(side int) int {
	switch {
	case b.Fates != nil:
		return *b.Fates
	case side == 0:
		return *b.Before
	}
	return *b.After
}

// Distribution is the fates that packets have by chance.
type Distribution []Share

// Share is a fate, and how likely it is.
type Share struct {
	Weight Weight `json:"weight"`
	Fate
}

// Fate is what becomes of a packet.
type Fate struct {
	Verdict    packetsim.Verdict     `json:"verdict"`
	To         packetsim.Destination `json:"to"`
	RejectWith string                `json:"rejectWith,omitempty"`
	Out        string                `json:"out,omitempty"` // the device of a forwarded packet
	// Dst, DstPort and Src are what a packet is translated to that gets somewhere; not set: as in the packet.
	Dst     netip.Addr `json:"dst,omitzero"`
	DstPort uint16     `json:"dport,omitempty"`
	Src     netip.Addr `json:"src,omitzero"`
	Mark    uint32     `json:"mark,omitempty"`
}

// Weight is a probability as an exact fraction, written "1/3", or "1".
type Weight struct{ *big.Rat }

// MarshalText is the fraction in its lowest terms.
func (w Weight) MarshalText() ([]byte, error) { return []byte(w.RatString()), nil }

// UnmarshalText reads what MarshalText writes. A probability is more than 0 and at most 1.
func (w *Weight) UnmarshalText(text []byte) error {
	r, ok := new(big.Rat), len(text) <= longestWeight && isFraction(string(text))
	if ok {
		r, ok = r.SetString(string(text))
	}
	if !ok || r.Sign() <= 0 || r.Cmp(certain) > 0 || r.RatString() != string(text) {
		return fmt.Errorf("%.40q: want a probability above 0 and up to 1 as a fraction in its lowest terms, such as 1/3", text)
	}
	w.Rat = r
	return nil
}

// longestWeight is how long a fraction may be: as that of the last of a thousand endpoints, by draws of multiples of 2^-31.
const longestWeight = 1 << 15

var certain = big.NewRat(1, 1)

// isFraction says whether a text has digits only, and a slash between them.
func isFraction(text string) bool {
	above, below, two := strings.Cut(text, "/")
	return isDigits(above) && (!two || isDigits(below) && strings.Trim(below, "0") != "")
}

func isDigits(text string) bool { return text != "" && strings.Trim(text, "0123456789") == "" }
