package certificate

import (
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"strconv"
	"strings"

	"github.com/chainwalk/chainwalk/packetsim/inet"
)

// Host is how boxes call the host itself among the devices by which packets come.
const Host = ""

// Addrs are the addresses from First to Last, written "FIRST-LAST", or "FIRST" if there is one.
type Addrs struct{ First, Last netip.Addr }

// MarshalText is its text.
func (a Addrs) MarshalText() ([]byte, error) {
	if a.First == a.Last {
		return a.First.AppendTo(nil), nil
	}
	return a.Last.AppendTo(append(a.First.AppendTo(nil), '-')), nil
}

// UnmarshalText reads what MarshalText writes.
func (a *Addrs) UnmarshalText(text []byte) (err error) {
	first, last, several := strings.Cut(string(text), "-")
	if a.First, err = netip.ParseAddr(first); err != nil {
		return fmt.Errorf("%q: want an address, or the first and the last with a - between them", text)
	}
	if a.Last = a.First; several {
		a.Last, err = netip.ParseAddr(last)
	}
	switch {
	case err != nil || a.First.Zone() != "" || a.Last.Zone() != "":
		return fmt.Errorf("%q: want an address, or the first and the last with a - between them", text)
	case a.First.BitLen() != a.Last.BitLen():
		return fmt.Errorf("%q: the ends are of two families", text)
	case a.Last.Less(a.First):
		return fmt.Errorf("%q: the last is before the first", text)
	}
	return nil
}

func (a Addrs) span() span { return span{valueOf(a.First), valueOf(a.Last)} }

// Numbers are the ports or protocols from First to Last, written "FIRST-LAST", or "FIRST" if there is one.
type Numbers struct{ First, Last uint16 }

// MarshalText is its text.
func (n Numbers) MarshalText() ([]byte, error) {
	text := strconv.AppendUint(nil, uint64(n.First), 10)
	if n.First != n.Last {
		text = strconv.AppendUint(append(text, '-'), uint64(n.Last), 10)
	}
	return text, nil
}

// UnmarshalText reads what MarshalText writes.
func (n *Numbers) UnmarshalText(text []byte) error {
	first, last, several := strings.Cut(string(text), "-")
	if !several {
		last = first
	}
	low, err := strconv.ParseUint(first, 10, 16)
	high, err2 := strconv.ParseUint(last, 10, 16)
	switch {
	case errors.Join(err, err2) != nil:
		return fmt.Errorf("%q: want a number below 65536, or the first and the last with a - between them", text)
	case high < low:
		return fmt.Errorf("%q: the last is before the first", text)
	}
	n.First, n.Last = uint16(low), uint16(high)
	return nil
}

func (n Numbers) span() span { return span{number(uint64(n.First)), number(uint64(n.Last))} }

// cell is a box as numbers.
type cell struct {
	spans [fields]span
	in    []string // devices; Host is the host itself
}

// cellOf is the box of a family.
func (b *Box) cell() cell {
	return cell{in: b.In, spans: [...]span{
		dst: b.Dst.span(), dstPort: b.DstPorts.span(), proto: b.Protos.span(), src: b.Src.span(), srcPort: b.SrcPorts.span(),
	}}
}

// String is the box in a few words.
func (c *cell) text(six bool) string {
	var b strings.Builder
	for f, s := range c.spans {
		if f := field(f); s != f.whole(six) {
			fmt.Fprintf(&b, "%s %s", fieldNames[f], f.text(s.first, six))
			if !s.isOne() {
				b.WriteString("-" + f.text(s.last, six))
			}
			b.WriteString(", ")
		}
	}
	var in []string
	for _, device := range c.in {
		if device == Host {
			device = "the host itself"
		}
		in = append(in, device)
	}
	b.WriteString("by " + strings.Join(in, " or "))
	return b.String()
}

// cut parts a cell: those of its values of a field before one, and those from it on; or some devices from the others.
type cut struct {
	field   field
	from    value
	devices []string     // not nil: these are parted from the others
	by      fmt.Stringer // what asks for it
}

// parts are the two parts that a cut makes of a cell.
func (c *cell) parts(at *cut) (low, high cell) {
	low, high = *c, *c
	if at.devices != nil {
		isOne := func(d string) bool { return slices.Contains(at.devices, d) }
		low.in = slices.DeleteFunc(slices.Clone(c.in), func(d string) bool { return !isOne(d) })
		high.in = slices.DeleteFunc(slices.Clone(c.in), isOne)
		return low, high
	}
	low.spans[at.field].last = at.from.prev()
	high.spans[at.field].first = at.from
	return low, high
}

// text says where a cut is.
func (at *cut) text(six bool) string {
	if at.devices != nil {
		return fmt.Sprintf("%s cuts it by the device", at.by)
	}
	return fmt.Sprintf("%s cuts it at %s %s", at.by, fieldNames[at.field], at.field.text(at.from, six))
}

// isFirst says whether a protocol is one that a packet of the family may have behind its header: not that of the other family, nor a
// header of IPv6 behind which another one comes.
func isFirst(six bool, p inet.Proto) bool {
	switch p {
	case inet.ICMP, 0, 43, 44, inet.AH, 60:
		return !six
	case inet.ICMPv6:
		return six
	}
	return true
}
