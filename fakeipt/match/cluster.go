package match

import (
	"fmt"
	"math"
	"syscall"

	"github.com/chainwalk/chainwalk/fakeipt/xtables"
	"github.com/chainwalk/chainwalk/netfilter"
)

// Cluster is -m cluster: the hash of the connection's source says that a node of NodeMask is to handle it.
type Cluster struct {
	TotalNodes uint32
	NodeMask   uint32 // bit 0 is node 1
	HashSeed   uint32
	Invert     bool
}

// Name is "cluster".
func (*Cluster) Name() string { return "cluster" }

func (m *Cluster) AppendSave(dst []byte, _ netfilter.Family, _ netfilter.Dialect) []byte {
	return fmt.Appendf(xtables.AppendOption(dst, "--cluster-local-nodemask", m.Invert),
		" 0x%08x --cluster-total-nodes %d --cluster-hash-seed 0x%08x", m.NodeMask, m.TotalNodes, m.HashSeed)
}

func (m *Cluster) AppendList(dst []byte, _ xtables.ListStyle) []byte {
	return fmt.Appendf(dst, " cluster %snode_mask=0x%08x total_nodes=%d hash_seed=0x%08x",
		xtables.Bang(m.Invert), m.NodeMask, m.TotalNodes, m.HashSeed)
}

func (m *Cluster) Check(*xtables.CheckContext) syscall.Errno {
	if uint64(m.NodeMask) >= 1<<m.TotalNodes {
		return syscall.EDOM
	}
	return 0
}

// maxClusterNodes is the number of nodes that the kernel's mask has room for.
const maxClusterNodes = 32

var clusterExtension = &xtables.Extension{
	Name: "cluster",
	Options: []xtables.Option{
		{Name: "cluster-total-nodes", Mandatory: true}, {Name: "cluster-local-node", Invert: true, Excludes: 1 << 2},
		{Name: "cluster-local-nodemask", Invert: true, Excludes: 1 << 1}, {Name: "cluster-hash-seed", Mandatory: true},
	},
	NewMatch: func() xtables.MatchParser { return &clusterParser{} },
}

type clusterParser struct {
	m     Cluster
	arena xtables.Arena[Cluster]
}

func (p *clusterParser) Begin(netfilter.Family) { p.m = Cluster{} }

func (p *clusterParser) Option(o *xtables.OptionCall) error {
	if o.Name == "cluster-hash-seed" {
		n, err := o.Number(0, math.MaxUint32)
		p.m.HashSeed = uint32(n)
		return err
	}
	// The tool takes no greater mask than it takes numbers of nodes.
	n, err := o.Number(1, maxClusterNodes)
	switch o.Name {
	case "cluster-total-nodes":
		p.m.TotalNodes = uint32(n)
	case "cluster-local-node":
		p.m.NodeMask, p.m.Invert = 1<<(n-1), o.Invert
	case "cluster-local-nodemask":
		p.m.NodeMask, p.m.Invert = uint32(n), o.Invert
	}
	return err
}

func (p *clusterParser) Finish(seen uint32) (xtables.Match, error) {
	tooGreat := seen&1 != 0 && seen&(1<<3) != 0 && uint64(p.m.NodeMask) >= 1<<p.m.TotalNodes
	switch node, mask := seen&(1<<1) != 0, seen&(1<<2) != 0; {
	case node && tooGreat:
		return nil, xtables.BadParameter("cluster match: `--cluster-local-node' must be <= `--cluster-total-nodes'")
	case mask && tooGreat && !node:
		return nil, xtables.BadParameter("cluster match: `--cluster-local-nodemask' too big for `--cluster-total-nodes'")
	case !node && !mask:
		return nil, xtables.BadParameter("cluster match: `--cluster-local-node' or`--cluster-local-nodemask' is missing")
	}
	return p.arena.Intern(p.m), nil
}
