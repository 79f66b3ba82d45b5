package changes

import (
	"net/netip"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestParseAddr(t *testing.T) {
	cases := []struct{ name, text, want string }{
		{"plain IPv4", "10.1.2.3", "10.1.2.3"},
		{"leading zeros are decimal", "172.030.00.041", "172.30.0.41"},
		{"plain IPv6", "fd00:10::1", "fd00:10::1"},
		{"long IPv6", "FD00:0010:0000::0001", "fd00:10::1"},
		{"IPv4 inside of IPv6", "::ffff:10.1.2.3", "10.1.2.3"},
		{"zone", "fe80::1%eth0", ""},
		{"number too large", "10.1.2.256", ""},
		{"blank around", " 10.1.2.3", ""},
		{"empty", "", ""},
		{"name", "example.com", ""},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			addr, err := parseAddr(c.text)
			if c.want == "" {
				require.Error(t, err)
				return
			}
			require.NoError(t, err)
			assert.Equal(t, c.want, addr.String())
		})
	}
}

func TestParsePrefix(t *testing.T) {
	cases := []struct{ name, text, want string }{
		{"plain IPv4", "198.51.100.0/24", "198.51.100.0/24"},
		{"leading zeros in address and length", "198.051.100.000/025", "198.51.100.0/25"},
		{"host bits are cleared", "198.51.100.77/24", "198.51.100.0/24"},
		{"everything", "0.0.0.0/0", "0.0.0.0/0"},
		{"plain IPv6", "fd00:20::/64", "fd00:20::/64"},
		{"IPv4 inside of IPv6", "::ffff:198.51.100.0/120", "198.51.100.0/24"},
		{"all of IPv6 and by that IPv4 too", "::/0", "::/0"},
		{"all of IPv4 inside of IPv6", "::ffff:0.0.0.0/96", "0.0.0.0/0"},
		{"more than the IPv4 inside of IPv6", "::ffff:0.0.0.0/95", "::fffe:0:0/95"},
		{"length too large", "198.51.100.0/33", ""},
		{"no length", "198.51.100.0", ""},
		{"empty", "", ""},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			prefix, err := parsePrefix(c.text)
			if c.want == "" {
				require.Error(t, err)
				return
			}
			require.NoError(t, err)
			assert.Equal(t, c.want, prefix.String())
		})
	}
}

func FuzzParseAddr(f *testing.F) {
	for _, seed := range []string{"10.0.0.1", "010.00.0.001", "fd00::1", "::ffff:1.2.3.4", "1.2.3", "::", ""} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		addr, err := parseAddr(text)
		strict, strictErr := netip.ParseAddr(text)
		if strictErr == nil && strict.Zone() == "" {
			require.NoError(t, err)
			require.Equal(t, strict.Unmap(), addr)
		}
		if err != nil {
			return
		}
		require.True(t, addr.IsValid() && !addr.Is4In6() && addr.Zone() == "")
		again, err := parseAddr(addr.String())
		require.NoError(t, err)
		require.Equal(t, addr, again)
	})
}

func FuzzParsePrefix(f *testing.F) {
	for _, seed := range []string{"10.0.0.0/8", "010.0.0.1/008", "fd00::/64", "::ffff:1.2.3.4/112", "::ffff:0:0/90", "/", ""} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		prefix, err := parsePrefix(text)
		strict, strictErr := netip.ParsePrefix(text)
		if strictErr == nil && !strict.Addr().Is4In6() {
			require.NoError(t, err)
			require.Equal(t, strict.Masked(), prefix)
		}
		if err != nil {
			return
		}
		require.True(t, prefix.IsValid())
		require.Equal(t, prefix.Masked(), prefix)
		again, err := parsePrefix(prefix.String())
		require.NoError(t, err)
		require.Equal(t, prefix, again)
	})
}
