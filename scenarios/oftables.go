package scenarios

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
)

// NFTSession is a session that can show kube-proxy's tables of nftables.
type NFTSession interface {
	Session
	// List is what nft list table prints of kube-proxy's table of a family on a node; empty if there is none.
	List(ctx context.Context, node string, family IPFamily) (string, error)
}

// unread says why a step of a scenario that names no mode is passed over in a play: it looks at the rules of another mode.
func (p play) unread(s *Step) string {
	if !p.free || s.Rules == nil {
		return ""
	}
	of := cmp.Or(s.Rules.Mode, ModeIPTables)
	if of == p.mode {
		return ""
	}
	return fmt.Sprintf("looks at rules of mode %s", of)
}

// Mode is the only mode whose syncs come to the command; empty if those of every mode do.
func (c Command) Mode() Mode {
	switch c {
	case CommandConntrackList, CommandConntrackDelete:
		return ""
	case CommandNFT:
		return ModeNFTables
	}
	return ModeIPTables
}

// ofAnotherMode says why a sync does not come to a command of the tools; empty if it should.
func (r *runner) ofAnotherMode(c Command) string {
	if of := c.Mode(); r.play.free && of != "" && of != r.play.mode {
		return fmt.Sprintf("a point within syncs of mode %s", of)
	}
	return ""
}

// nftRules looks at kube-proxy's tables of nftables.
func (r *runner) nftRules(ctx context.Context, s *Step, family IPFamily) error {
	want := s.Rules
	name := cmp.Or(want.Name, s.describe())
	session, ok := r.session.(NFTSession)
	if !ok {
		r.add(want.Pos, Check{Name: name, Passed: true, Skipped: "the backend cannot list tables of nftables"})
		return nil
	}
	for _, node := range r.orAll(want.Nodes) {
		text, err := session.List(ctx, node, family)
		if err != nil {
			return err
		}
		wrong := want.wrongIn(want.nftLines(text))
		r.add(want.Pos, Check{Name: name + " on " + node, Passed: len(wrong) == 0, Wrong: strings.Join(wrong, "; ")})
	}
	return nil
}

// nftLines are the rules of a table that nft has listed, of the chain that is looked at if one is, with the elements of its sets and maps;
// and its chains.
func (c *RulesCheck) nftLines(list string) (rules, chains []string) {
	within := "" // the chain, set or map that the line is in
	for line := range strings.Lines(list) {
		line = strings.TrimSpace(line)
		kind, rest, _ := strings.Cut(line, " ")
		if name, opens := strings.CutSuffix(rest, " {"); opens && slices.Contains([]string{"chain", "set", "map"}, kind) {
			if within = name; kind == "chain" {
				chains = append(chains, name)
			}
			continue
		}
		if line != "" && line != "}" && kind != "table" && (c.Chain == "" || c.Chain == within) {
			rules = append(rules, line)
		}
	}
	return rules, chains
}

// ofMode counts what of scenarios was not looked at, since it is about rules of another mode than they ran in.
type ofMode struct{ scenarios, whole, checks, parts int }

// add counts that of a result.
func (o *ofMode) add(r *Result) {
	before := o.checks + o.parts
	for i := range r.Checks {
		switch c := &r.Checks[i]; {
		case len(c.OfMode) == 0:
		case c.Skipped != "":
			o.checks++
		default:
			o.parts++
		}
	}
	if o.checks+o.parts > before {
		o.scenarios++
	}
	if strings.HasPrefix(r.Skipped, ofOneMode) {
		o.whole++
	}
}

// String is a line; empty if everything was looked at.
func (o *ofMode) String() string {
	if o.scenarios+o.whole == 0 {
		return ""
	}
	return fmt.Sprintf("of one mode alone, and not looked at in the other: %s, and in %s %s and a part of %s (-v tells which)\n",
		count(o.whole, "scenario"), count(o.scenarios, "scenario"), count(o.checks, "check"), count(o.parts, "check"))
}
