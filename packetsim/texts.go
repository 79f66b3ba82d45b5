package packetsim

import (
	"net/netip"
	"strings"

	"github.com/chainwalk/chainwalk/packetsim/conntrack"
)

// texts writes many short texts into one piece of memory after the other, so that most of them take none of their own.
type texts struct{ room strings.Builder }

// textRoom is the size of a piece. It stays as long as any of its texts.
const textRoom = 512

// keep is the bytes as a text.
func (t *texts) keep(b []byte) string {
	if t.room.Cap()-t.room.Len() < len(b) {
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
	number(uint32(of.SrcPort))
	for i, separator, raw := 3, byte(':'), of.Src.As4(); i >= 0; i, separator = i-1, '.' {
		at--
		text[at] = separator
		number(uint32(raw[i]))
	}
	return t.keep(text[at:])
}
