package fakeipt

import (
	"bytes"
	"math"
	"strconv"
	"strings"
	"syscall"

	"github.com/chainwalk/chainwalk/internal/libc"
	"github.com/chainwalk/chainwalk/netfilter"
)

// CTZoneSide is the direction of a connection that -j CT's zone is for.
type CTZoneSide uint8

// The directions: --zone, --zone-orig and --zone-reply.
const (
	CTZoneBoth CTZoneSide = iota
	CTZoneOrig
	CTZoneReply
)

// TargetCT is -j CT.
type TargetCT struct {
	Notrack bool
	Zone    uint16 // 0: none
	// ZoneMark is --zone mark: the zone is the packet's mark.
	ZoneMark bool
	ZoneSide CTZoneSide
	// BothNamed says that each direction was given, one after the other. The tools take the rule for another one than that
	// with --zone, though it is saved alike.
	BothNamed bool
	Helper    string
	Timeout   string
	// CTEvents and ExpEvents are the kernel's bits of --ctevents and --expevents.
	CTEvents, ExpEvents uint32
}

// ctEvents and expEvents are the names of the kernel's events.
var (
	ctEvents = bitNames{names: namesFromBit0("new", "related", "destroy", "reply", "assured", "protoinfo", "helper", "mark",
		"natseqinfo", "secmark")}
	expEvents = bitNames{names: namesFromBit0("new")}
)

// Name is "CT".
func (*TargetCT) Name() string { return "CT" }

func (t *TargetCT) appendSave(dst []byte, _ netfilter.Family, _ netfilter.Dialect) []byte {
	return t.appendOptions(dst, " --")
}

func (t *TargetCT) appendList(dst []byte, _ listStyle) []byte {
	return t.appendOptions(append(dst, " CT"...), " ")
}

func (t *TargetCT) appendOptions(dst []byte, prefix string) []byte {
	word := func(name, value string) {
		dst = append(append(append(append(dst, prefix...), name...), ' '), value...)
	}
	if t.Notrack {
		dst = append(append(dst, prefix...), "notrack"...)
	}
	if t.Helper != "" {
		word("helper", t.Helper)
	}
	if t.Timeout != "" {
		word("timeout", t.Timeout)
	}
	if t.CTEvents != 0 {
		word("ctevents", string(ctEvents.append(nil, t.CTEvents, ",")))
	}
	if t.ExpEvents != 0 {
		word("expevents", string(expEvents.append(nil, t.ExpEvents, ",")))
	}
	if t.Zone != 0 || t.ZoneMark {
		value := "mark"
		if !t.ZoneMark {
			value = strconv.Itoa(int(t.Zone))
		}
		word([...]string{"zone", "zone-orig", "zone-reply"}[t.ZoneSide], value)
	}
	return dst
}

// ctHelpers are the helpers of the kernel's own.
var ctHelpers = [...]struct {
	name     string
	proto    uint8
	onlyIPv4 bool
}{
	{"ftp", libc.ProtoTCP, false}, {"Q.931", libc.ProtoTCP, false}, {"irc", libc.ProtoTCP, true}, {"pptp", libc.ProtoTCP, true},
	{"sane", libc.ProtoTCP, false},
	{"sip", libc.ProtoTCP, false}, {"amanda", libc.ProtoUDP, false}, {"RAS", libc.ProtoUDP, false}, {"H.245", libc.ProtoUDP, false},
	{"netbios-ns", libc.ProtoUDP, true}, {"snmp", libc.ProtoUDP, true}, {"snmp_trap", libc.ProtoUDP, true},
	{"sip", libc.ProtoUDP, false}, {"tftp", libc.ProtoUDP, false},
}

// check: policies of timeouts are objects that no tool here can make, so there is none.
func (t *TargetCT) check(c *checkContext) syscall.Errno {
	if errno := c.wantTable("raw"); errno != 0 || t.Notrack {
		return errno
	}
	proto := c.rule.Proto
	known := proto.Number != 0 && !proto.Invert
	switch {
	case t.Helper != "" && !(known && (c.elsewhere || hasCTHelper(t.Helper, proto.Number, c.family))):
		return syscall.ENOENT
	case t.Timeout != "" && !known:
		return syscall.EINVAL
	case t.Timeout != "" && !c.elsewhere:
		return syscall.ENOENT
	}
	return 0
}

func hasCTHelper(name string, proto uint16, f netfilter.Family) bool {
	for _, h := range ctHelpers {
		if h.name == name && uint16(h.proto) == proto && (f == netfilter.IPv4 || !h.onlyIPv4) {
			return true
		}
	}
	return false
}

// keptTimeout is how much of the name of a timeout the kernel gives back.
const keptTimeout = 4

// kept: of the name of a timeout, which a rule can only have beside --notrack, the kernel gives back the beginning.
func (t *TargetCT) kept(netfilter.Dialect) (any, bool) {
	other := *t
	other.Timeout = t.Timeout[:min(len(t.Timeout), keptTimeout)]
	return &other, other != *t
}

var ctExtension = &extension{
	name: "CT",
	options: []optionSpec{{name: "notrack", flag: true}, {name: "helper"}, {name: "timeout"}, {name: "ctevents"}, {name: "expevents"},
		{name: "zone-orig"}, {name: "zone-reply"}, {name: "zone"}},
	newTarget: func() targetParser { return &ctParser{} },
}

type ctParser struct {
	t     TargetCT
	arena arena[TargetCT]
}

// The lengths of names that -j CT keeps; the tool cuts the rest off.
const (
	maxCTHelper  = 15
	maxCTTimeout = 31
)

func (p *ctParser) begin(netfilter.Family) { p.t = TargetCT{} }

func (p *ctParser) option(o *optionCall) (err error) {
	switch o.name {
	case "notrack":
		p.t.Notrack = true
	case "helper":
		p.t.Helper = string(o.arg[:min(len(o.arg), maxCTHelper)])
	case "timeout":
		p.t.Timeout = string(o.arg[:min(len(o.arg), maxCTTimeout)])
	case "ctevents":
		p.t.CTEvents, err = parseCTEvents(&ctEvents, o.arg)
	case "expevents":
		p.t.ExpEvents, err = parseCTEvents(&expEvents, o.arg)
	default:
		return p.zone(o)
	}
	return err
}

func (p *ctParser) zone(o *optionCall) error {
	switch o.name {
	case "zone-orig":
		p.t.ZoneSide |= CTZoneOrig
	case "zone-reply":
		p.t.ZoneSide |= CTZoneReply
	}
	p.t.Zone = 0
	if strings.EqualFold(string(o.arg), "mark") {
		p.t.ZoneMark = true
		return nil
	}
	n, ok := libc.WholeNumber(o.arg, math.MaxUint16)
	if !ok {
		return badParameter("Cannot parse %s as a zone ID", o.arg)
	}
	p.t.Zone = uint16(n)
	return nil
}

func parseCTEvents(events *bitNames, arg []byte) (uint32, error) {
	var set uint32
	for word := range bytes.SplitSeq(arg, []byte(",")) {
		bit := events.bit(string(word))
		if bit == 0 {
			return 0, badParameter("Unknown event type \"%s\"", word)
		}
		set |= bit
	}
	return set, nil
}

func (p *ctParser) finish(uint32) (Target, error) {
	if p.t.ZoneSide > CTZoneReply {
		// Both directions are all there are.
		p.t.ZoneSide, p.t.BothNamed = CTZoneBoth, true
	}
	return p.arena.intern(p.t), nil
}
