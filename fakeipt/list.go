package fakeipt

import (
	"fmt"
	"net/netip"
	"strconv"

	"github.com/chainwalk/chainwalk/internal/libc"
	"github.com/chainwalk/chainwalk/netfilter"
)

// listStyle is the form of a listing (-L).
type listStyle struct {
	numeric     bool // -n
	verbose     bool // -v
	exact       bool // -x
	lineNumbers bool // --line-numbers
	dialect     netfilter.Dialect
	family      netfilter.Family
	proto       uint16 // of the rule
	bare        bool   // of a single rule that was added with -v: no columns for it
	names       *libc.Names
}

// appendChainHead appends the two lines above the rules of a chain.
func (style listStyle) appendChainHead(dst []byte, s *chainSlot) []byte {
	c := s.view()
	dst = append(append(dst, "Chain "...), c.Name...)
	if c.Policy == PolicyNone {
		dst = fmt.Appendf(dst, " (%d references)\n", s.refs)
	} else {
		dst = fmt.Appendf(dst, " (policy %s", c.Policy.policyText())
		if style.verbose {
			dst = append(dst, ' ')
			dst = style.appendNumber(dst, c.Counters.Packets(), 0)
			dst = append(dst, " packets, "...)
			dst = style.appendNumber(dst, c.Counters.Bytes(), 0)
			dst = append(dst, " bytes"...)
		}
		dst = append(dst, ")\n"...)
	}
	return style.appendColumns(dst)
}

// appendColumns appends the names of the columns.
func (style listStyle) appendColumns(dst []byte) []byte {
	if style.lineNumbers {
		dst = fmt.Appendf(dst, "%-4s ", "num")
	}
	if style.verbose {
		if style.exact {
			dst = fmt.Appendf(dst, "%8s %10s ", "pkts", "bytes")
		} else {
			dst = fmt.Appendf(dst, "%5s %5s ", "pkts", "bytes")
		}
	}
	dst = fmt.Appendf(dst, "%-9s  %-5s%-4s", "target", "prot", "opt")
	if style.verbose {
		dst = fmt.Appendf(dst, "%-6s %-6s  ", "in", "out")
	}
	return fmt.Appendf(dst, "%-19s  %-19s \n", "source", "destination")
}

// counterUnits are the letters behind a number that is cut short.
const counterUnits = "KMGT"

// appendNumber appends a counter in a field of that width, cut to five places unless exact.
func (style listStyle) appendNumber(dst []byte, n uint64, width int) []byte {
	if style.exact {
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

// appendRule appends one line of the listing.
func (style listStyle) appendRule(dst []byte, number int, r *Rule) []byte {
	if style.lineNumbers && !style.bare {
		dst = fmt.Appendf(dst, "%-4d ", number)
	}
	if style.verbose && !style.bare {
		width, byteWidth := 5, 5
		if style.exact {
			width, byteWidth = 8, 8
		}
		dst = append(style.appendNumber(dst, r.Counters.Packets(), width), ' ')
		dst = append(style.appendNumber(dst, r.Counters.Bytes(), byteWidth), ' ')
	}
	style.proto = uint16(uint8(r.Proto.Number)) // as a listing has it
	dst = style.appendHead(dst, r)
	if style.verbose || style.bare {
		dst = style.appendDevices(dst, r)
	}
	dst = style.appendAddresses(dst, r)
	if j, ok := r.Target.(*Jump); ok && j.Goto {
		dst = append(dst, "[goto] "...)
	}
	for _, m := range matchesReadBack(r.Matches, style.dialect) {
		dst = m.appendList(dst, style)
	}
	if r.Target != nil {
		dst = r.Target.appendList(dst, style)
	}
	return append(dst, '\n')
}

// appendHead appends target, protocol and fragment.
func (style listStyle) appendHead(dst []byte, r *Rule) []byte {
	name := ""
	if r.Target != nil {
		name = r.Target.Name()
	}
	switch r.Target.(type) {
	case *TargetNotrack:
		// It is a revision of the kernel's CT.
		name = "CT"
	case *TargetQueue:
		if style.dialect == netfilter.NFT {
			name = standardTarget
		}
	}
	if style.bare {
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
	if style.bare {
		return fmt.Appendf(dst, "%s opt %s ", proto, opt)
	}
	return fmt.Appendf(dst, "%-4s %s ", proto, opt)
}

// protocol is a protocol's number or name. Of a rule that was added it is a name only if the tools have one themselves.
func (style listStyle) protocol(number uint16) string {
	switch {
	case style.numeric && !style.bare || style.bare && !isOwnProtocol(number):
		return strconv.Itoa(int(number))
	case number == 0:
		return "all"
	}
	return string(libc.AppendProtocol(nil, number))
}

// appendDevices appends the columns of -i and -o.
func (style listStyle) appendDevices(dst []byte, r *Rule) []byte {
	in, out := style.device(r.In), style.device(r.Out)
	if style.bare {
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

func (style listStyle) device(m *IfaceMatch) string {
	any := "any"
	if style.numeric || style.bare {
		any = "*"
	}
	if m == nil || m.Name == "" && style.dialect == netfilter.NFT && !m.Invert {
		return any
	}
	name := bang(m.Invert) + m.Name
	if m.Prefix {
		name += "+"
	}
	return name
}

// appendAddresses appends the columns of -s and -d.
func (style listStyle) appendAddresses(dst []byte, r *Rule) []byte {
	src, dst2 := style.address(r.Src), style.address(r.Dst)
	if style.bare {
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
func (style listStyle) address(m *AddrMatch) string {
	numeric := style.numeric || style.bare
	switch {
	case m == nil && numeric:
		return factsOf(style.family).anywhere
	case m == nil:
		return "anywhere"
	case !numeric && (m.Mask == factsOf(style.family).zero || style.family == netfilter.IPv6 && m.Addr == factsOf(style.family).zero):
		return "anywhere"
	}
	return string(style.appendNetwork(nil, m))
}

// appendNetwork appends an address, by its name unless the listing is numeric, and a mask that has not all bits.
func (style listStyle) appendNetwork(dst []byte, m *AddrMatch) []byte {
	dst = style.appendHost(dst, m.Addr)
	switch bits := maskBits(m.Mask); bits {
	case m.Mask.BitLen():
		return dst
	case -1:
		return libc.AppendInetNtop(append(dst, '/'), m.Mask)
	default:
		return strconv.AppendInt(append(dst, '/'), int64(bits), 10)
	}
}

// appendHost appends an address, by the name of its host or network unless the listing is numeric.
func (style listStyle) appendHost(dst []byte, a netip.Addr) []byte {
	if !style.numeric {
		name, ok := style.names.HostName(a)
		if !ok && a.Is4() {
			name, ok = style.names.NetworkName(a)
		}
		if ok {
			return append(dst, name...)
		}
	}
	return libc.AppendInetNtop(dst, a)
}
