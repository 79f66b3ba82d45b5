package packetsim

import (
	"fmt"
	"net/netip"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/chainwalk/chainwalk/internal/race"
	"github.com/chainwalk/chainwalk/netfilter"
)

// TestRoutingTreatsAlike: sources of one Origin are treated alike wherever their packets go, and packets of devices of one Doorway that no
// route between their addresses leads by are, too.
func TestRoutingTreatsAlike(t *testing.T) {
	race.OneGoroutine(t)
	alike := map[string]int{}
	rapid.Check(t, func(rt *rapid.T) {
		family := rapid.SampledFrom([]netfilter.Family{netfilter.IPv4, netfilter.IPv6}).Draw(rt, "family")
		h, err := NewHost(drawTerrain(rt))
		require.NoError(rt, err)
		terrain, err := h.Terrain(family)
		require.NoError(rt, err)
		addrs := terrain.Cuts()
		one := rapid.SampledFrom(addrs)
		mark := rapid.SampledFrom([]uint32{0, 1}).Draw(rt, "mark")
		for range 20 {
			dst, src := one.Draw(rt, "dst"), one.Draw(rt, "src")
			checkOrigins(rt, terrain, src, one.Draw(rt, "other"), dst, mark, alike)
			checkDoorways(rt, terrain, src, dst, mark, alike)
		}
	})
	require.Greater(t, alike["sources"], 100)
	require.Greater(t, alike["devices"], 100)
}

func checkOrigins(rt *rapid.T, t *Terrain, src, other, dst netip.Addr, mark uint32, alike map[string]int) {
	if src == other || t.Origin(src) != t.Origin(other) {
		return
	}
	alike["sources"]++
	for _, d := range t.Devices() {
		name := fmt.Sprintf("%s and %s to %s by %s", src, other, dst, d.Name)
		require.Equal(rt, t.Enters(src, dst, d.Name), t.Enters(other, dst, d.Name), name)
		require.Equal(rt, t.RouteIn(src, dst, mark, d.Name), t.RouteIn(other, dst, mark, d.Name), name)
	}
	for _, anySrc := range []bool{false, true} {
		way, _ := t.RouteOut(src, dst, mark, anySrc)
		of, _ := t.RouteOut(other, dst, mark, anySrc)
		require.Equal(rt, way, of, "%s and %s to %s, any source: %v", src, other, dst, anySrc)
	}
}

func checkDoorways(rt *rapid.T, t *Terrain, src, dst netip.Addr, mark uint32, alike map[string]int) {
	doors, known := t.Doors(src, dst)
	isDoor := map[string]bool{}
	for _, d := range doors {
		isDoor[d] = true
	}
	first := map[Doorway]string{}
	for _, d := range t.Devices() {
		doorway := t.Doorway(d.Name)
		if !doorway.Up || doorway.Port {
			continue
		}
		one, is := first[doorway]
		if !is {
			if !isDoor[d.Name] {
				first[doorway] = d.Name
			}
			continue
		}
		name := fmt.Sprintf("%s to %s by %s and %s", src, dst, one, d.Name)
		require.Equal(rt, t.Enters(src, dst, one), t.Enters(src, dst, d.Name), name)
		if known && !isDoor[d.Name] {
			alike["devices"]++
			require.Equal(rt, t.RouteIn(src, dst, mark, one), t.RouteIn(src, dst, mark, d.Name), name)
		}
	}
}

// drawTerrain is a host whose devices have settings of their own, with routes of many kinds.
func drawTerrain(rt *rapid.T) HostConfig {
	config := HostConfig{Name: "node", Sysctls: map[string]string{}, Devices: []Device{
		{Name: "eth0", Up: true, Addresses: addresses("192.168.0.3/24", "fd00::3/64")},
		{Name: "cbr0", Kind: "bridge", Up: true, Addresses: addresses("10.244.0.1/24", "fd00:10::1/64")},
	}}
	chance := func(one, of int, what string) bool { return rapid.IntRange(1, of).Draw(rt, what) <= one }
	set := func(name string, values ...string) {
		if chance(1, 3, name) {
			config.Sysctls[name] = rapid.SampledFrom(values).Draw(rt, name+" is")
		}
	}
	set("net.ipv6.conf.all.forwarding", "0", "1")
	devices := []string{"all", "default", "eth0"}
	for i := range rapid.IntRange(2, 6).Draw(rt, "veths") {
		d := Device{Name: fmt.Sprintf("veth%d", i), Up: !chance(1, 6, "down")}
		switch {
		case chance(1, 5, "numbered"):
			d.Addresses = addresses(fmt.Sprintf("10.9.%d.1/24", i), fmt.Sprintf("fd00:9:%d::1/64", i))
		case chance(1, 8, "port"):
			d.Master = "cbr0"
		}
		config.Devices, devices = append(config.Devices, d), append(devices, d.Name)
	}
	for _, d := range devices {
		conf := "net.ipv4.conf." + d + "."
		set(conf+"rp_filter", "0", "1", "2")
		for _, key := range []string{"forwarding", "route_localnet", "accept_local", "send_redirects", "src_valid_mark"} {
			set(conf+key, "0", "1")
		}
	}
	for i := range rapid.IntRange(0, 8).Draw(rt, "routes") {
		config.Routes = append(config.Routes, drawRoute(rt, i, rapid.SampledFrom(devices[2:]).Draw(rt, "dev"), chance))
	}
	if chance(1, 8, "policy") {
		config.PolicyRules = append(slices.Clone(defaultRules(netfilter.IPv4)), PolicyRule{
			Family: netfilter.IPv4, Priority: 100, Table: TableMain, In: rapid.SampledFrom(devices[2:]).Draw(rt, "in"), Action: RuleProhibit,
		})
		if chance(1, 2, "no table default") { // there are as many rules then as the kernel has
			config.PolicyRules = slices.Delete(config.PolicyRules, 2, 3)
		}
	}
	return config
}

func drawRoute(rt *rapid.T, i int, dev string, chance func(one, of int, what string) bool) Route {
	r := Route{Dst: netip.MustParsePrefix(fmt.Sprintf("10.244.1.%d/32", i)), Dev: dev}
	if chance(1, 3, "of IPv6") {
		r.Dst = netip.MustParsePrefix(fmt.Sprintf("fd00:11::%x/128", i))
	}
	switch {
	case chance(1, 6, "nowhere"):
		r.Dev, r.Type = "", rapid.SampledFrom([]RouteType{RouteBlackhole, RouteUnreachable, RouteProhibit}).Draw(rt, "type")
	case chance(1, 8, "local"):
		r.Dev, r.Type, r.Table = loopbackName, RouteLocal, TableLocal
	case r.Dst.Addr().Is4() && chance(1, 8, "realm"):
		r.Realms = 5
	case r.Dst.Addr().Is4() && chance(1, 8, "hops"):
		r.Dev, r.NextHops = "", []NextHop{{Dev: dev}, {Dev: "eth0", Via: netip.MustParseAddr("192.168.0.9")}}
	}
	return r
}
