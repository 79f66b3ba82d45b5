package match

import (
	"math"

	"github.com/chainwalk/chainwalk/fakeipt/xtables"
	"github.com/chainwalk/chainwalk/netfilter"
)

// GroupMatch is a group of devices under a mask.
type GroupMatch struct {
	Value, Mask uint32
	Invert      bool
}

// Devgroup is -m devgroup: the groups of the devices that the packet comes in and goes out by.
type Devgroup struct {
	// Src and Dst are the groups of the two devices; they count if HasSrc and HasDst are set.
	Src, Dst       GroupMatch
	HasSrc, HasDst bool
}

// firstGroup is the name of group 0, the only one that has a name on a machine as it was installed.
const firstGroup = "default"

// Name is "devgroup".
func (*Devgroup) Name() string { return "devgroup" }

func (m *Devgroup) AppendSave(dst []byte, _ netfilter.Family, _ netfilter.Dialect) []byte {
	if m.HasSrc {
		dst = appendNamedMark(xtables.AppendOption(dst, "--src-group", m.Src.Invert), m.Src.Value, m.Src.Mask, firstGroup)
	}
	if m.HasDst {
		dst = appendNamedMark(xtables.AppendOption(dst, "--dst-group", m.Dst.Invert), m.Dst.Value, m.Dst.Mask, firstGroup)
	}
	return dst
}

func (m *Devgroup) AppendList(dst []byte, style xtables.ListStyle) []byte {
	if m.HasSrc {
		dst = listNamedMark(style, xtables.AppendOption(dst, "src-group", m.Src.Invert), m.Src.Value, m.Src.Mask, firstGroup)
	}
	if m.HasDst {
		dst = listNamedMark(style, xtables.AppendOption(dst, "dst-group", m.Dst.Invert), m.Dst.Value, m.Dst.Mask, firstGroup)
	}
	return dst
}

// appendNamedMark appends a value and, unless it is all ones, its mask; 0 has a name.
func appendNamedMark(dst []byte, value, mask uint32, first string) []byte {
	if value == 0 && mask == math.MaxUint32 {
		return append(append(dst, ' '), first...)
	}
	return xtables.AppendMark(dst, value, mask)
}

// listNamedMark is the same in a listing, which has the name unless it is numeric.
func listNamedMark(style xtables.ListStyle, dst []byte, value, mask uint32, first string) []byte {
	if style.Numeric {
		return xtables.AppendMark(dst, value, mask)
	}
	return appendNamedMark(dst, value, mask, first)
}

// AllowedHooks are those at which a packet has the devices.
func (m *Devgroup) AllowedHooks(hidden bool) xtables.HookMask {
	hooks := xtables.HooksAll
	if hidden {
		return hooks
	}
	if m.HasSrc {
		hooks &= xtables.HookPrerouting | xtables.HookInput | xtables.HookForward
	}
	if m.HasDst {
		hooks &= xtables.HookForward | xtables.HookOutput | xtables.HookPostrouting
	}
	return hooks
}

var devgroupExtension = &xtables.Extension{
	Name:     "devgroup",
	Options:  []xtables.Option{{Name: "src-group", Invert: true}, {Name: "dst-group", Invert: true}},
	NewMatch: func() xtables.MatchParser { return &devgroupParser{} },
}

type devgroupParser struct {
	m     Devgroup
	arena xtables.Arena[Devgroup]
}

func (p *devgroupParser) Begin(netfilter.Family) { p.m = Devgroup{} }

func (p *devgroupParser) Option(o *xtables.OptionCall) (err error) {
	group := &p.m.Dst
	if o.Name == "src-group" {
		group, p.m.HasSrc = &p.m.Src, true
	} else {
		p.m.HasDst = true
	}
	group.Invert = o.Invert
	group.Value, group.Mask, err = o.NamedMark(firstGroup)
	return err
}

func (p *devgroupParser) Finish(seen uint32) (xtables.Match, error) {
	if seen == 0 {
		return nil, xtables.BadParameter("devgroup match: You must specify either '--src-group' or '--dst-group'")
	}
	return p.arena.Intern(p.m), nil
}
