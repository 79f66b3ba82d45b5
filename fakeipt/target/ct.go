package target

import (
	"bytes"
	"math"
	"strconv"
	"strings"
	"syscall"

	"github.com/chainwalk/chainwalk/fakeipt/xtables"
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

// CT is -j CT.
type CT struct {
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
	ctEvents = xtables.BitNames{Names: xtables.NamesFromBit0("new", "related", "destroy", "reply", "assured", "protoinfo", "helper", "mark",
		"natseqinfo", "secmark")}
	expEvents = xtables.BitNames{Names: xtables.NamesFromBit0("new")}
)

// Name is "CT".
func (*CT) Name() string { return "CT" }

func (t *CT) AppendSave(dst []byte, _ netfilter.Family, _ netfilter.Dialect) []byte {
	return t.appendOptions(dst, " --")
}

func (t *CT) AppendList(dst []byte, _ xtables.ListStyle) []byte {
	return t.appendOptions(append(dst, " CT"...), " ")
}

func (t *CT) appendOptions(dst []byte, prefix string) []byte {
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
		word("ctevents", string(ctEvents.Append(nil, t.CTEvents, ",")))
	}
	if t.ExpEvents != 0 {
		word("expevents", string(expEvents.Append(nil, t.ExpEvents, ",")))
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

// Check: policies of timeouts are objects that no tool here can make, so there is none.
func (t *CT) Check(c *xtables.CheckContext) syscall.Errno {
	if errno := c.WantTable("raw"); errno != 0 || t.Notrack {
		return errno
	}
	proto := c.Rule.Proto
	known := proto.Number != 0 && !proto.Invert
	switch {
	case t.Helper != "" && !(known && (c.Elsewhere || netfilter.HasHelper(t.Helper, uint8(proto.Number), c.Family))):
		return syscall.ENOENT
	case t.Timeout != "" && !known:
		return syscall.EINVAL
	case t.Timeout != "" && !c.Elsewhere:
		return syscall.ENOENT
	}
	return 0
}

// keptTimeout is how much of the name of a timeout the kernel gives back.
const keptTimeout = 4

// Kept: of the name of a timeout, which a rule can only have beside --notrack, the kernel gives back the beginning.
func (t *CT) Kept(netfilter.Dialect) (any, bool) {
	other := *t
	other.Timeout = t.Timeout[:min(len(t.Timeout), keptTimeout)]
	return &other, other != *t
}

var ctExtension = &xtables.Extension{
	Name: "CT",
	Options: []xtables.Option{{Name: "notrack", Flag: true}, {Name: "helper"}, {Name: "timeout"}, {Name: "ctevents"}, {Name: "expevents"},
		{Name: "zone-orig"}, {Name: "zone-reply"}, {Name: "zone"}},
	NewTarget: func() xtables.TargetParser { return &ctParser{} },
}

type ctParser struct {
	t     CT
	arena xtables.Arena[CT]
}

// The lengths of names that -j CT keeps; the tool cuts the rest off.
const (
	maxCTHelper  = 15
	maxCTTimeout = 31
)

func (p *ctParser) Begin(netfilter.Family) { p.t = CT{} }

func (p *ctParser) Option(o *xtables.OptionCall) (err error) {
	switch o.Name {
	case "notrack":
		p.t.Notrack = true
	case "helper":
		p.t.Helper = string(o.Arg[:min(len(o.Arg), maxCTHelper)])
	case "timeout":
		p.t.Timeout = string(o.Arg[:min(len(o.Arg), maxCTTimeout)])
	case "ctevents":
		p.t.CTEvents, err = parseCTEvents(&ctEvents, o.Arg)
	case "expevents":
		p.t.ExpEvents, err = parseCTEvents(&expEvents, o.Arg)
	default:
		return p.zone(o)
	}
	return err
}

func (p *ctParser) zone(o *xtables.OptionCall) error {
	switch o.Name {
	case "zone-orig":
		p.t.ZoneSide |= CTZoneOrig
	case "zone-reply":
		p.t.ZoneSide |= CTZoneReply
	}
	p.t.Zone = 0
	if strings.EqualFold(string(o.Arg), "mark") {
		p.t.ZoneMark = true
		return nil
	}
	n, ok := libc.WholeNumber(o.Arg, math.MaxUint16)
	if !ok {
		return xtables.BadParameter("Cannot parse %s as a zone ID", o.Arg)
	}
	p.t.Zone = uint16(n)
	return nil
}

func parseCTEvents(events *xtables.BitNames, arg []byte) (uint32, error) {
	var set uint32
	for word := range bytes.SplitSeq(arg, []byte(",")) {
		bit := events.Bit(string(word))
		if bit == 0 {
			return 0, xtables.BadParameter("Unknown event type \"%s\"", word)
		}
		set |= bit
	}
	return set, nil
}

func (p *ctParser) Finish(uint32) (xtables.Target, error) {
	if p.t.ZoneSide > CTZoneReply {
		// Both directions are all there are.
		p.t.ZoneSide, p.t.BothNamed = CTZoneBoth, true
	}
	return p.arena.Intern(p.t), nil
}
