package main

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/chainwalk/chainwalk/scenarios/explain/names"
	"github.com/chainwalk/chainwalk/scenarios/users/live"
)

// args wants one argument: a packet, or with --from an end. A shell takes the > of a packet without quotes for a redirection.
func (o *traceOptions) args(_ *cobra.Command, args []string) error {
	const example = `'tcp 10.244.0.11:40000 > 10.96.0.10:53 in eth0'`
	switch {
	case len(args) == 0:
		return errors.New("no PACKET is given: write one such as " + example + ", or two ends: svc/shop/web --from pod/shop/client")
	case len(args) == 1:
		return o.checkEnds(args[0])
	case slices.Contains(args, ">"):
		return fmt.Errorf("PACKET is one argument: put it in quotes: '%s'", strings.Join(args, " "))
	case len(args) == 2 && names.IsEnd(args[0]) && names.IsEnd(args[1]):
		return fmt.Errorf("two ends are given: write the one that calls behind --from: chainwalk trace %s --from %s", args[1], args[0])
	}
	return errors.New("PACKET is one argument: put it in quotes, such as " + example +
		" (without them the shell takes > for a redirection and writes a file of that name)")
}

// checkEnds refuses an end without --from, and --from with a packet.
func (o *traceOptions) checkEnds(text string) error {
	switch {
	case o.from == "" && names.IsEnd(text):
		return fmt.Errorf("%s is one end of a connection: give the end that calls it with --from (pod/NAMESPACE/NAME, node/NAME, an address "+
			"or %s), or write a whole PACKET", text, names.Outside)
	case o.from != "" && !names.IsEnd(text):
		return fmt.Errorf("%q is no end of a connection: with --from write svc/NAMESPACE/NAME[:PORT], pod/NAMESPACE/NAME[:PORT], "+
			"node/NAME[:PORT] or ADDRESS[:PORT] alone", text)
	}
	return nil
}

// checkSources refuses a command line that says in no way, or in two ways, where rules and objects come from.
func (o *traceOptions) checkSources(cmd *cobra.Command) error {
	l := &o.live
	objects, rules := source{"-f (--objects)", len(l.files) > 0}, source{"--rules", o.rules != ""}
	saved, gathered := source{"--saved", l.saved != ""}, source{l.gather.askedBy(), l.gather.asked()}
	switch {
	case o.from != "" && rules.given:
		return errors.New("--from takes the nodes of a cluster, and --rules have none: give --node, --saved or -A instead")
	case gathered.given:
		return cmp.Or(onlyOne(objects, saved, rules, gathered), l.checkAnonymise())
	case !rules.given && !saved.given && len(l.snapshots) == 0:
		return fmt.Errorf("%s\n(or give --saved FOLDER, or -A, --context NAME or --kubeconfig FILE to gather from a cluster, or --rules SAVE)",
			missingFlag(cmd.Flags().Lookup("node")))
	case o.from != "" && !objects.given && !saved.given:
		return errors.New("--from takes the objects of the cluster: give -f FILE (" + howToList + "), or --saved FOLDER")
	}
	return cmp.Or(l.gather.checkAsked(cmd.Flags()), l.checkAnonymise())
}

// checkNodes refuses a cluster without a snapshot, and flags that are for another number of nodes.
func (o *traceOptions) checkNodes(cluster *live.Cluster) error {
	switch nodes := len(cluster.Snapshots); {
	case nodes == 0 && o.live.saved != "":
		return fmt.Errorf("--saved %s: it has no snapshot of a node: add one with --node", o.live.saved)
	case nodes == 0 && o.live.gather.asked():
		return errors.New("no node gave a snapshot: run chainwalk snapshot on one, and add the file with --node")
	case o.via != "" && nodes < 2:
		return errors.New("--via is for several --node: a packet that one node has comes \"in DEVICE\"")
	case o.text.allRules && nodes > 1:
		return errors.New("--all-rules is for one node: give the --node whose rules are to be told")
	}
	return nil
}

// open makes the packet the first one by which --from calls another end, and says which that is if there are several.
func (p *namedPacket) open(o *traceOptions, to string) error {
	if err := needSlices(p.cluster.Objects); err != nil {
		return err
	}
	calls, err := p.cluster.Openings(o.from, to)
	if err != nil {
		return err
	}
	if o.via != "" {
		all := calls
		calls = slices.DeleteFunc(slices.Clone(all), func(c live.Opening) bool { return cmp.Or(c.Via, o.via) != o.via })
		if len(calls) == 0 {
			return fmt.Errorf("--via %s: no call of %s comes by it: %s", o.via, to, callsText(all))
		}
	}
	first := &calls[0]
	p.Input, p.source, p.via = first.Input, &first.Source, first.Via
	if len(calls) > 1 {
		p.chosen = fmt.Sprintf("the first of %d calls, %s: ", len(calls), first.Call)
		choose := "with another port or address in TO"
		if first.Via != "" && len(p.cluster.Snapshots) > 1 {
			choose += ", or another node in --via"
		}
		p.others = fmt.Sprintf("%s can also call %s by %s: trace it %s", o.from, to, callsText(calls[1:]), choose)
	}
	return nil
}

// maxCalls is how many calls a line lists.
const maxCalls = 8

// callsText lists calls.
func callsText(calls []live.Opening) string {
	var all []string
	for i := range calls[:min(len(calls), maxCalls)] {
		all = append(all, calls[i].Call)
	}
	text := strings.Join(all, ", ")
	if more := len(calls) - maxCalls; more > 0 {
		text += fmt.Sprintf(" and %d more", more)
	}
	return text
}
