package packetsim

import (
	"encoding/binary"
	"net/netip"
	"strings"

	"github.com/chainwalk/chainwalk/packetsim/conntrack"
)

// texts writes many short texts into one piece of memory after the other, so that most of them take none of their own.
type texts struct {
	room strings.Builder
	ends *[endTexts]endText // nil until a piece is full: most hosts write few texts
}

// endText is a text of an IPv4 address with a port.
type endText struct {
	end  uint64 // the address and the port, and a bit more, so that it is not 0
	text string
}

// endTexts is how many of them are known, each in one place alone: packets go to the same ends again and again.
const endTexts = 64

// textRoom is the size of a piece. It stays as long as any of its texts.
const textRoom = 512

// keep is the bytes as a text.
func (t *texts) keep(b []byte) string {
	if t.room.Cap()-t.room.Len() < len(b) {
		if t.room.Cap() > 0 && t.ends == nil {
			t.ends = &[endTexts]endText{}
		}
		t.room.Reset()
		t.room.Grow(max(textRoom, len(b)))
	}
	from := t.room.Len()
	t.room.Write(b)
	return t.room.String()[from:]
}

// addrPort is the source of a tuple: "ADDRESS:PORT", or "ADDRESS" for a protocol without ports.
func (t *texts) addrPort(of *conntrack.Tuple) string {
	switch {
	case !of.Proto.HasPorts():
		return of.Src.String()
	case !of.Src.Is4():
		return netip.AddrPortFrom(of.Src, of.SrcPort).String()
	}
	raw := of.Src.As4()
	if t.ends == nil {
		return t.write(raw, of.SrcPort)
	}
	end := 1<<48 | uint64(binary.BigEndian.Uint32(raw[:]))<<16 | uint64(of.SrcPort)
	known := &t.ends[end*0x9e3779b97f4a7c15>>32%endTexts]
	if known.end != end {
		*known = endText{end, t.write(raw, of.SrcPort)}
	}
	return known.text
}

// write writes an IPv4 address with a port.
func (t *texts) write(raw [4]byte, port uint16) string {
	var text [len("255.255.255.255:65535")]byte // written from the end
	at := len(text)
	number := func(n uint32) {
		for {
			at--
			text[at] = byte('0' + n%10)
			if n /= 10; n == 0 {
				return
			}
		}
	}
	number(uint32(port))
	for i, separator := 3, byte(':'); i >= 0; i, separator = i-1, '.' {
		at--
		text[at] = separator
		number(uint32(raw[i]))
	}
	return t.keep(text[at:])
}
