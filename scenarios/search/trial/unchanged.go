package trial

import (
	"context"
	"fmt"
	"slices"

	"github.com/chainwalk/chainwalk/forall"
)

// mutation is a proxier that can do otherwise than its source says, in a program that make mutate has built.
type mutation struct {
	// without has the proxier do as its source says for as long as do runs.
	without func(do func() error) error
	// tell takes note of how the rules of a node compare with those that it has without the mutation: one of the ends below, and more words.
	tell func(end string)
}

// How they compare: the texts are the same, or they are not but all first packets are treated alike, or some packets are not.
const (
	writtenAlike     = "alike"
	writtenOtherwise = "otherwise"
	toldApart        = "apart"
)

// mutated is the mutation of this program; nil: there is none. A file that only make mutate's build has sets it.
var mutated *mutation

// besideUnchanged starts the proxier without the mutation, so that it writes its rules anew, and compares the two sets of rules. packets
// are the fates of all first packets by the rules that the mutation has left, and after are the rules that it writes when it starts.
func (r *run) besideUnchanged(ctx context.Context, n *nodeState, packets *forall.Fates, after []saved) error {
	nodes := []string{n.name}
	err := mutated.without(func() error {
		if err := r.world.Restart(ctx, nodes); err != nil {
			return err
		}
		return r.world.Sync(ctx, nodes)
	})
	if err != nil {
		return r.syncFailed(n, err)
	}
	rules, err := r.rulesOf(ctx, n)
	if err != nil {
		return err
	}
	alike := func(x, y saved) bool {
		slices.SortFunc(x.lines, compareLines)
		slices.SortFunc(y.lines, compareLines)
		return firstDifference(x.lines, y.lines) == ""
	}
	if slices.EqualFunc(rules, after, alike) {
		mutated.tell(writtenAlike)
		return nil
	}
	fates, err := r.allPackets(n, packets)
	if err != nil {
		return err
	}
	for d := range packets.Diff(fates) {
		mutated.tell(fmt.Sprintf("%s %s: %s, and without it %s", toldApart, d.Witness, d.Here, d.There))
		return nil
	}
	mutated.tell(writtenOtherwise)
	return nil
}
