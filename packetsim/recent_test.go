package packetsim

import (
	"net/netip"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// recentVisit is a packet after a wait. Port s sets, port c meets the rule that is tested, port any looks without changing.
type recentVisit struct {
	wait time.Duration
	port string
	drop bool
}

func TestMatchRecent(t *testing.T) {
	rows := []struct {
		name, check string
		visits      []recentVisit
	}{
		{"rcheck does not renew", "--rcheck --seconds 10", []recentVisit{
			{0, "c", false}, {0, "s", false}, {10 * time.Second, "c", true}, {time.Second, "c", false}}},
		{"update renews", "--update --seconds 10", []recentVisit{
			{0, "s", false}, {10 * time.Second, "c", true}, {10 * time.Second, "c", true}, {11 * time.Second, "c", false}}},
		{"without seconds it lasts", "--rcheck", []recentVisit{{0, "s", false}, {time.Hour, "c", true}}},
		{"reap removes the old", "--rcheck --seconds 10 --reap", []recentVisit{
			{0, "s", false}, {11 * time.Second, "c", false}, {0, "any", false}}},
		{"hit count", "--rcheck --hitcount 3", []recentVisit{
			{0, "s", false}, {0, "c", false}, {0, "s", false}, {0, "c", false}, {0, "s", false}, {0, "c", true}}},
		{"hits within the seconds", "--rcheck --seconds 10 --hitcount 2", []recentVisit{
			{0, "s", false}, {11 * time.Second, "s", false}, {0, "c", false}, {time.Second, "s", false}, {0, "c", true}}},
		{"update counts its own hit", "--update --hitcount 2", []recentVisit{{0, "s", false}, {0, "c", false}, {0, "s", false}, {0, "c", true}}},
		{"remove", "--remove", []recentVisit{{0, "c", false}, {0, "s", false}, {0, "c", true}, {0, "c", false}}},
		{"not in the list", "! --rcheck --seconds 10", []recentVisit{{0, "c", true}, {0, "s", false}, {0, "c", false}}},
	}
	ports := map[string]string{"s": "1", "c": "2", "any": "3"}
	for _, row := range rows {
		t.Run(row.name, func(t *testing.T) {
			check := "-m recent " + row.check + " --name L --mask 255.255.255.255 --rsource -j DROP"
			h, clock := testNode{rules4: "*filter\n:FORWARD ACCEPT [0:0]\n" +
				"-A FORWARD -p udp -m udp --dport 1 -m recent --set --name L --mask 255.255.255.255 --rsource\n" +
				"-A FORWARD -p udp -m udp --dport 2 " + check + "\n" +
				"-A FORWARD -p udp -m udp --dport 3 -m recent --rcheck --name L -j DROP\nCOMMIT\n"}.build(t)
			for i, v := range row.visits {
				clock.Step(v.wait)
				packet := "udp 10.244.0.11:9 > 10.244.0.12:" + ports[v.port] + " in veth1"
				walkOne(t, h, packet)
				assert.Equal(t, v.drop, step(t, h, packet).Verdict == Drop, "visit %d", i)
			}
		})
	}
}

// TestRememberedAddressesAreInTheList, masked as by the list's first rule, until their time is over.
func TestRememberedAddressesAreInTheList(t *testing.T) {
	h, clock := testNode{rules4: "*filter\n:FORWARD ACCEPT [0:0]\n" +
		"-A FORWARD -p udp -m recent --rcheck --seconds 10 --name L --mask 255.255.255.0 --rsource -j DROP\nCOMMIT\n"}.build(t)
	const packet, other = "udp 10.244.0.11:9 > 10.244.0.12:1 in veth1", "udp 10.244.1.11:9 > 10.244.0.12:1 in veth1"
	assert.Equal(t, Accept, step(t, h, packet).Verdict)
	h.Remember("L", netip.MustParseAddr("10.244.0.99"))
	assert.Equal(t, map[string]int{"L": 1}, h.RecentLists())
	assert.Equal(t, Drop, step(t, h, packet).Verdict)
	assert.Equal(t, Accept, step(t, h, other).Verdict)
	clock.Step(10 * time.Second)
	h.Remember("L", netip.MustParseAddr("10.244.0.98"))
	assert.Equal(t, map[string]int{"L": 1}, h.RecentLists(), "the same by the mask")
	clock.Step(10 * time.Second)
	assert.Equal(t, Drop, step(t, h, packet).Verdict, "it was renewed")
	clock.Step(time.Second)
	assert.Equal(t, Accept, step(t, h, packet).Verdict)
}

func TestRecentMaskAndSide(t *testing.T) {
	h, _ := testNode{rules4: "*filter\n:FORWARD ACCEPT [0:0]\n-A FORWARD -p udp -m recent --set --name N --mask 255.255.255.0 --rdest\n" +
		"-A FORWARD -p tcp -m recent --rcheck --name N --mask 255.255.255.0 --rdest -j DROP\nCOMMIT\n"}.build(t)
	step(t, h, "udp 10.244.0.11:9 > 9.9.9.1:1 in veth1")
	assert.Equal(t, Drop, walkOne(t, h, "tcp 10.244.0.12:9 > 9.9.9.2:1 in veth2").Verdict)
	assert.Equal(t, Accept, walkOne(t, h, "tcp 10.244.0.12:9 > 9.9.8.2:1 in veth2").Verdict)
}

func TestRecentListForgetsTheOldest(t *testing.T) {
	h, _ := testNode{rules4: "*filter\n:FORWARD ACCEPT [0:0]\n-A FORWARD -p udp -m recent --set --name N --rdest\n" +
		"-A FORWARD -p tcp -m recent --rcheck --name N --rdest -j DROP\nCOMMIT\n"}.build(t)
	in := parse(t, "udp 10.244.0.11:9 > 9.9.0.0:1 in veth1")
	for range recentAddresses + 1 {
		in.Dst = in.Dst.Next()
		_, err := h.Step(in, SeededChance(0))
		require.NoError(t, err)
	}
	assert.Equal(t, Accept, walkOne(t, h, "tcp 10.244.0.11:9 > 9.9.0.1:1 in veth1").Verdict)
	assert.Equal(t, Drop, walkOne(t, h, "tcp 10.244.0.11:9 > 9.9.0.2:1 in veth1").Verdict)
}
