package anonymise

import (
	"net/netip"
	"testing"

	"github.com/stretchr/testify/assert"
	"pgregory.net/rapid"
)

func drawKey(t *rapid.T) Key { return Key(rapid.SliceOfN(rapid.Byte(), 16, 16).Draw(t, "key")) }

func drawAddress(t *rapid.T, name string) netip.Addr {
	return drawOfFamily(t, name, rapid.Bool().Draw(t, name+" is IPv6"))
}

func drawOfFamily(t *rapid.T, name string, v6 bool) netip.Addr {
	length := 4
	if v6 {
		length = 16
	}
	bytes := rapid.SliceOfN(rapid.Byte(), length, length).Draw(t, name)
	a, _ := netip.AddrFromSlice(bytes)
	return a
}

// common is the number of leading bits that two addresses share.
func common(a, b netip.Addr) int {
	for bits := a.BitLen(); bits >= 0; bits-- {
		if p, _ := a.Prefix(bits); p.Contains(b) {
			return bits
		}
	}
	return -1
}

func TestADisguiseKeepsWhatIsTogether(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		d := disguise{key: drawKey(t)}
		a := drawAddress(t, "a")
		bits := rapid.IntRange(0, a.BitLen()).Draw(t, "shared")
		b := drawAddress(t, "b")
		if a.Is4() == b.Is4() {
			mixed := b.AsSlice()
			for i := range bits {
				mask := byte(0x80 >> (i % 8))
				mixed[i/8] = mixed[i/8]&^mask | a.AsSlice()[i/8]&mask
			}
			b, _ = netip.AddrFromSlice(mixed)
		}
		assert.Equal(t, common(a, b), common(d.address(a), d.address(b)), "%s and %s", a, b)
		assert.Equal(t, a.IsPrivate(), d.address(a).IsPrivate())
		assert.Equal(t, a.IsLoopback(), d.address(a).IsLoopback())
		assert.Equal(t, a.IsGlobalUnicast(), d.address(a).IsGlobalUnicast())
		assert.Equal(t, a.IsLinkLocalUnicast(), d.address(a).IsLinkLocalUnicast())
		p, _ := a.Prefix(bits)
		assert.Equal(t, p.Contains(b), (&Renamer{disguise: d}).Prefix(p).Contains(d.address(b)))
	})
}

func TestADisguiseLeavesPlacesInANetwork(t *testing.T) {
	d := disguise{key: Key{7}}
	for _, text := range []string{"10.244.1.1", "192.168.4.254", "fd00:10:244:1::2", "2001:db8:1:2::"} {
		a := netip.MustParseAddr(text)
		got := d.address(a)
		assert.NotEqual(t, a, got)
		bytes, want := got.AsSlice(), a.AsSlice()
		assert.Equal(t, want[len(want)-1]&0xfe, bytes[len(bytes)-1]&0xfe, text)
	}
	for _, text := range []string{"127.0.0.1", "0.0.0.0", "::1", "::", "fe80::1", "224.0.0.1"} {
		assert.Equal(t, netip.MustParseAddr(text), d.address(netip.MustParseAddr(text)))
	}
}
