package packetsim

import (
	"net/netip"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/chainwalk/chainwalk/fakeipt/target"
	"github.com/chainwalk/chainwalk/fakeipt/xtables"
	"github.com/chainwalk/chainwalk/packetsim/inet"
)

func TestNPTMap(t *testing.T) {
	prefix := func(text string) xtables.AddrMatch {
		p := netip.MustParsePrefix(text)
		ones := netip.MustParseAddr("ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff")
		return xtables.AddrMatch{Addr: p.Addr(), Mask: netip.PrefixFrom(ones, p.Bits()).Masked().Addr()}
	}
	const longer = "the longer prefix counts" // and the checksum is not kept, as in the kernel
	for _, row := range []struct {
		about, from, to, addr, want string
		ok                          bool
	}{
		{"the example of RFC 6296", "fd01:203:405::/48", "2001:db8:1::/48", "fd01:203:405:1::1234", "2001:db8:1:d550::1234", true},
		{"and back", "2001:db8:1::/48", "fd01:203:405::/48", "2001:db8:1:d550::1234", "fd01:203:405:1::1234", true},
		{"behind a long prefix", "fd01::/64", "fd02::/64", "fd01::5:0:0:1", "fd02::4:0:0:1", true},
		{"all ones are passed by", "fd01::/64", "fd02::/64", "fd01::ffff:7:0:1", "fd02::ffff:6:0:1", true},
		{"all ones become 0", "fd01::/64", "fd02::/64", "fd01::1:0:0:1", "fd02::0:0:0:1", true},
		{"nothing to change", "fd01::/64", "fd02::/64", "fd01::ffff:ffff:ffff:ffff", "fd02::ffff:ffff:ffff:ffff", false},
		{longer, "fd01::/16", "fd02:aa00::/24", "fd01:1234:5::1", "fd02:aa34:5:55fe::1", true},
	} {
		got, ok := nptMap(netip.MustParseAddr(row.addr), &target.NPT{From: prefix(row.from), To: prefix(row.to)})
		assert.Equal(t, row.ok, ok, row.about)
		assert.Equal(t, netip.MustParseAddr(row.want), got, row.about)
		if ok && row.about != longer {
			assert.Equal(t, inet.WordSum(netip.MustParseAddr(row.addr))%0xffff, inet.WordSum(got)%0xffff, "%s: the checksum", row.about)
		}
	}
}
