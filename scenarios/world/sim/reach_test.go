package sim

import (
	"context"
	"net/netip"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/chainwalk/chainwalk/netfilter"
	"github.com/chainwalk/chainwalk/packetsim/conntrack"
	"github.com/chainwalk/chainwalk/packetsim/inet"
	"github.com/chainwalk/chainwalk/packetsim/network"
	"github.com/chainwalk/chainwalk/scenarios"
)

// reachBackend runs scenarios in memory, and with every connection asks whether Reach says of it, also from other hosts of the network,
// what Connect says.
type reachBackend struct {
	Backend
	t *testing.T
	// attempts are how many connections there were, and asked of how many both were asked.
	attempts, asked int
}

// every is how many attempts it takes until each host but their own was asked.
const every = 5

func (b *reachBackend) Start(ctx context.Context, cluster *scenarios.Cluster) (scenarios.Session, error) {
	s, err := b.Backend.Start(ctx, cluster)
	if err != nil {
		return nil, err
	}
	return &reachSession{s.(*World), b}, nil
}

type reachSession struct {
	*World
	*reachBackend
}

func (s *reachSession) Connect(ctx context.Context, a scenarios.Attempt) (*scenarios.Observed, error) {
	before := stateOf(s.network)
	s.attempts++
	for i, from := range s.network.Hosts() {
		c := s.observer().connectOf(a)
		if from != a.From && (i+s.attempts)%every != 0 {
			continue
		}
		if c.From = from; from != a.From {
			c.Source = netip.Addr{} // of another host
		}
		for _, c.Proto = range protocols(c.Proto, from == a.From) {
			want, err := s.network.Connect(c)
			require.NoError(s.t, err)
			got, err := s.network.Reach(c, nil)
			require.NoError(s.t, err)
			s.compare(c, want, got)
			s.asked++
		}
	}
	assert.Equal(s.t, before, stateOf(s.network), "what asking leaves behind")
	return s.World.Connect(ctx, a)
}

// protocols are the protocols to ask for in place of one.
func protocols(p inet.Proto, all bool) []inet.Proto {
	if all && p.HasPorts() {
		return []inet.Proto{inet.TCP, inet.UDP, inet.SCTP}
	}
	return []inet.Proto{p}
}

func (s *reachSession) compare(c network.Connect, connections []network.Connection, got []network.Reached) {
	require.Len(s.t, got, len(connections), "%+v", c)
	for i := range connections {
		if want := s.withoutText(c, &connections[i]); got[i] != want {
			assert.Equal(s.t, want, got[i], "%+v: %s", c, connections[i].Why)
		}
	}
}

// withoutText is what Reach is to say of a connection.
func (s *reachSession) withoutText(c network.Connect, conn *network.Connection) network.Reached {
	if len(conn.Forward.Hops) == 0 {
		return network.Reached{Probability: conn.Probability, End: network.EndLost, At: c.From, Asked: c.To, Reason: conn.Why}
	}
	p, last := &conn.Forward.Packet, &conn.Forward.Hops[len(conn.Forward.Hops)-1].Outcome
	r := network.Reached{
		Probability: conn.Probability, End: conn.Forward.End, At: conn.Forward.At, Socket: conn.Socket,
		Asked: netip.AddrPortFrom(p.Dst, p.DstPort), Client: netip.AddrPortFrom(p.Src, p.SrcPort),
		Made: conn.Made, Refused: conn.Refused, RejectWith: last.RejectWith, Reason: last.Why,
		SourceTranslated: decisionOf(&conn.Forward).SourceTranslated,
	}
	r.Listens = r.End == network.EndDelivered && s.network.Host(r.At).Listeners.Accept(p.Proto, r.Asked)
	return r
}

// state is what packets change of hosts.
type state struct {
	connections [][]conntrack.Entry
	counted     []uint64 // by rules and policies, one after the other
}

func stateOf(n *network.Network) state {
	var all state
	for _, name := range n.Hosts() {
		h := n.Host(name)
		all.connections = append(all.connections, h.Conntrack())
		if h.Netfilter() == nil {
			continue
		}
		for _, family := range []netfilter.Family{netfilter.IPv4, netfilter.IPv6} {
			for _, table := range h.Rulesets(family)[0].Tables {
				for chain := range table.Chains() {
					all.counted = append(all.counted, table.PolicyCounted(chain.Name).Packets)
					for i := range chain.Len() {
						all.counted = append(all.counted, chain.Counted(i).Packets)
					}
				}
			}
		}
	}
	return all
}
