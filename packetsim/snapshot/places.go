package snapshot

import (
	"cmp"
	"maps"
	"strings"

	"github.com/chainwalk/chainwalk/fakekernel"
	"github.com/chainwalk/chainwalk/netfilter"
)

// RulePlace is a rule in a text of Saved.
type RulePlace struct {
	// Native is the family of a table that nft has printed. Of a table of iptables it is empty, and Family and Dialect are the tool's.
	Native  string
	Family  netfilter.Family
	Dialect netfilter.Dialect
	Table   string
	Chain   string
	Number  int // in its chain, from 1
}

// Places are the lines of the text, from 1, by the rules that stand there. Of a table of iptables that other commands than -A fill, of a
// chain in which a line makes several rules, and of JSON the lines are not known.
func (s *Saved) Places() map[RulePlace]int {
	out := map[RulePlace]int{}
	maps.Copy(out, s.places())
	for _, at := range s.NativePlaces() {
		out[RulePlace{Native: at.Table.Family.String(), Table: at.Table.Name, Chain: at.Chain, Number: at.Number}] = at.Line
	}
	return out
}

// NativePlaces say where in the text the rules stand that nft has printed. There are none of JSON.
func (s *Saved) NativePlaces() []fakekernel.RulePlace {
	if s.native == nil {
		return nil
	}
	return s.native.places
}

// placesIn are the lines of the rules of iptables that a kernel has read from texts. A text that does not tell its family is of the one
// given.
func placesIn(kernel *fakekernel.Kernel, texts []fakekernel.SaveText, family netfilter.Family) map[RulePlace]int {
	places := savePlaces(texts, family)
	lines := map[RulePlace]int{} // how many there are of a chain, whose place has no number
	for at := range places {
		at.Number = 0
		lines[at]++
	}
	maps.DeleteFunc(lines, func(at RulePlace, n int) bool { return rulesOf(kernel, at) == n })
	maps.DeleteFunc(places, func(at RulePlace, _ int) bool {
		at.Number = 0
		return lines[at] > 0
	})
	return places
}

// rulesOf is how many rules a chain has.
func rulesOf(kernel *fakekernel.Kernel, at RulePlace) int {
	rules := kernel.RulesOf(at.Family, at.Dialect)
	if table := rules.Table(at.Table); table != nil {
		if chain, there := table.Chain(at.Chain); there {
			return chain.Len()
		}
	}
	return 0
}

// savePlaces are the lines that add rules. A text that does not tell its family is of the one given.
func savePlaces(texts []fakekernel.SaveText, family netfilter.Family) map[RulePlace]int {
	out := map[RulePlace]int{}
	for _, text := range texts {
		at := RulePlace{Family: cmp.Or(text.Family, family), Dialect: cmp.Or(text.Dialect, netfilter.Legacy)}
		last := map[string]int{}
		number := 0
		forget := func() {
			maps.DeleteFunc(out, func(p RulePlace, _ int) bool {
				return p.Dialect == at.Dialect && p.Family == at.Family && p.Table == at.Table
			})
		}
		for line := range strings.Lines(text.Text) {
			number++
			if table, is := strings.CutPrefix(line, "*"); is {
				at.Table, last = strings.TrimSpace(table), map[string]int{}
				forget()
				continue
			}
			if strings.HasPrefix(line, "[") {
				_, line, _ = strings.Cut(line, "] ")
			}
			switch rest, is := strings.CutPrefix(line, "-A "); {
			case is:
				words := strings.Fields(rest)
				if len(words) == 0 || last == nil {
					continue
				}
				at.Chain = strings.Trim(words[0], `"`)
				last[at.Chain]++
				at.Number = last[at.Chain]
				out[at] = number
			case strings.HasPrefix(line, "-"):
				last = nil // numbers are others than the order of the lines
				forget()
			}
		}
	}
	return out
}
