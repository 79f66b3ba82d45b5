package snapshot

import (
	"github.com/chainwalk/chainwalk/fakeipt"
	"github.com/chainwalk/chainwalk/netfilter"
)

// Rulesets are what the node's rules of each tool and family are, in the order of IPTables.
func (s *NodeSnapshot) Rulesets() ([]netfilter.RulesetView, error) {
	kernels := map[netfilter.Dialect]*fakeipt.Kernel{}
	out := make([]netfilter.RulesetView, len(s.IPTables))
	for i := range s.IPTables {
		r := &s.IPTables[i]
		if kernels[r.Dialect] == nil {
			kernel, err := s.netfilter(HostOptions{Dialect: r.Dialect})
			if err != nil {
				return nil, err
			}
			kernels[r.Dialect] = fakeipt.First(kernel)
		}
		out[i] = kernels[r.Dialect].Ruleset(r.Family).View()
	}
	return out, nil
}
