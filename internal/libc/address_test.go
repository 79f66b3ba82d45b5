package libc

import (
	"net/netip"
	"testing"

	"github.com/stretchr/testify/assert"
)

// addressText is an address, or "" if there is none.
func addressText(a netip.Addr, ok bool) string {
	if !ok {
		return ""
	}
	return a.String()
}

func TestInetAton(t *testing.T) {
	for text, want := range map[string]string{
		"1": "0.0.0.1", "10.1": "10.0.0.1", "10.1.2": "10.1.0.2", "0x7f.1": "127.0.0.1", "010.0.0.1": "8.0.0.1",
		"4294967295": "255.255.255.255", "4294967296": "", "1.16777216": "", "256.1": "", "1.2.3.4.5": "", "1.2.3.4x": "", "": "",
	} {
		assert.Equal(t, want, addressText(InetAton([]byte(text))), "%q", text)
	}
}

func TestInetPton(t *testing.T) {
	for text, want := range map[string]string{"1.2.3.4": "1.2.3.4", "1.2.3": "", "01.2.3.4": "", "1.2.3.256": "", "::1": ""} {
		assert.Equal(t, want, addressText(InetPton([]byte(text), 32)), "%q", text)
	}
	for text, want := range map[string]string{"::1": "::1", "fe80::1%eth0": "", "1.2.3.4": ""} {
		assert.Equal(t, want, addressText(InetPton([]byte(text), 128)), "%q", text)
	}
}

func TestInetNtop(t *testing.T) {
	for text, want := range map[string]string{
		"::102:304": "::1.2.3.4", "::0.1.0.0": "::0.1.0.0", "::1": "::1", "::1:0:0": "::1:0:0", "1.2.3.4": "1.2.3.4",
	} {
		assert.Equal(t, want, string(AppendInetNtop(nil, netip.MustParseAddr(text))), text)
	}
}

func TestGetAddrInfo(t *testing.T) {
	for _, row := range []struct {
		text string
		bits int
		want string
	}{
		{"10.1", 32, "10.0.0.1"},
		{"::ffff:1.2.3.4", 32, "1.2.3.4"},
		{"10.1", 128, "Address family for hostname not supported"},
		{"::1", 32, "Address family for hostname not supported"},
		{"1.2.3.400", 32, "Name or service not known"},
		{"-host", 32, "Name or service not known"},
		{"host.example", 128, "Temporary failure in name resolution"},
	} {
		a, err := getAddrInfo([]byte(row.text), row.bits)
		if err != nil {
			assert.EqualError(t, err, row.want, row.text)
		} else {
			assert.Equal(t, row.want, a.String(), row.text)
		}
	}
}
