package xtables

import (
	"fmt"
	"net/netip"
	"strconv"

	"github.com/chainwalk/chainwalk/internal/libc"
	"github.com/chainwalk/chainwalk/netfilter"
)

// ListStyle is the form of a listing (-L).
type ListStyle struct {
	Numeric     bool // -n
	Verbose     bool // -v
	Exact       bool // -x
	LineNumbers bool // --line-numbers
	Dialect     netfilter.Dialect
	Family      netfilter.Family
	proto       uint16 // of the rule
	Bare        bool   // of a single rule that was added with -v: no columns for it
	Names       *libc.Names
}

// AppendNetwork appends an address, by its name unless the listing is numeric, and a mask that has not all bits.
func (style ListStyle) AppendNetwork(dst []byte, m *AddrMatch) []byte {
	dst = style.AppendHost(dst, m.Addr)
	switch bits := MaskBits(m.Mask); bits {
	case m.Mask.BitLen():
		return dst
	case -1:
		return libc.AppendInetNtop(append(dst, '/'), m.Mask)
	default:
		return strconv.AppendInt(append(dst, '/'), int64(bits), 10)
	}
}

// AppendHost appends an address, by the name of its host or network unless the listing is numeric.
func (style ListStyle) AppendHost(dst []byte, a netip.Addr) []byte {
	if !style.Numeric {
		name, ok := style.Names.HostName(a)
		if !ok && a.Is4() {
			name, ok = style.Names.NetworkName(a)
		}
		if ok {
			return append(dst, name...)
		}
	}
	return libc.AppendInetNtop(dst, a)
}

// AppendRule appends one line of the listing.
func (style ListStyle) AppendRule(dst []byte, number int, r *Rule) []byte {
	if style.LineNumbers && !style.Bare {
		dst = fmt.Appendf(dst, "%-4d ", number)
	}
	if style.Verbose && !style.Bare {
		width, byteWidth := 5, 5
		if style.Exact {
			width, byteWidth = 8, 8
		}
		dst = append(style.AppendNumber(dst, r.Counters.Packets(), width), ' ')
		dst = append(style.AppendNumber(dst, r.Counters.Bytes(), byteWidth), ' ')
	}
	style.proto = uint16(uint8(r.Proto.Number)) // as a listing has it
	dst = style.appendHead(dst, r)
	if style.Verbose || style.Bare {
		dst = style.appendDevices(dst, r)
	}
	dst = style.appendAddresses(dst, r)
	if j, ok := r.Target.(*Jump); ok && j.Goto {
		dst = append(dst, "[goto] "...)
	}
	for _, m := range MatchesReadBack(r.Matches, style.Dialect) {
		dst = m.AppendList(dst, style)
	}
	if r.Target != nil {
		dst = r.Target.AppendList(dst, style)
	}
	return append(dst, '\n')
}

// listedOtherwise is a target that a listing calls by another name.
type listedOtherwise interface {
	ListName(d netfilter.Dialect) string
}

// appendHead appends target, protocol and fragment.
func (style ListStyle) appendHead(dst []byte, r *Rule) []byte {
	name := ""
	if r.Target != nil {
		name = r.Target.Name()
	}
	if t, ok := r.Target.(listedOtherwise); ok {
		name = t.ListName(style.Dialect)
	}
	if style.Bare {
		dst = append(append(dst, name...), ' ')
	} else {
		dst = appendPadded(dst, name, 9)
	}
	if r.Proto.Invert {
		dst = append(dst, '!')
	} else {
		dst = append(dst, ' ')
	}
	proto := style.protocol(style.proto)
	opt := [...]string{"--", "-f", "!f"}[r.Fragment]
	if style.Bare {
		return fmt.Appendf(dst, "%s opt %s ", proto, opt)
	}
	return fmt.Appendf(dst, "%-4s %s ", proto, opt)
}

// protocol is a protocol's number or name. Of a rule that was added it is a name only if the tools have one themselves.
func (style ListStyle) protocol(number uint16) string {
	switch {
	case style.Numeric && !style.Bare || style.Bare && !isOwnProtocol(number):
		return strconv.Itoa(int(number))
	case number == 0:
		return "all"
	}
	return string(libc.AppendProtocol(nil, number))
}

