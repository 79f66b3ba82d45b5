package live

import (
	"fmt"
	"slices"
	"strings"
)

// transcript writes the commands that lead from one ruleset to another, rule by rule.
type transcript struct {
	tool   string
	have   map[string][]string // by chain; kept up to date
	want   ruleset
	device map[string]string // other names for devices
	lines  []string
	err    error
}

func newTranscript(tool string, have, want ruleset, device map[string]string) *transcript {
	t := &transcript{tool: tool, have: map[string][]string{}, want: want, device: device}
	for key, chain := range have {
		t.have[key] = chain.texts
	}
	return t
}

func (t *transcript) printf(format string, args ...any) {
	t.lines = append(t.lines, t.tool+" "+fmt.Sprintf(format, args...))
}

// remove takes a rule away.
func (t *transcript) remove(r Rule) {
	key := keyOf(r.Table, r.Chain)
	place := slices.Index(t.have[key], r.Text)
	if place < 0 {
		t.err = fmt.Errorf("kube-proxy does not write %s there", r.Text)
		return
	}
	t.have[key] = slices.Delete(slices.Clone(t.have[key]), place, place+1)
	t.printf("-t %s -D %s %d", r.Table, r.Chain, place+1)
}

// insert puts a rule where it stands in want, behind those of have that stand before it there, after the chain that
// it leads to.
func (t *transcript) insert(r Rule) {
	key := keyOf(r.Table, r.Chain)
	if strings.HasPrefix(r.Text, "-P ") {
		t.printf("-t %s %s", r.Table, r.Text)
		return
	}
	if slices.Contains(t.have[key], r.Text) {
		return
	}
	t.ensure(r.Table, r.Chain)
	t.follow(r)
	place := 0
	for _, before := range t.want[key].texts {
		if before == r.Text {
			break
		}
		if slices.Contains(t.have[key], before) {
			place = slices.Index(t.have[key], before) + 1
		}
	}
	t.have[key] = slices.Insert(slices.Clone(t.have[key]), place, r.Text)
	t.printf("-t %s -I %s %d %s", r.Table, r.Chain, place+1, t.spell(r))
}

// ensure makes a chain that is not there.
func (t *transcript) ensure(table, chain string) {
	key := keyOf(table, chain)
	if _, there := t.have[key]; !there && t.want[key].Hook == "" {
		t.have[key] = nil
		t.printf("-t %s -N %s", table, chain)
	}
}

// follow copies the chain that a rule leads to, if it is not there.
func (t *transcript) follow(r Rule) {
	f := t.want.factOf(r)
	key := keyOf(r.Table, f.Jump)
	if _, there := t.have[key]; there {
		return
	}
	chain, isChain := t.want[key]
	if !isChain {
		return
	}
	t.ensure(r.Table, f.Jump)
	for _, text := range chain.texts {
		t.insert(Rule{Node: r.Node, Family: r.Family, Table: r.Table, Chain: f.Jump, Text: text})
	}
}

// spell is the rule without its chain and comment, with the simulated devices.
func (t *transcript) spell(r Rule) string {
	place := t.want.find(r)
	if place < 0 {
		t.err = fmt.Errorf("the node does not have %s", r.Text)
		return ""
	}
	words := withDevices(t.want[keyOf(r.Table, r.Chain)].Args(place, false), t.device)
	if slices.ContainsFunc(words, func(word string) bool { return word == "" || strings.ContainsAny(word, " \t\"") }) {
		t.err = fmt.Errorf("%s has words with spaces, which a command of a scenario cannot have", r.Text)
	}
	return strings.Join(words, " ")
}
