package netns

import (
	"iter"
	"strings"

	"github.com/chainwalk/chainwalk/netfilter"
	"github.com/chainwalk/chainwalk/scenarios"
	"github.com/chainwalk/chainwalk/scenarios/world/tools"
)

// eachSave gives what iptables-save of a variant prints with these arguments, then what ip6tables-save does. It ends with the first error.
func (h *host) eachSave(tool netfilter.Dialect, take func(v6 bool, save string) error, args ...string) error {
	for _, family := range tools.Families(scenarios.FamilyDual) {
		argv := append([]string{tools.Variant(tools.Name(family, "-save"), tool)}, args...)
		save, err := tools.Run(h.exec, "", argv...)
		if err != nil {
			return err
		}
		if err := take(family == scenarios.FamilyIPv6, save); err != nil {
			return err
		}
	}
	return nil
}

// savedLines are the lines that iptables-save has printed, without their ends, and the tables that they are of.
func savedLines(save string) iter.Seq2[string, string] {
	return func(yield func(table, line string) bool) {
		table := ""
		for line := range strings.Lines(save) {
			line = strings.TrimRight(line, "\n")
			if name, begins := strings.CutPrefix(line, "*"); begins {
				table = name
			}
			if !yield(table, line) {
				return
			}
		}
	}
}
