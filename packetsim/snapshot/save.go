package snapshot

import (
	"fmt"
	"io"
	"strings"

	"github.com/chainwalk/chainwalk/fakeipt"
	"github.com/chainwalk/chainwalk/netfilter"
)

// ReadSave reads what iptables-save of a family has printed, with or without counters. It is for readers that know no iptables: what they get is in
// netfilter's words. Errors call the text by its name and say the line.
func ReadSave(name, save string, family netfilter.Family, dialect netfilter.Dialect) (netfilter.RulesetView, error) {
	kernel, err := fakeipt.LoadSave(family, dialect, name, strings.NewReader(save))
	if err != nil {
		return netfilter.RulesetView{}, err
	}
	return kernel.Ruleset(family).View(), nil
}

// Rulesets are what the node's rules of each tool and family are, in the order of IPTables.
func (s *Node) Rulesets() ([]netfilter.RulesetView, error) {
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

// AppendedRule is the line that appends a rule to a chain, for iptables-restore. The arguments are those of a netfilter.Rules.
func AppendedRule(chain string, args []string) string {
	return fmt.Sprintf("-A %s%s", chain, fakeipt.QuoteArgs(args))
}

// RestoreSaves are the rules of a kernel that had none after iptables-restore --noflush has read these texts, one after the other. The error is what
// the tool says.
func RestoreSaves(saves []string, family netfilter.Family) (netfilter.RulesetView, error) {
	kernel := fakeipt.New(fakeipt.Options{})
	tool := "iptables-restore"
	if family == netfilter.IPv6 {
		tool = "ip6tables-restore"
	}
	for _, save := range saves {
		var wrong strings.Builder
		if status := kernel.Run([]string{tool, "--noflush"}, strings.NewReader(save), io.Discard, &wrong); status != 0 {
			return netfilter.RulesetView{}, fmt.Errorf("%s: exit status %d: %s", tool, status, wrong.String())
		}
	}
	return kernel.Ruleset(family).View(), nil
}
