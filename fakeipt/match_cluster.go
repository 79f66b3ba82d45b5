package fakeipt

import (
	"fmt"
	"math"
	"syscall"

	"github.com/chainwalk/chainwalk/netfilter"
)

// MatchCluster is -m cluster: the hash of the connection's source says that a node of NodeMask is to handle it.
type MatchCluster struct {
	TotalNodes uint32
	NodeMask   uint32 // bit 0 is node 1
	HashSeed   uint32
	Invert     bool
}

// Name is "cluster".
func (*MatchCluster) Name() string { return "cluster" }

func (m *MatchCluster) appendSave(dst []byte, _ netfilter.Family, _ netfilter.Dialect) []byte {
	return fmt.Appendf(appendOption(dst, "--cluster-local-nodemask", m.Invert),
		" 0x%08x --cluster-total-nodes %d --cluster-hash-seed 0x%08x", m.NodeMask, m.TotalNodes, m.HashSeed)
}

func (m *MatchCluster) appendList(dst []byte, _ listStyle) []byte {
	return fmt.Appendf(dst, " cluster %snode_mask=0x%08x total_nodes=%d hash_seed=0x%08x",
		bang(m.Invert), m.NodeMask, m.TotalNodes, m.HashSeed)
}

func (m *MatchCluster) check(*checkContext) syscall.Errno {
	if uint64(m.NodeMask) >= 1<<m.TotalNodes {
		return syscall.EDOM
	}
	return 0
}

// maxClusterNodes is the number of nodes that the kernel's mask has room for.
const maxClusterNodes = 32

var clusterExtension = &extension{
	name: "cluster",
	options: []optionSpec{
		{name: "cluster-total-nodes", mandatory: true}, {name: "cluster-local-node", invert: true, excludes: 1 << 2},
		{name: "cluster-local-nodemask", invert: true, excludes: 1 << 1}, {name: "cluster-hash-seed", mandatory: true},
	},
	newMatch: func() matchParser { return &clusterParser{} },
}

type clusterParser struct {
	m     MatchCluster
	arena arena[MatchCluster]
}

func (p *clusterParser) begin(netfilter.Family) { p.m = MatchCluster{} }

func (p *clusterParser) option(o *optionCall) error {
	if o.name == "cluster-hash-seed" {
		n, err := o.number(0, math.MaxUint32)
		p.m.HashSeed = uint32(n)
		return err
	}
	// The tool takes no greater mask than it takes numbers of nodes.
	n, err := o.number(1, maxClusterNodes)
	switch o.name {
	case "cluster-total-nodes":
		p.m.TotalNodes = uint32(n)
	case "cluster-local-node":
		p.m.NodeMask, p.m.Invert = 1<<(n-1), o.invert
	case "cluster-local-nodemask":
		p.m.NodeMask, p.m.Invert = uint32(n), o.invert
	}
	return err
}

func (p *clusterParser) finish(seen uint32) (Match, error) {
	tooGreat := seen&1 != 0 && seen&(1<<3) != 0 && uint64(p.m.NodeMask) >= 1<<p.m.TotalNodes
	switch node, mask := seen&(1<<1) != 0, seen&(1<<2) != 0; {
	case node && tooGreat:
		return nil, badParameter("cluster match: `--cluster-local-node' must be <= `--cluster-total-nodes'")
	case mask && tooGreat && !node:
		return nil, badParameter("cluster match: `--cluster-local-nodemask' too big for `--cluster-total-nodes'")
	case !node && !mask:
		return nil, badParameter("cluster match: `--cluster-local-node' or`--cluster-local-nodemask' is missing")
	}
	return p.arena.intern(p.m), nil
}
