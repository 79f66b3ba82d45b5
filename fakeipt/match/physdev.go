package match

import (
	"bytes"

	"github.com/chainwalk/chainwalk/fakeipt/xtables"
	"github.com/chainwalk/chainwalk/netfilter"
)

// Physdev is -m physdev: the ports of a bridge that the packet came in by or leaves by.
type Physdev struct {
	In, Out *xtables.IfaceMatch // --physdev-in, --physdev-out; nil: any
	// IsIn, IsOut and IsBridged ask whether there is such a port, and whether the
	// packet is bridged and not routed. The Inv fields stand for "!".
	IsIn, IsOut, IsBridged          bool
	InvIsIn, InvIsOut, InvIsBridged bool
}

// Name is "physdev".
func (*Physdev) Name() string { return "physdev" }

func (m *Physdev) AppendSave(dst []byte, _ netfilter.Family, _ netfilter.Dialect) []byte {
	if m.IsIn {
		dst = xtables.AppendOption(dst, "--physdev-is-in", m.InvIsIn)
	}
	dst = appendPhysdev(m.In, dst, "--physdev-in")
	if m.IsOut {
		dst = xtables.AppendOption(dst, "--physdev-is-out", m.InvIsOut)
	}
	dst = appendPhysdev(m.Out, dst, "--physdev-out")
	if m.IsBridged {
		dst = xtables.AppendOption(dst, "--physdev-is-bridged", m.InvIsBridged)
	}
	return dst
}

func (m *Physdev) AppendList(dst []byte, style xtables.ListStyle) []byte {
	return m.AppendSave(append(dst, " PHYSDEV match"...), style.Family, style.Dialect)
}

// appendPhysdev appends " [!] OPTION DEVICE".
func appendPhysdev(m *xtables.IfaceMatch, dst []byte, option string) []byte {
	if m == nil {
		return dst
	}
	dst = append(append(xtables.AppendOption(dst, option, m.Invert), ' '), m.Name...)
	if m.Prefix {
		dst = append(dst, '+')
	}
	return dst
}

// AllowedHooks leaves OUTPUT out for the port that the packet leaves by, which is not known there.
func (m *Physdev) AllowedHooks(hidden bool) xtables.HookMask {
	if hidden || m.Out == nil && !m.IsOut || m.IsBridged && !m.InvIsBridged {
		return xtables.HooksAll
	}
	return xtables.HooksAll &^ xtables.HookOutput
}

var physdevExtension = &xtables.Extension{
	Name: "physdev",
	Options: []xtables.Option{
		{Name: "physdev-in", Invert: true}, {Name: "physdev-out", Invert: true},
		{Name: "physdev-is-in", Flag: true, Invert: true}, {Name: "physdev-is-out", Flag: true, Invert: true},
		{Name: "physdev-is-bridged", Flag: true, Invert: true},
	},
	NewMatch: func() xtables.MatchParser { return &physdevParser{} },
}

type physdevParser struct {
	m Physdev
}

func (p *physdevParser) Begin(netfilter.Family) { p.m = Physdev{} }

func (p *physdevParser) Option(o *xtables.OptionCall) (err error) {
	switch o.Name {
	case "physdev-in":
		p.m.In, err = parsePhysdev(o)
	case "physdev-out":
		p.m.Out, err = parsePhysdev(o)
	case "physdev-is-in":
		p.m.IsIn, p.m.InvIsIn = true, o.Invert
	case "physdev-is-out":
		p.m.IsOut, p.m.InvIsOut = true, o.Invert
	case "physdev-is-bridged":
		p.m.IsBridged, p.m.InvIsBridged = true, o.Invert
	}
	return err
}

// parsePhysdev reads a device; an empty name is one that no device has.
func parsePhysdev(o *xtables.OptionCall) (*xtables.IfaceMatch, error) {
	if len(o.Arg) > xtables.MaxIfaceName {
		return nil, xtables.BadParameter("interface name `%s' must be shorter than IFNAMSIZ (%d)", o.Arg, xtables.MaxIfaceName)
	}
	xtables.WarnOfDevice(o, o.Arg)
	name, prefix := bytes.CutSuffix(o.Arg, []byte("+"))
	return &xtables.IfaceMatch{Name: string(name), Prefix: prefix, Invert: o.Invert}, nil
}

func (p *physdevParser) Finish(seen uint32) (xtables.Match, error) {
	if seen == 0 {
		return nil, xtables.BadParameter("PHYSDEV: no physdev option specified")
	}
	m := p.m
	return &m, nil
}
