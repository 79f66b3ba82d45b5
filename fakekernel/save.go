package fakekernel

import (
	"fmt"
	"strings"

	"github.com/chainwalk/chainwalk/fakeipt"
	"github.com/chainwalk/chainwalk/fakeipt/xtables"
	"github.com/chainwalk/chainwalk/netfilter"
)

// SaveText is what one tool has printed of a text in which the output of several may stand one after the other.
type SaveText = fakeipt.SaveText

// ParseError is the error of rules that are not understood, with the line and column.
type ParseError = fakeipt.ParseError

// SaveTexts takes a text apart into what each tool has printed, in the order in which they begin. The tools say in their head lines which
// they are; what has no head line is of the family that its addresses and protocols have, or of that of its neighbours.
func SaveTexts(text string) []SaveText { return fakeipt.SaveTexts(text) }

// LoadTexts returns a new kernel with the rules of texts; where they are of both dialects, it has both, and its Dialect is that of the
// first. A text that does not tell its dialect is of legacy, and one that does not tell its family of the one given. What comes later is
// what packets meet first, as if it had been loaded so. Errors call the whole by its name and say the line.
func LoadTexts(name string, texts []SaveText, family netfilter.Family) (*Kernel, error) {
	tools, err := fakeipt.LoadTexts(name, texts, family)
	if err != nil {
		return nil, err
	}
	return &Kernel{tools}, nil
}

// RuleEdit is a rule of iptables-save that becomes another one.
type RuleEdit = fakeipt.RuleEdit

// ReplaceRule puts a rule in the place of one that LoadTexts has read, as if the text had had its line there. It is false, and nothing has
// changed, if more than this rule may change with the line, or the tools refuse it: read the text then.
func (k *Kernel) ReplaceRule(f netfilter.Family, d netfilter.Dialect, e RuleEdit) bool {
	tools := k.toolsOf(d)
	return tools != nil && tools.ReplaceRule(f, e)
}

// ReadSave reads what iptables-save of a family has printed, with or without counters. Errors call the text by its name and say the line.
func ReadSave(name, save string, family netfilter.Family, dialect netfilter.Dialect) (netfilter.RulesetView, error) {
	k := New(Options{Dialect: dialect})
	if err := k.Load(family, name, strings.NewReader(save)); err != nil {
		return netfilter.RulesetView{}, err
	}
	return k.Rules(family), nil
}

// RestoreSaves are the rules of a kernel that had none after iptables-restore --noflush has read these texts, one after the other. The
// error is what the tool says.
func RestoreSaves(saves []string, family netfilter.Family) (netfilter.RulesetView, error) {
	k := New(Options{})
	tool := "iptables-restore"
	if family == netfilter.IPv6 {
		tool = "ip6tables-restore"
	}
	for _, save := range saves {
		cmd := k.Exec().Command(tool, "--noflush")
		cmd.SetStdin(strings.NewReader(save))
		if out, err := cmd.CombinedOutput(); err != nil {
			return netfilter.RulesetView{}, fmt.Errorf("%s: %w: %s", tool, err, out)
		}
	}
	return k.Rules(family), nil
}

// AppendedRule is the line that appends a rule to a chain, for iptables-restore. It takes the arguments of a netfilter.Rules.
func AppendedRule(chain string, args []string) string {
	return fmt.Sprintf("-A %s%s", chain, xtables.QuoteArgs(args))
}
