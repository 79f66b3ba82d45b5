package sim

import (
	"fmt"

	"github.com/chainwalk/chainwalk/fakeipt"
	"github.com/chainwalk/chainwalk/proxier"
)

// Fresh is the netfilter of a node that nobody has touched, over which a new proxier has synced that knows what the node's proxier
// knows: its rules are those that the node's must come to.
func (w *World) Fresh(name string) (*fakeipt.Kernel, error) {
	netfilter := fakeipt.New(fakeipt.Options{Dialect: w.cluster.Tool.Dialect(), Clock: w.clock})
	kernel := kernelOf(w.network.Host(name).Host, netfilter)
	kernel.Sysctls, kernel.Conntrack = &beside{Sysctls: kernel.Sysctls, set: map[string]int{}}, nil
	if err := w.Node(name).Fresh(kernel); err != nil {
		return nil, fmt.Errorf("%s: a new proxier: %w", name, err)
	}
	return netfilter, nil
}

// beside are kernel settings of which one sees what somebody else has set, who does not see what one sets oneself.
type beside struct {
	proxier.Sysctls
	set map[string]int
}

// Get reads a setting.
func (s *beside) Get(name string) (int, error) {
	if value, ok := s.set[name]; ok {
		return value, nil
	}
	return s.Sysctls.Get(name)
}

// Set sets a setting.
func (s *beside) Set(name string, value int) error {
	s.set[name] = value
	return nil
}

// RulesOf are the rules of a family by "TABLE CHAIN", without counters. A chain without rules is there with none.
func RulesOf(k *fakeipt.Kernel, family fakeipt.Family) map[string][]string {
	out := map[string][]string{}
	for _, table := range k.Ruleset(family).Tables() {
		for chain := range table.Unsorted() {
			rules := make([]string, len(chain.Rules))
			for i, rule := range chain.Rules {
				rules[i] = rule.Text(chain.Name, family, k.Dialect())
			}
			out[table.Name()+" "+chain.Name] = rules
		}
	}
	return out
}
