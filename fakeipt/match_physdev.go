package fakeipt

import (
	"bytes"

	"github.com/chainwalk/chainwalk/netfilter"
)

// MatchPhysdev is -m physdev: the ports of a bridge that the packet came in by or leaves by.
type MatchPhysdev struct {
	In, Out *IfaceMatch // --physdev-in, --physdev-out; nil: any
	// IsIn, IsOut and IsBridged ask whether there is such a port, and whether the
	// packet is bridged and not routed. The Inv fields stand for "!".
	IsIn, IsOut, IsBridged          bool
	InvIsIn, InvIsOut, InvIsBridged bool
}

// Name is "physdev".
func (*MatchPhysdev) Name() string { return "physdev" }

func (m *MatchPhysdev) appendSave(dst []byte, _ netfilter.Family, _ netfilter.Dialect) []byte {
	if m.IsIn {
		dst = appendOption(dst, "--physdev-is-in", m.InvIsIn)
	}
	dst = m.In.appendPhysdev(dst, "--physdev-in")
	if m.IsOut {
		dst = appendOption(dst, "--physdev-is-out", m.InvIsOut)
	}
	dst = m.Out.appendPhysdev(dst, "--physdev-out")
	if m.IsBridged {
		dst = appendOption(dst, "--physdev-is-bridged", m.InvIsBridged)
	}
	return dst
}

func (m *MatchPhysdev) appendList(dst []byte, style listStyle) []byte {
	return m.appendSave(append(dst, " PHYSDEV match"...), style.family, style.dialect)
}

// appendPhysdev appends " [!] OPTION DEVICE".
func (m *IfaceMatch) appendPhysdev(dst []byte, option string) []byte {
	if m == nil {
		return dst
	}
	dst = append(append(appendOption(dst, option, m.Invert), ' '), m.Name...)
	if m.Prefix {
		dst = append(dst, '+')
	}
	return dst
}

// allowedHooks leaves OUTPUT out for the port that the packet leaves by, which is not known there.
func (m *MatchPhysdev) allowedHooks(hidden bool) hookMask {
	if hidden || m.Out == nil && !m.IsOut || m.IsBridged && !m.InvIsBridged {
		return hooksAll
	}
	return hooksAll &^ hookOutput
}

var physdevExtension = &extension{
	name: "physdev",
	options: []optionSpec{
		{name: "physdev-in", invert: true}, {name: "physdev-out", invert: true},
		{name: "physdev-is-in", flag: true, invert: true}, {name: "physdev-is-out", flag: true, invert: true},
		{name: "physdev-is-bridged", flag: true, invert: true},
	},
	newMatch: func() matchParser { return &physdevParser{} },
}

type physdevParser struct {
	m MatchPhysdev
}

func (p *physdevParser) begin(netfilter.Family) { p.m = MatchPhysdev{} }

func (p *physdevParser) option(o *optionCall) (err error) {
	switch o.name {
	case "physdev-in":
		p.m.In, err = parsePhysdev(o)
	case "physdev-out":
		p.m.Out, err = parsePhysdev(o)
	case "physdev-is-in":
		p.m.IsIn, p.m.InvIsIn = true, o.invert
	case "physdev-is-out":
		p.m.IsOut, p.m.InvIsOut = true, o.invert
	case "physdev-is-bridged":
		p.m.IsBridged, p.m.InvIsBridged = true, o.invert
	}
	return err
}

// parsePhysdev reads a device; an empty name is one that no device has.
func parsePhysdev(o *optionCall) (*IfaceMatch, error) {
	if len(o.arg) > maxIfaceName {
		return nil, badParameter("interface name `%s' must be shorter than IFNAMSIZ (%d)", o.arg, maxIfaceName)
	}
	o.warnOfDevice(o.arg)
	name, prefix := bytes.CutSuffix(o.arg, []byte("+"))
	return &IfaceMatch{Name: string(name), Prefix: prefix, Invert: o.invert}, nil
}

func (p *physdevParser) finish(seen uint32) (Match, error) {
	if seen == 0 {
		return nil, badParameter("PHYSDEV: no physdev option specified")
	}
	m := p.m
	return &m, nil
}
