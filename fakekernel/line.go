package fakekernel

import (
	"fmt"
	"strings"

	"github.com/chainwalk/chainwalk/netfilter"
)

// Line is a line of what iptables-save has printed, and what it says.
type Line struct {
	// Text is the line as it was printed, without its end.
	Text string
	// Table is the table that it is of; empty before the first.
	Table string
	// Chain is the chain that the line makes, or whose rule it is; empty for any other line.
	Chain string
	// Fact is what the rule means, and Args are it as arguments of a command, without the chain; nil if the line is none.
	Fact *netfilter.Fact
	Args []string
}

// Lines are the lines that iptables-save of a family has printed, with or without counters. Errors call the text by its name and say the
// line.
func Lines(name, save string, family netfilter.Family, dialect netfilter.Dialect) ([]Line, error) {
	rules, err := ReadSave(name, save, family, dialect)
	if err != nil {
		return nil, err
	}
	return LinesOf(name, save, &rules)
}

// LinesOf are those of what iptables-save has printed of rules that a kernel has read from it. Errors call the text by its name.
func LinesOf(name, save string, rules *netfilter.RulesetView) (out []Line, err error) {
	table := ""
	next := map[[2]string]int{} // the rule of a table's chain that comes next
	for text := range strings.Lines(save) {
		line := Line{Text: strings.TrimRight(text, "\r\n")}
		if name, is := strings.CutPrefix(line.Text, "*"); is {
			table = name
		}
		line.Table = table
		if chain, is := strings.CutPrefix(line.Text, ":"); is {
			line.Chain, _, _ = strings.Cut(chain, " ")
		} else if chain, is := strings.CutPrefix(withoutCounters(line.Text), "-A "); is {
			line.Chain, _, _ = strings.Cut(chain, " ")
			if line.Fact, line.Args, err = ruleOf(rules, table, line.Chain, next[[2]string{table, line.Chain}]); err != nil {
				return nil, fmt.Errorf("%s: %w: %s", name, err, line.Text)
			}
			next[[2]string{table, line.Chain}]++
		}
		out = append(out, line)
	}
	return out, nil
}

// withoutCounters is a line without what it begins with if counters were asked for.
func withoutCounters(line string) string {
	if strings.HasPrefix(line, "[") {
		_, line, _ = strings.Cut(line, "] ")
	}
	return line
}

// ruleOf is what a rule means and its arguments, by its number from 0.
func ruleOf(rules *netfilter.RulesetView, table, chain string, number int) (*netfilter.Fact, []string, error) {
	if t := rules.Table(table); t != nil {
		if c, there := t.Chain(chain); there && number < c.Len() {
			fact := c.Fact(number)
			return &fact, c.Args(number, true), nil
		}
	}
	return nil, nil, fmt.Errorf("table %s has a line that makes no rule", table)
}
