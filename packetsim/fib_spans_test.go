package packetsim

import (
	"fmt"
	"net/netip"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/chainwalk/chainwalk/netfilter"
)

// TestSpans holds that look-ups by spans find what look-ups in the tables find.
func TestSpans(t *testing.T) {
	spans := 0
	rapid.Check(t, func(r *rapid.T) {
		config := drawRoutes(r)
		h, err := NewHost(config)
		require.NoError(t, err)
		h.Steer(netip.MustParseAddr("10.0.0.9"))
		addr := func() netip.Addr {
			return netip.AddrFrom4([4]byte{rapid.SampledFrom([]byte{0, 9, 10, 11, 127, 255}).Draw(r, "first"),
				rapid.SampledFrom([]byte{0, 1, 255}).Draw(r, "second"), rapid.SampledFrom([]byte{0, 127, 128, 255}).Draw(r, "third"),
				rapid.SampledFrom([]byte{0, 1, 2, 255}).Draw(r, "fourth")})
		}
		for range leastLookups {
			h.fib4.spans()
		}
		x := h.fib4.fast.tables.Load()
		require.NotNil(t, x)
		if len(x.all.from) > 0 {
			spans++
		}
		for range 50 {
			if rapid.IntRange(0, 9).Draw(r, "steer") == 0 {
				h.Steer(rapid.SampledFrom([]netip.Addr{{}, netip.MustParseAddr("10.0.0.7")}).Draw(r, "via"))
			}
			f := flow{dst: addr(), src: addr(), mark: uint32(rapid.IntRange(0, 1).Draw(r, "mark")), in: loopbackName,
				out: rapid.SampledFrom([]string{"", "", "a", "b"}).Draw(r, "out")}
			have, haveErr := h.fib4.lookup(&f)
			want, wantErr := h.fib4.lookupTables(&f)
			require.Same(t, want, have, "%+v", f)
			require.Equal(t, wantErr, haveErr)
			require.Same(t, h.fib4.tables[TableLocal].lookup(&flow{dst: f.dst}), h.fib4.localRoute(f.dst))
		}
	})
	require.NotZero(t, spans)
}

// drawRoutes is a host with routes of all types, few enough that the first look-ups make spans.
func drawRoutes(r *rapid.T) HostConfig {
	config := HostConfig{Name: "node"}
	for _, name := range []string{"a", "b", "c"} {
		config.Devices = append(config.Devices, Device{Name: name, Up: rapid.IntRange(0, 3).Draw(r, "up") > 0, MTU: 1500,
			Addresses: []Address{{Prefix: netip.MustParsePrefix(fmt.Sprintf("10.%d.0.1/%d", rapid.IntRange(0, 1).Draw(r, "net"),
				rapid.IntRange(20, 26).Draw(r, "bits")))}}})
	}
	dev := func() string { return rapid.SampledFrom([]string{"a", "b", "c"}).Draw(r, "dev") }
	for range rapid.IntRange(0, 20).Draw(r, "routes") {
		at := [4]byte{rapid.SampledFrom([]byte{0, 10, 255}).Draw(r, "first"), rapid.SampledFrom([]byte{0, 1, 255}).Draw(r, "second"),
			rapid.SampledFrom([]byte{0, 128, 255}).Draw(r, "third"), rapid.SampledFrom([]byte{0, 1, 255}).Draw(r, "fourth")}
		one := Route{Dst: netip.PrefixFrom(netip.AddrFrom4(at), rapid.SampledFrom([]int{0, 8, 12, 16, 17, 24, 31, 32}).Draw(r, "bits")),
			Metric: uint32(rapid.IntRange(0, 1).Draw(r, "metric")),
			Table:  rapid.SampledFrom([]RouteTable{0, TableLocal, TableDefault}).Draw(r, "table")}
		switch one.Type = rapid.SampledFrom([]RouteType{RouteUnicast, RouteLocal, RouteBroadcast, RouteAnycast, RouteUnreachable, RouteProhibit,
			RouteBlackhole, RouteThrow}).Draw(r, "type"); one.Type {
		case RouteUnreachable, RouteProhibit, RouteBlackhole, RouteThrow:
		case RouteUnicast:
			switch rapid.IntRange(0, 11).Draw(r, "way") {
			case 0:
				one.Steered, one.Dev = true, dev()
			case 1, 2:
				one.NextHops = []NextHop{{Dev: dev()}, {Dev: dev()}}
			default:
				one.Dev = dev()
			}
		default:
			one.Dev = dev()
		}
		config.Routes = append(config.Routes, one)
	}
	if rapid.IntRange(0, 5).Draw(r, "rules") == 0 {
		config.PolicyRules = []PolicyRule{{Family: netfilter.IPv4, Table: TableLocal},
			{Family: netfilter.IPv4, Priority: 1, Mark: 1, Table: TableDefault}, {Family: netfilter.IPv4, Priority: 2, Table: TableMain}}
	}
	return config
}
