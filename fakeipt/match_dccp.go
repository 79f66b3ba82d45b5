package fakeipt

import (
	"bytes"
	"math"
	"slices"
	"strconv"
	"strings"
	"syscall"

	"github.com/chainwalk/chainwalk/internal/libc"
	"github.com/chainwalk/chainwalk/netfilter"
)

// MatchDCCP is -m dccp: ports, type and the presence of an option.
type MatchDCCP struct {
	SrcPorts, DstPorts PortRange
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
func (*MatchDCCP) Name() string { return "dccp" }

func (m *MatchDCCP) appendSave(dst []byte, _ netfilter.Family, _ netfilter.Dialect) []byte {
	if m.SrcGiven {
		dst = m.SrcPorts.appendSave(append(appendOption(dst, "--sport", m.InvSrc), ' '))
	}
	if m.DstGiven {
		dst = m.DstPorts.appendSave(append(appendOption(dst, "--dport", m.InvDst), ' '))
	}
	if m.HasTypes {
		dst = m.appendTypes(append(appendOption(dst, "--dccp-types", m.InvTypes), ' '), false)
	}
	if m.Option != 0 {
		dst = strconv.AppendUint(append(appendOption(dst, "--dccp-option", m.InvOption), ' '), uint64(m.Option), 10)
	}
	return dst
}

func (m *MatchDCCP) appendList(dst []byte, style listStyle) []byte {
	// The kernel's match lists ports in the same way in both dialects.
	ports := style
	ports.dialect = netfilter.Legacy
	dst = appendPortList(append(dst, " dccp"...), " spt", m.SrcPorts, m.InvSrc, ports)
	dst = appendPortList(dst, " dpt", m.DstPorts, m.InvDst, ports)
	if m.HasTypes {
		dst = m.appendTypes(append(appendFlags(dst, " ", flagWord{"!", m.InvTypes}), ' '), style.numeric)
	}
	if m.Option != 0 {
		dst = strconv.AppendUint(append(append(dst, " option="...), bang(m.InvOption)...), uint64(m.Option), 10)
	}
	return dst
}

func (m *MatchDCCP) appendTypes(dst []byte, numeric bool) []byte {
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

func (*MatchDCCP) check(c *checkContext) syscall.Errno { return c.wantProto(libc.ProtoDCCP) }

var dccpExtension = &extension{
	name: "dccp",
	options: []optionSpec{
		{name: "source-port", invert: true}, {name: "sport", aliasOf: "source-port"},
		{name: "destination-port", invert: true}, {name: "dport", aliasOf: "destination-port"},
		{name: "dccp-types", invert: true}, {name: "dccp-option", invert: true},
	},
	newMatch: matchOf(valueParser[MatchDCCP]{
		start: func(netfilter.Family) MatchDCCP { return MatchDCCP{SrcPorts: anyPort, DstPorts: anyPort} },
		read:  (*MatchDCCP).read,
	}),
}

func (m *MatchDCCP) read(o *optionCall) (err error) {
	switch o.name {
	case "source-port":
		m.SrcGiven, m.InvSrc = true, o.invert
		m.SrcPorts, err = o.resolvedPorts()
	case "destination-port":
		m.DstGiven, m.InvDst = true, o.invert
		m.DstPorts, err = o.resolvedPorts()
	case "dccp-types":
		m.HasTypes, m.InvTypes = true, o.invert
		m.Types, err = parseDCCPTypes(o.arg)
	case "dccp-option":
		n, err := o.number(1, math.MaxUint8)
		m.Option, m.InvOption = uint8(n), o.invert
		return err
	}
	return err
}

func parseDCCPTypes(list []byte) (types uint16, err error) {
	for word := range bytes.FieldsFuncSeq(list, func(r rune) bool { return r == ',' }) {
		n := slices.IndexFunc(dccpTypes[:], func(name string) bool { return strings.EqualFold(name, string(word)) })
		switch {
		case n < 0:
			return 0, badParameter("Unknown DCCP type `%s'", word)
		case n == dccpInvalid:
			types |= math.MaxUint16 << n
		default:
			types |= 1 << n
		}
	}
	return types, nil
}
