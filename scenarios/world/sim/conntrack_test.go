package sim

import (
	"net/netip"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"

	"github.com/chainwalk/chainwalk/fakekernel"
	"github.com/chainwalk/chainwalk/packetsim"
	hostconntrack "github.com/chainwalk/chainwalk/packetsim/conntrack"
	"github.com/chainwalk/chainwalk/packetsim/inet"
	"github.com/chainwalk/chainwalk/proxier/conntrack"
	"github.com/chainwalk/chainwalk/scenarios/world/node"
)

// tracked is a connection that is translated to an endpoint.
func tracked(proto inet.Proto, client, service, endpoint string, zone uint16) hostconntrack.Entry {
	from, to, by := netip.MustParseAddrPort(client), netip.MustParseAddrPort(service), netip.MustParseAddrPort(endpoint)
	e := hostconntrack.Entry{
		Original: hostconntrack.Tuple{Proto: proto, Src: from.Addr(), SrcPort: from.Port(), Dst: to.Addr(), DstPort: to.Port()},
		Reply:    hostconntrack.Tuple{Proto: proto, Src: by.Addr(), SrcPort: by.Port(), Dst: from.Addr(), DstPort: from.Port()},
		Timeout:  100, Zone: hostconntrack.Zone{Original: zone, Reply: zone},
	}
	if proto == inet.TCP {
		e.State = "ESTABLISHED"
	}
	return e
}

func TestConnectionsAreCleaned(t *testing.T) {
	stale := []hostconntrack.Entry{
		tracked(inet.UDP, "10.0.9.9:40000", "172.30.0.41:53", "10.0.0.1:53", 0),
		tracked(inet.UDP, "10.0.9.9:40000", "172.30.0.41:53", "10.0.0.1:53", 7),
	}
	others := []hostconntrack.Entry{
		tracked(inet.TCP, "10.0.9.9:40000", "172.30.0.41:53", "10.0.0.1:53", 0),
		tracked(inet.UDP, "10.0.9.9:40001", "172.30.0.41:53", "10.0.0.2:53", 0),
		tracked(inet.UDP, "[fd00:9::9]:40000", "[fd00::41]:53", "[fd00:10::1]:53", 0),
	}
	host, err := packetsim.NewHost(packetsim.HostConfig{Name: "node", Clock: node.NewClock(),
		Netfilter: fakekernel.New(fakekernel.Options{}).Namespace(), Conntrack: append(stale, others...)})
	require.NoError(t, err)
	before := host.Conntrack()
	require.Len(t, before, 5)
	want := host.Conntrack()[:0]
	for _, e := range before {
		if e.Reply.Src != netip.MustParseAddr("10.0.0.1") || e.Original.Proto != inet.UDP {
			want = append(want, e)
		}
	}

	var frontends conntrack.Frontends
	serving := conntrack.Backends{netip.MustParseAddrPort("10.0.0.2:53"): {}}
	frontends.AddService(netip.MustParseAddrPort("172.30.0.41:53"), serving)
	frontends.AddService(netip.MustParseAddrPort("[fd00::41]:53"), nil)
	deleted, err := conntrack.Clean(connections{host}, v1.IPv4Protocol, &frontends)
	require.NoError(t, err)
	assert.Equal(t, 2, deleted)
	assert.Equal(t, want, host.Conntrack())

	deleted, err = conntrack.Clean(connections{host}, v1.IPv6Protocol, &frontends)
	require.NoError(t, err)
	assert.Equal(t, 1, deleted)
	assert.Len(t, host.Conntrack(), 2)
}

// The same connection may be tracked in several zones.
func TestConnectionsOfOneZoneAreDeleted(t *testing.T) {
	first := tracked(inet.UDP, "10.0.9.9:40000", "172.30.0.41:53", "10.0.0.1:53", 0)
	second := tracked(inet.UDP, "10.0.9.9:40000", "172.30.0.41:53", "10.0.0.1:53", 7)
	host, err := packetsim.NewHost(packetsim.HostConfig{Name: "node", Clock: node.NewClock(),
		Netfilter: fakekernel.New(fakekernel.Options{}).Namespace(), Conntrack: []hostconntrack.Entry{first, second}})
	require.NoError(t, err)
	deleted, err := connections{host}.Delete(v1.IPv4Protocol, []conntrack.Entry{trackedEntry(second)})
	require.NoError(t, err)
	assert.Equal(t, 1, deleted)
	require.Len(t, host.Conntrack(), 1)
	assert.Equal(t, first.Zone, host.Conntrack()[0].Zone)
}
