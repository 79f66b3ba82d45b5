package main

import (
	"bytes"
	"errors"
	"fmt"
	"strings"

	"github.com/chainwalk/chainwalk/forall"
	"github.com/chainwalk/chainwalk/netfilter"
	"github.com/chainwalk/chainwalk/packetsim/snapshot"
)

// deadOptions ask rules for the rules that no packet matches.
type deadOptions struct {
	dead, shadowed bool
}

func (o *deadOptions) asked() bool { return o.dead || o.shadowed }

// deadResult is what rules --dead prints as JSON.
type deadResult struct {
	Version int          `json:"version"`
	Answer  string       `json:"answer"`
	Sources []deadSource `json:"sources"`
}

// deadSource is the dead rules of one host.
type deadSource struct {
	Name string            `json:"name"`
	Dead []forall.DeadRule `json:"dead"`
	// NotJudged are tables of which nothing is said, each with the reason.
	NotJudged []string `json:"notJudged,omitempty"`
	// Unread is what was not read of a host; rules there may be dead too.
	Unread []string `json:"unread,omitempty"`
}

// runDead looks for dead rules in files of rules, in snapshots and folders, or without any in what kube-proxy writes for objects.
func runDead(s streams, o rulesOptions, paths []string) error {
	hosts, families, err := deadHosts(s, o, paths)
	if err != nil {
		return err
	}
	result := deadResult{Version: 1, Sources: []deadSource{}}
	count, unsure := 0, false
	for _, h := range hosts {
		source, err := o.deadOf(h, families)
		if err != nil {
			return fmt.Errorf("%s: %w", h.name, err)
		}
		count += len(source.Dead)
		unsure = unsure || len(source.NotJudged) > 0
		result.Sources = append(result.Sources, source)
	}
	result.conclude(count, unsure, o.deadOptions)
	if err := result.write(s, o.output); err != nil {
		return err
	}
	switch {
	case count > 0:
		return errNotHeld
	case unsure:
		return toolStatus(exitUsage) // the answer says what was not judged
	}
	return nil
}

// deadHosts reads the hosts.
func deadHosts(s streams, o rulesOptions, paths []string) ([]*hostSource, []netfilter.Family, error) {
	families, err := parseFamilies(o.family)
	if err != nil {
		return nil, nil, err
	}
	if len(paths) == 0 {
		if len(o.files) == 0 {
			return nil, nil, errors.New("--dead and --shadowed need rules: give files of them, or objects with -f")
		}
		host, err := writtenRules(s, o)
		return []*hostSource{host}, families, err
	}
	if len(o.files) > 0 {
		return nil, nil, errors.New("-f names objects, and the arguments name rules that are there: give one of them")
	}
	read := hostOptions{tools: o.tools}
	var hosts []*hostSource
	stdin := 0
	for _, path := range paths {
		if path == "-" {
			if stdin++; stdin > 1 {
				return nil, nil, errors.New("- is given twice: standard input can be read only once")
			}
		}
		host, err := read.read(s, path)
		if err != nil {
			return nil, nil, err
		}
		hosts = append(hosts, host)
	}
	return hosts, families, nil
}

// writtenRules is a host with the rules that kube-proxy writes for the objects of the flags.
func writtenRules(s streams, o rulesOptions) (*hostSource, error) {
	in, families, err := rulesInput(s, o)
	if err != nil {
		return nil, err
	}
	rules, err := syncedRules(s, in)
	if err != nil {
		return nil, err
	}
	var text bytes.Buffer
	if err := writeRules(rules, in, families, &text); err != nil {
		return nil, err
	}
	saved, err := snapshot.ReadSaved("the rules of "+in.Node.Name, &text, snapshot.RulesOptions{Dialect: in.Dialect})
	return &hostSource{name: "the rules of kube-proxy on " + in.Node.Name, saved: saved}, err
}

// deadOf is the dead rules of a host that the flags ask for.
func (o *rulesOptions) deadOf(h *hostSource, families []netfilter.Family) (deadSource, error) {
	source := deadSource{Name: h.name, Dead: []forall.DeadRule{}, Unread: h.notRead()}
	host, err := h.host()
	if err != nil {
		return source, err
	}
	found, err := forall.Dead(host)
	if err != nil {
		return source, err
	}
	source.NotJudged = found.NotJudged
	for _, r := range found.Rules {
		ofOther := len(families) == 1 && r.Family != 0 && r.Family != families[0]
		if ofOther || !o.dead && r.Why != forall.Covered {
			continue
		}
		source.Dead = append(source.Dead, r)
	}
	return source, nil
}

func (r *deadResult) conclude(count int, unsure bool, o deadOptions) {
	one, several := "1 rule is matched by no packet", "rules are matched by no packet"
	none, judged := "no dead rule was found", "no dead rule was found among those that were judged"
	if !o.dead {
		one, several = "1 rule is covered by rules before it", "rules are covered by rules before them"
		none, judged = "no rule is covered by rules before it", "no rule that was judged is covered by rules before it"
	}
	switch {
	case count == 0 && unsure:
		r.Answer = "cannot say of all: " + judged
	case count == 0:
		r.Answer = none
	case count == 1:
		r.Answer = one
	default:
		r.Answer = fmt.Sprintf("%d %s", count, several)
	}
}

func (r *deadResult) write(s streams, output string) error {
	if output == "json" {
		return writeJSON(s.out, r)
	}
	fmt.Fprintln(s.out, r.Answer)
	for i := range r.Sources {
		source := &r.Sources[i]
		if len(r.Sources) > 1 {
			fmt.Fprintf(s.out, "\n%s: %d\n", source.Name, len(source.Dead))
		}
		for _, text := range source.Unread {
			fmt.Fprintf(s.out, "not read: %s\n", text)
		}
		for _, text := range source.NotJudged {
			fmt.Fprintf(s.out, "not judged: %s\n", text)
		}
		for k := range source.Dead {
			writeDead(s, &source.Dead[k])
		}
	}
	return nil
}

// writeDead prints a dead rule and why it is dead.
func writeDead(s streams, r *forall.DeadRule) {
	table := r.Table
	if r.Dialect != "" {
		table = fmt.Sprintf("%s of IPv%d", table, r.Family)
	}
	fmt.Fprintf(s.out, "\n%s, chain %s, rule %d\n  %s\n", table, r.Chain, r.Number, r.Text)
	switch r.Why {
	case forall.Covered:
		fmt.Fprintf(s.out, "  covered by %s, which %s what it would match\n", numbersText(r.CoveredBy), takeText(len(r.CoveredBy)))
	case forall.Unreached:
		fmt.Fprintln(s.out, "  no packet comes to its chain")
	case forall.Elsewhere:
		fmt.Fprintf(s.out, "  it would match none of the packets that come to its chain, by %s\n", strings.Join(r.LedBy, ", "))
	case forall.Contradictory:
		fmt.Fprintln(s.out, "  no packet meets its conditions, whatever comes")
	}
}

// numbersText names rules of a chain.
func numbersText(numbers []int) string {
	texts := strings.Trim(strings.ReplaceAll(fmt.Sprint(numbers), " ", ", "), "[]")
	if len(numbers) == 1 {
		return "rule " + texts
	}
	return "rules " + texts
}

func takeText(n int) string {
	if n == 1 {
		return "takes"
	}
	return "take together"
}
