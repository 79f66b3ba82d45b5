package live

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/chainwalk/chainwalk/scenarios/names"
)

// transcript writes the commands that lead from one ruleset to another, rule by rule.
type transcript struct {
	tool       string
	have, want ruleset           // have is kept up to date
	device     map[string]string // other names for devices
	lines      []string
	err        error
}

func (t *transcript) printf(format string, args ...any) {
	t.lines = append(t.lines, t.tool+" "+fmt.Sprintf(format, args...))
}

// remove takes a rule away.
func (t *transcript) remove(r Rule) {
	key := r.Table + " " + chainOf(r.Text)
	place := slices.Index(t.have[key], r.Text)
	if place < 0 {
		t.err = fmt.Errorf("kube-proxy does not write %s there", r.Text)
		return
	}
	t.have[key] = slices.Delete(slices.Clone(t.have[key]), place, place+1)
	t.printf("-t %s -D %s %d", r.Table, chainOf(r.Text), place+1)
}

// insert puts a rule where it stands in want, behind those of have that stand before it there, after the chain that
// it leads to.
func (t *transcript) insert(r Rule) {
	chain := chainOf(r.Text)
	key := r.Table + " " + chain
	if strings.HasPrefix(r.Text, "-P ") {
		t.printf("-t %s %s", r.Table, r.Text)
		return
	}
	if slices.Contains(t.have[key], r.Text) {
		return
	}
	t.ensure(r.Table, chain)
	t.follow(r)
	place := 0
	for _, before := range t.want[key] {
		if before == r.Text {
			break
		}
		if slices.Contains(t.have[key], before) {
			place = slices.Index(t.have[key], before) + 1
		}
	}
	t.have[key] = slices.Insert(slices.Clone(t.have[key]), place, r.Text)
	t.printf("-t %s -I %s %d %s", r.Table, chain, place+1, t.spell(r.Text))
}

// ensure makes a chain that is not there.
func (t *transcript) ensure(table, chain string) {
	if _, there := t.have[table+" "+chain]; !there && !builtin(chain) {
		t.have[table+" "+chain] = nil
		t.printf("-t %s -N %s", table, chain)
	}
}

func builtin(chain string) bool {
	return slices.Contains([]string{"PREROUTING", "INPUT", "FORWARD", "OUTPUT", "POSTROUTING"}, chain)
}

// follow copies the chain that a rule leads to, if it is not there.
func (t *transcript) follow(r Rule) {
	target := names.TargetOf(r.Text)
	key := r.Table + " " + target
	if _, there := t.have[key]; there {
		return
	}
	rules, isChain := t.want[key]
	if !isChain {
		return
	}
	t.ensure(r.Table, target)
	for _, text := range rules {
		t.insert(Rule{Node: r.Node, Family: r.Family, Table: r.Table, Text: text})
	}
}

var comment = regexp.MustCompile(` -m comment --comment ("(?:[^"\\]|\\.)*"|\S+)`)

// spell is the rule without its chain and comment, with the simulated devices.
func (t *transcript) spell(rule string) string {
	rule = comment.ReplaceAllString(rule, "")
	if strings.ContainsAny(rule, `"`) {
		t.err = fmt.Errorf("%s has words with spaces, which a command of a scenario cannot have", rule)
	}
	words := strings.Fields(rule)[2:]
	for i := 1; i < len(words); i++ {
		if name, ok := t.device[words[i]]; ok && (words[i-1] == "-i" || words[i-1] == "-o") {
			words[i] = name
		}
	}
	return strings.Join(words, " ")
}

func chainOf(rule string) string {
	words := strings.Fields(rule)
	if len(words) < 2 {
		return ""
	}
	return words[1]
}
