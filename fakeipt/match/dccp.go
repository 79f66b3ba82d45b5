package match

import (
	"bytes"
	"math"
	"slices"
	"strconv"
	"strings"
	"syscall"

	"github.com/chainwalk/chainwalk/fakeipt/xtables"
	"github.com/chainwalk/chainwalk/internal/libc"
	"github.com/chainwalk/chainwalk/netfilter"
)

// DCCP is -m dccp: ports, type and the presence of an option.
type DCCP struct {
	SrcPorts, DstPorts xtables.PortRange
	InvSrc, InvDst     bool
	// SrcGiven and DstGiven say that the option is there, even for any port.
	SrcGiven, DstGiven bool
	// HasTypes asks for one of Types, which has a bit for each type by its number.
	HasTypes, InvTypes bool
	Types              uint16
	Option             uint8 // number of an option that is present; 0: any
	InvOption          bool
}

// dccpTypes are the names of the types from 0 (RFC 4340); the last one stands for all numbers from there on.
var dccpTypes = [...]string{"REQUEST", "RESPONSE", "DATA", "ACK", "DATAACK", "CLOSEREQ", "CLOSE", "RESET", "SYNC", "SYNCACK", "INVALID"}

// dccpInvalid is the place of the last name.
const dccpInvalid = len(dccpTypes) - 1

// Name is "dccp".
func (*DCCP) Name() string { return "dccp" }

func (m *DCCP) AppendSave(dst []byte, _ netfilter.Family, _ netfilter.Dialect) []byte {
	if m.SrcGiven {
		dst = m.SrcPorts.AppendSave(append(xtables.AppendOption(dst, "--sport", m.InvSrc), ' '))
	}
	if m.DstGiven {
		dst = m.DstPorts.AppendSave(append(xtables.AppendOption(dst, "--dport", m.InvDst), ' '))
	}
	if m.HasTypes {
		dst = m.appendTypes(append(xtables.AppendOption(dst, "--dccp-types", m.InvTypes), ' '), false)
	}
	if m.Option != 0 {
		dst = strconv.AppendUint(append(xtables.AppendOption(dst, "--dccp-option", m.InvOption), ' '), uint64(m.Option), 10)
	}
	return dst
}

func (m *DCCP) AppendList(dst []byte, style xtables.ListStyle) []byte {
	// The kernel's match lists ports in the same way in both dialects.
	ports := style
	ports.Dialect = netfilter.Legacy
	dst = xtables.AppendPortList(append(dst, " dccp"...), " spt", m.SrcPorts, m.InvSrc, ports)
	dst = xtables.AppendPortList(dst, " dpt", m.DstPorts, m.InvDst, ports)
	if m.HasTypes {
		dst = m.appendTypes(append(xtables.AppendFlags(dst, " ", xtables.WordIf("!", m.InvTypes)), ' '), style.Numeric)
	}
	if m.Option != 0 {
		dst = strconv.AppendUint(append(append(dst, " option="...), xtables.Bang(m.InvOption)...), uint64(m.Option), 10)
	}
	return dst
}

func (m *DCCP) appendTypes(dst []byte, numeric bool) []byte {
	between := ""
	for n := range dccpInvalid + 6 {
		if m.Types&(1<<n) == 0 || n > dccpInvalid && !numeric {
			continue
		}
		dst, between = append(dst, between...), ","
		if numeric {
			dst = strconv.AppendInt(dst, int64(n), 10)
		} else {
			dst = append(dst, dccpTypes[n]...)
		}
	}
	return dst
}

func (*DCCP) Check(c *xtables.CheckContext) syscall.Errno { return c.WantProto(libc.ProtoDCCP) }

var dccpExtension = &xtables.Extension{
	Name: "dccp",
	Options: []xtables.Option{
		{Name: "source-port", Invert: true}, {Name: "sport", AliasOf: "source-port"},
		{Name: "destination-port", Invert: true}, {Name: "dport", AliasOf: "destination-port"},
		{Name: "dccp-types", Invert: true}, {Name: "dccp-option", Invert: true},
	},
	NewMatch: xtables.MatchOf(xtables.ValueParser[DCCP]{
		Start: func(netfilter.Family) DCCP { return DCCP{SrcPorts: xtables.AnyPort, DstPorts: xtables.AnyPort} },
		Read:  (*DCCP).read,
	}),
}

func (m *DCCP) read(o *xtables.OptionCall) (err error) {
	switch o.Name {
	case "source-port":
		m.SrcGiven, m.InvSrc = true, o.Invert
		m.SrcPorts, err = o.ResolvedPorts()
	case "destination-port":
		m.DstGiven, m.InvDst = true, o.Invert
		m.DstPorts, err = o.ResolvedPorts()
	case "dccp-types":
		m.HasTypes, m.InvTypes = true, o.Invert
		m.Types, err = parseDCCPTypes(o.Arg)
	case "dccp-option":
		n, err := o.Number(1, math.MaxUint8)
		m.Option, m.InvOption = uint8(n), o.Invert
		return err
	}
	return err
}

func parseDCCPTypes(list []byte) (types uint16, err error) {
	for word := range bytes.FieldsFuncSeq(list, func(r rune) bool { return r == ',' }) {
		n := slices.IndexFunc(dccpTypes[:], func(name string) bool { return strings.EqualFold(name, string(word)) })
		switch {
		case n < 0:
			return 0, xtables.BadParameter("Unknown DCCP type `%s'", word)
		case n == dccpInvalid:
			types |= math.MaxUint16 << n
		default:
			types |= 1 << n
		}
	}
	return types, nil
}
