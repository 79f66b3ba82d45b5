package ipt

import (
	"slices"
	"time"

	"github.com/chainwalk/chainwalk/internal/mark"
	"github.com/chainwalk/chainwalk/proxier/iptables"
)

// Intact says whether the tables hold what the last Full and Partial wrote, as
// far as one can tell by little: false if a canary chain that Intact made before
// is gone, or one of the jumps to the rules. It makes the canaries that are
// missing. It may say false and return an error for what it could not look at.
func (w *Writer) Intact() (bool, error) {
	intact := true
	for _, table := range canaryTables() {
		existed, err := w.config.Tools.EnsureChain(table, canaryChain)
		if err != nil {
			return intact, err
		}
		if !existed && w.canaries {
			w.config.Marks.Hit(mark.SyncCanaryGone)
			intact = false
		}
	}
	w.canaries = true
	for _, rule := range w.monitoredRules() {
		exists, err := w.config.Tools.RuleExists(rule.Table, rule.Chain, rule.Args...)
		if err != nil {
			return intact, err
		}
		if !exists {
			w.config.Marks.Hit(mark.SyncJumpGone)
			intact = false
		}
	}
	return intact, nil
}

// Monitor calls lost each time somebody else flushed the tables, until stop is
// closed. It looks for that once in every interval.
func (w *Writer) Monitor(lost func(), interval time.Duration, stop <-chan struct{}) {
	w.config.Tools.Monitor(canaryChain, canaryTables(), w.monitoredRules(), lost, interval, stop)
}

func canaryTables() []iptables.Table {
	return []iptables.Table{iptables.TableMangle, iptables.TableNAT, iptables.TableFilter}
}

// monitoredRules are jumps that a flush removes even if it leaves all chains:
// the first one of each table.
func (w *Writer) monitoredRules() []iptables.Rule {
	var rules []iptables.Rule
	for _, jump := range w.jumps {
		if !slices.ContainsFunc(rules, func(r iptables.Rule) bool { return r.Table == jump.Table }) {
			rules = append(rules, jump.Rule)
		}
	}
	return rules
}
