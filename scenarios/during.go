package scenarios

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/chainwalk/chainwalk/internal/document"
)

// Command is something that kube-proxy asks of its node within a sync.
type Command string

// The commands that are told apart.
const (
	CommandIPTables         Command = "iptables"
	CommandIPTablesSave     Command = "iptables-save"
	CommandIPTablesRestore  Command = "iptables-restore"
	CommandIP6Tables        Command = "ip6tables"
	CommandIP6TablesSave    Command = "ip6tables-save"
	CommandIP6TablesRestore Command = "ip6tables-restore"
	CommandNFAcct           Command = "nfacct"
	CommandNFT              Command = "nft"
	CommandConntrackList    Command = "conntrack-list"   // UDP entries of one family are listed
	CommandConntrackDelete  Command = "conntrack-delete" // some of them are deleted
)

func commands() []string {
	return []string{
		string(CommandIPTables), string(CommandIPTablesSave), string(CommandIPTablesRestore),
		string(CommandIP6Tables), string(CommandIP6TablesSave), string(CommandIP6TablesRestore),
		string(CommandNFAcct), string(CommandNFT), string(CommandConntrackList), string(CommandConntrackDelete),
	}
}

// Point is a moment within a sync: before or after a command.
type Point struct {
	Node    string
	After   bool // after the command, otherwise before it
	Command Command
	// Table is the table of a restore that is committed; a restore has a point before
	// and after it as a whole, with no table, and between these two for each of its tables.
	Table string
	// Nth counts the commands of this kind, and of this table, within the node's sync, from 1.
	Nth int
}

// String is the point in words.
func (p Point) String() string {
	when := "before"
	if p.After {
		when = "after"
	}
	out := fmt.Sprintf("%s %s", when, p.Command)
	if p.Table != "" {
		out += " of " + p.Table
	}
	if p.Nth > 1 {
		out += fmt.Sprintf(" number %d", p.Nth)
	}
	return out + " on " + p.Node
}

// During are checks at a point within the sync of a step.
type During struct {
	document.Located
	Node   string  `json:"node" required:"true" doc:"The node whose sync it is."`
	Before Command `json:"before" doc:"Before this command: iptables-restore, ip6tables-restore, iptables-save, ip6tables-save, iptables, ip6tables, nfacct, nft, conntrack-list or conntrack-delete."`
	After  Command `json:"after" doc:"After this command."`
	Table  string  `json:"table" enum:"mangle nat filter" doc:"With a restore: when it commits this table. It commits one table after the other."`
	Nth    int     `json:"nth" doc:"Which one it is of these commands of the sync; the first if not given."`
	Steps  []Step  `json:"steps" required:"true" doc:"What is looked at then: steps that neither change anything nor sync."`
}

// Command is the one that the point is before or after.
func (d *During) Command() Command { return cmp.Or(d.After, d.Before) }

// point is when the checks are made.
func (d *During) point() Point {
	p := Point{Node: d.Node, Command: d.Before, Table: d.Table, Nth: max(d.Nth, 1)}
	if d.After != "" {
		p.After, p.Command = true, d.After
	}
	return p
}

func (c *checker) during(s *Step) {
	syncs := s.syncs(c.cluster)
	for i := range s.During {
		d := &s.During[i]
		c.duringPoint(d, syncs)
		for j := range d.Steps {
			step := &d.Steps[j]
			given := step.actions()
			if len(given) == 1 && given[0].does != looks || step.Sync != nil || step.SyncError != "" || step.MayFail || step.During != nil {
				c.errorf(step.Pos, "within a sync things are looked at only (want one of %s)", strings.Join(lookingActions(), ", "))
				continue
			}
			c.step(step)
		}
	}
}

func (c *checker) duringPoint(d *During, syncs []string) {
	c.nodes(d.Pos, []string{d.Node})
	p := d.point()
	switch {
	case c.cluster.Node(d.Node) != nil && !slices.Contains(syncs, d.Node):
		c.errorf(d.Pos, "during says nothing, since %s does not sync after the step", d.Node)
	case (d.Before == "") == (d.After == ""):
		c.errorf(d.Pos, "during: want before or after, with one of %s", strings.Join(commands(), ", "))
	case !slices.Contains(commands(), string(p.Command)):
		c.word(d.Pos, "during", string(p.Command), commands()...)
	case d.Table != "" && !strings.HasSuffix(string(p.Command), "-restore"):
		c.errorf(d.Pos, "table says nothing about %s (a restore has tables)", p.Command)
	}
	if d.Nth < 0 {
		c.errorf(d.Pos, "nth: want at least 1, got %d", d.Nth)
	}
	if len(d.Steps) == 0 {
		c.errorf(d.Pos, "steps: there is none, so nothing is checked")
	}
}

// lookingActions are the names of the actions that change nothing.
func lookingActions() []string {
	return actionNames(slices.DeleteFunc(actions(), func(a action) bool { return a.does != looks }))
}

// watched syncs nodes and makes the checks of a step within it. It returns two errors: the sync's, and that of a backend that could not do
// what it was asked.
func (r *runner) watched(ctx context.Context, s *Step, nodes []string) (failed, err error) {
	ofThisMode := func(d During) bool { return r.ofAnotherMode(d.Command()) == "" }
	if !slices.ContainsFunc(s.During, ofThisMode) { // a backend that cannot look into syncs need not
		r.passOver(s.During)
		return r.session.Sync(ctx, nodes), nil
	}
	reached := make([]bool, len(s.During))
	var wrong []error
	watch := func(ctx context.Context, p Point) {
		for i := range s.During {
			if d := &s.During[i]; d.point() == p && !reached[i] {
				reached[i] = true
				wrong = append(wrong, r.look(ctx, d))
			}
		}
	}
	if err := r.session.During(ctx, watch); err != nil {
		return nil, err
	}
	failed = r.session.Sync(ctx, nodes)
	if err := errors.Join(append(wrong, r.session.During(ctx, nil))...); err != nil {
		return failed, err
	}
	for i := range s.During {
		if d := &s.During[i]; !reached[i] && ofThisMode(*d) {
			r.fail(d.Pos, d.point().String(), "the sync has no such point")
		} else if !reached[i] {
			r.passOver(s.During[i : i+1])
		}
	}
	return failed, nil
}

// passOver notes points that syncs of the play's mode do not come to.
func (r *runner) passOver(points []During) {
	for i := range points {
		p := points[i].point()
		r.add(points[i].Pos, Check{Name: p.String(), Passed: true, Skipped: r.ofAnotherMode(p.Command), OfMode: []string{"during"}})
	}
}

// look makes the checks of a point.
func (r *runner) look(ctx context.Context, d *During) error {
	r.point = d.point().String() + ": "
	defer func() { r.point = "" }()
	for i := range d.Steps {
		step := &d.Steps[i]
		if err := step.action().act(r, ctx, step); err != nil {
			return fmt.Errorf("%s%s: %w", r.point, step.describe(), err)
		}
	}
	return nil
}
