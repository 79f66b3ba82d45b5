package match

import (
	"encoding/binary"
	"net/netip"

	"github.com/chainwalk/chainwalk/fakeipt/xtables"
)

// KernelBytes are the options of a match as the kernel has them (for IPv6), or the beginning of them; what stands there besides the
// fields is left 0, since they are only compared with one another. ok is false for extensions that are so short that ip6tables -C
// compares either nothing of them or everything, but for rules with many others behind them.
func KernelBytes(m xtables.Match) (image []byte, ok bool) {
	var b optionImage
	switch m := m.(type) {
	case *Comment:
		b.text(0, m.Text)
	case *Recent:
		b.number(0, m.Seconds)
		b.number(4, m.HitCount)
		b.flags(8, m.TTL, m.Reap, m.Mode&1 != 0, m.Mode&2 != 0, m.Mode&4 != 0)
		b.flags(9, m.Invert)
		b.text(10, m.List)
	case *State:
		b.grow(conntrackAddresses)
	case *Conntrack:
		b.conntrack(m)
	case *String:
		b.number(0, uint32(m.From)|uint32(m.To)<<16)
		b.text(4, m.Algo)
		b.text(20, m.Pattern)
	case *Hashlimit:
		b.text(0, m.Table)
	case *Cgroup:
		b.flags(0, m.HasPath, m.HasClassID, m.InvertPath, m.InvertClassID)
		b.number(4, m.ClassID)
		b.text(4, m.Path)
	case *BPF:
		b.bpf(m)
	case *U32:
		b.u32(m)
	case *Policy:
		b.policy(m)
	case *RT:
		b.rt(m)
	case *SCTP:
		b.sctp(m)
	default:
		return nil, false
	}
	return b, true
}

// conntrackAddresses is the length of the addresses and masks that the options of -m conntrack begin with.
const conntrackAddresses = 4 * 2 * 16

// optionImage is memory of the kernel that is written at places.
type optionImage []byte

// grow gives the image at least a length.
func (b *optionImage) grow(n int) {
	if n > len(*b) {
		*b = append(*b, make([]byte, n-len(*b))...)
	}
}

func (b *optionImage) byte(at int, n uint8) {
	b.grow(at + 1)
	(*b)[at] = n
}

func (b *optionImage) number(at int, n uint32) {
	b.grow(at + 4)
	binary.LittleEndian.PutUint32((*b)[at:], n)
}

func (b *optionImage) text(at int, text string) {
	b.grow(at + len(text))
	copy((*b)[at:], text)
}

// flags is a byte with a bit for each.
func (b *optionImage) flags(at int, flags ...bool) {
	b.grow(at + 1)
	for i, f := range flags {
		if f {
			(*b)[at] |= 1 << i
		}
	}
}

func (b *optionImage) addr(at int, a netip.Addr) {
	b.grow(at + 16)
	copy((*b)[at:], a.AsSlice())
}

func (b *optionImage) addrMatch(at int, m *xtables.AddrMatch) {
	b.grow(at + 32)
	if m != nil {
		b.addr(at, m.Addr)
		b.addr(at+16, m.Mask)
	}
}

func (b *optionImage) conntrack(m *Conntrack) {
	for i, a := range m.addresses() {
		b.addrMatch(32*i, *a.match)
	}
}

func (b *optionImage) bpf(m *BPF) {
	b.number(0, uint32(len(m.Program)))
	for i, in := range m.Program {
		at := 8 + 8*i
		b.number(at, uint32(in.Code)|uint32(in.JT)<<16|uint32(in.JF)<<24)
		b.number(at+4, in.K)
	}
}

// u32: a test has room for maxU32+1 numbers, each with what is done to it, and for as many ranges.
func (b *optionImage) u32(m *U32) {
	const room = 8 * (maxU32 + 1)
	const testBytes = 2*room + 4
	b.grow(testBytes * (maxU32 + 1))
	for i, t := range m.Tests {
		at := testBytes * i
		b.number(at, t.Start)
		for k, s := range t.Steps {
			b.number(at+8*(k+1), s.Number)
			b.byte(at+8*(k+1)+4, uint8(s.Op))
		}
		for k, v := range t.Values {
			b.number(at+room+8*k, v.Min)
			b.number(at+room+8*k+4, v.Max)
		}
		b.byte(at+2*room, uint8(len(t.Steps)+1))
		b.byte(at+2*room+1, uint8(len(t.Values)))
	}
	b.byte(testBytes*(maxU32+1), uint8(len(m.Tests)))
	b.flags(testBytes*(maxU32+1)+1, m.Invert)
}

func (b *optionImage) policy(m *Policy) {
	const elementBytes = 76
	for i := range m.elements {
		e, at := &m.elements[i], elementBytes*i
		b.addrMatch(at, &e.Src)
		b.addrMatch(at+32, &e.Dst)
		b.number(at+64, e.SPI)
		b.number(at+68, e.ReqID)
		b.byte(at+72, e.Proto)
		b.flags(at+73, e.HasMode, e.Tunnel)
		b.flags(at+74, e.Src.Addr.IsValid(), e.Dst.Addr.IsValid(), e.Proto != 0, e.HasMode, e.HasSPI, e.HasReqID)
		b.flags(at+75, e.Src.Invert, e.Dst.Invert, e.InvProto, e.InvMode, e.InvSPI, e.InvReqID)
	}
}

func (b *optionImage) rt(m *RT) {
	b.number(0, m.Type)
	b.number(4, m.Segments.Min)
	b.number(8, m.Segments.Max)
	b.number(12, m.Length.Value)
	b.flags(16, m.HasType, m.HasSegments, m.HasLength, m.Reserved, m.count > 0, m.NotStrict)
	b.flags(17, m.InvType, m.Segments.Invert, m.Length.Invert)
	for i, a := range m.named() {
		b.addr(20+16*i, a)
	}
}

// sctp: ports that were not given are zeros. Of the map of chunks only the first bits are used, but for all types at once.
func (b *optionImage) sctp(m *SCTP) {
	const mapAt, mapBytes = 8, 256
	if m.DstGiven {
		b.number(0, uint32(m.DstPorts.Min)|uint32(m.DstPorts.Max)<<16)
	}
	if m.SrcGiven {
		b.number(4, uint32(m.SrcPorts.Min)|uint32(m.SrcPorts.Max)<<16)
	}
	b.grow(mapAt + mapBytes)
	if m.Chunks == nil {
		return
	}
	for i := range mapBytes {
		if m.Chunks.All {
			b.byte(mapAt+i, 0xff)
		}
	}
	for _, t := range m.Chunks.Types {
		(*b)[mapAt+t.Type/8] |= 1 << (t.Type % 8)
	}
}
