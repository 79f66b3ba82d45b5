package packetsim

import (
	"github.com/chainwalk/chainwalk/fakeipt/match"
	"github.com/chainwalk/chainwalk/internal/jhash"
	"github.com/chainwalk/chainwalk/packetsim/conntrack"
	"github.com/chainwalk/chainwalk/packetsim/inet"
)

// matchCluster is -m cluster (net/netfilter/xt_cluster.c): the node that the hash of the connection's first source says is one of the
// rule's. Of an IPv6 address the kernel hashes the first word alone. A packet without a connection never matches, nor does one that has a
// template.
func matchCluster(s *skb, m *match.Cluster) bool {
	if s.conn == nil || s.conn.Template != nil {
		return false
	}
	hash := jhash.Words(inet.MemoryWords(inet.AddrWords(s.conn.Tuples[conntrack.Original].Src))[:1], m.HashSeed)
	return (m.NodeMask>>jhash.Scale(hash, m.TotalNodes)&1 != 0) != m.Invert
}
