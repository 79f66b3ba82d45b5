package fakeipt

import (
	"math"

	"github.com/chainwalk/chainwalk/netfilter"
)

// GroupMatch is a group of devices under a mask.
type GroupMatch struct {
	Value, Mask uint32
	Invert      bool
}

// MatchDevgroup is -m devgroup: the groups of the devices that the packet comes in and goes out by.
type MatchDevgroup struct {
	// Src and Dst are those of the two; they are looked at if HasSrc and HasDst are set.
	Src, Dst       GroupMatch
	HasSrc, HasDst bool
}

// firstGroup is the name of group 0, the only one that has a name on a machine as it was installed.
const firstGroup = "default"

// Name is "devgroup".
func (*MatchDevgroup) Name() string { return "devgroup" }

func (m *MatchDevgroup) appendSave(dst []byte, _ netfilter.Family, _ netfilter.Dialect) []byte {
	if m.HasSrc {
		dst = appendNamedMark(appendOption(dst, "--src-group", m.Src.Invert), m.Src.Value, m.Src.Mask, firstGroup)
	}
	if m.HasDst {
		dst = appendNamedMark(appendOption(dst, "--dst-group", m.Dst.Invert), m.Dst.Value, m.Dst.Mask, firstGroup)
	}
	return dst
}

func (m *MatchDevgroup) appendList(dst []byte, style listStyle) []byte {
	if m.HasSrc {
		dst = style.appendNamedMark(appendOption(dst, "src-group", m.Src.Invert), m.Src.Value, m.Src.Mask, firstGroup)
	}
	if m.HasDst {
		dst = style.appendNamedMark(appendOption(dst, "dst-group", m.Dst.Invert), m.Dst.Value, m.Dst.Mask, firstGroup)
	}
	return dst
}

// appendNamedMark appends a value and, unless it is all ones, its mask; 0 has a name.
func appendNamedMark(dst []byte, value, mask uint32, first string) []byte {
	if value == 0 && mask == math.MaxUint32 {
		return append(append(dst, ' '), first...)
	}
	return appendMark(dst, value, mask)
}

func (style listStyle) appendNamedMark(dst []byte, value, mask uint32, first string) []byte {
	if style.numeric {
		return appendMark(dst, value, mask)
	}
	return appendNamedMark(dst, value, mask, first)
}

// allowedHooks are those at which a packet has the devices.
func (m *MatchDevgroup) allowedHooks(hidden bool) hookMask {
	hooks := hooksAll
	if hidden {
		return hooks
	}
	if m.HasSrc {
		hooks &= hookPrerouting | hookInput | hookForward
	}
	if m.HasDst {
		hooks &= hookForward | hookOutput | hookPostrouting
	}
	return hooks
}

var devgroupExtension = &extension{
	name:     "devgroup",
	options:  []optionSpec{{name: "src-group", invert: true}, {name: "dst-group", invert: true}},
	newMatch: func() matchParser { return &devgroupParser{} },
}

type devgroupParser struct {
	m     MatchDevgroup
	arena arena[MatchDevgroup]
}

func (p *devgroupParser) begin(netfilter.Family) { p.m = MatchDevgroup{} }

func (p *devgroupParser) option(o *optionCall) (err error) {
	group := &p.m.Dst
	if o.name == "src-group" {
		group, p.m.HasSrc = &p.m.Src, true
	} else {
		p.m.HasDst = true
	}
	group.Invert = o.invert
	group.Value, group.Mask, err = o.namedMark(firstGroup)
	return err
}

func (p *devgroupParser) finish(seen uint32) (Match, error) {
	if seen == 0 {
		return nil, badParameter("devgroup match: You must specify either '--src-group' or '--dst-group'")
	}
	return p.arena.intern(p.m), nil
}