// appendDevices appends the columns of -i and -o.
func (style ListStyle) appendDevices(dst []byte, r *Rule) []byte {
	in, out := style.device(r.In), style.device(r.Out)
	if style.Bare {
		return fmt.Appendf(dst, "in %s out %s ", in, out)
	}
	return appendPadded(appendPadded(append(dst, ' '), in, 6), out, 6)
}

// appendPadded appends a text in a column of so many bytes, and a blank.
func appendPadded(dst []byte, text string, width int) []byte {
	dst = append(dst, text...)
	for n := len(text); n < width; n++ {
		dst = append(dst, ' ')
	}
	return append(dst, ' ')
}

func (style ListStyle) device(m *IfaceMatch) string {
	any := "any"
	if style.Numeric || style.Bare {
		any = "*"
	}
	if m == nil || m.Name == "" && style.Dialect == netfilter.NFT && !m.Invert {
		return any
	}
	name := Bang(m.Invert) + m.Name
	if m.Prefix {
		name += "+"
	}
	return name
}

// appendAddresses appends the columns of -s and -d.
func (style ListStyle) appendAddresses(dst []byte, r *Rule) []byte {
	src, dst2 := style.address(r.Src), style.address(r.Dst)
	if style.Bare {
		dst = append(append(appendInvertColumn(dst, r.Src), src...), ' ')
		return fmt.Appendf(appendInvertColumn(dst, r.Dst), "-> %s  ", dst2)
	}
	dst = appendInvertColumn(dst, r.Src)
	dst = appendPadded(dst, src, 19)
	dst = appendInvertColumn(dst, r.Dst)
	return appendPadded(dst, dst2, 19)
}

func appendInvertColumn(dst []byte, m *AddrMatch) []byte {
	if m != nil && m.Invert {
		return append(dst, '!')
	}
	return append(dst, ' ')
}

// address is an address as a listing has it.
func (style ListStyle) address(m *AddrMatch) string {
	numeric := style.Numeric || style.Bare
	switch {
	case m == nil && numeric:
		return FactsOf(style.Family).anywhere
	case m == nil:
		return "anywhere"
	case !numeric && (m.Mask == FactsOf(style.Family).Zero || style.Family == netfilter.IPv6 && m.Addr == FactsOf(style.Family).Zero):
		return "anywhere"
	}
	return string(style.AppendNetwork(nil, m))
}

// AppendNumber appends a counter in a field of that width, cut to five places unless exact.
func (style ListStyle) AppendNumber(dst []byte, n uint64, width int) []byte {
	if style.Exact {
		return fmt.Appendf(dst, "%*d", width, n)
	}
	if n <= 99999 {
		return fmt.Appendf(dst, "%*d", width, n)
	}
	unit := 0
	n = (n + 500) / 1000
	for n > 9999 && unit < len(counterUnits)-1 {
		n = (n + 500) / 1000
		unit++
	}
	return fmt.Appendf(dst, "%*d%c", max(width-1, 0), n, counterUnits[unit])
}

// counterUnits are the letters behind a number that is cut short.
const counterUnits = "KMGT"

// AppendColumns appends the names of the columns.
func (style ListStyle) AppendColumns(dst []byte) []byte {
	if style.LineNumbers {
		dst = fmt.Appendf(dst, "%-4s ", "num")
	}
	if style.Verbose {
		if style.Exact {
			dst = fmt.Appendf(dst, "%8s %10s ", "pkts", "bytes")
		} else {
			dst = fmt.Appendf(dst, "%5s %5s ", "pkts", "bytes")
		}
	}
	dst = fmt.Appendf(dst, "%-9s  %-5s%-4s", "target", "prot", "opt")
	if style.Verbose {
		dst = fmt.Appendf(dst, "%-6s %-6s  ", "in", "out")
	}
	return fmt.Appendf(dst, "%-19s  %-19s \n", "source", "destination")
}
