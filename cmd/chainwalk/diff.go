package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/chainwalk/chainwalk/forall"
	"github.com/chainwalk/chainwalk/scenarios/users/allpackets"
)

type diffOptions struct {
	hosts   hostOptions
	objects objectsOptions
	classes []string
	chance  string
	ignore  []string
	output  string
	across  bool
	verbose bool
	// certificate is the file that gets the certificate, of at most so many boxes; empty: none is written.
	certificate string
	mostBoxes   int
}

func newDiffCommand(s streams) *cobra.Command {
	var o diffOptions
	cmd := &cobra.Command{
		Use:   "diff BEFORE AFTER [-f OBJECTS...] [--class CLASS,...] [--local ADDR,...] | diff --across NODE NODE... [-f OBJECTS...]",
		Short: "Compare two rulesets for all packets at once, and list the packets that they treat differently",
		Long: `BEFORE and AFTER are each a NodeSnapshot, a folder with files of a node, or a text of rules: what iptables-save and ip6tables-save
print, what "nft list ruleset" prints (text or JSON), or both. Any two can be compared: iptables with nftables, one node with another.

A side may also be a file or folder of Kubernetes objects, as "chainwalk rules" takes them. It stands for the rules that kube-proxy
writes for them on the node that --node names. The rules are on the host of the other side. If both sides are objects, only the Node's
addresses are known of the host. --config and --mode configure kube-proxy. --to-node, --to-config and --to-mode do the same for AFTER
only; with one of them you may leave AFTER out, and diff takes the same objects.

It compares every address, port, protocol and device at once, with exact probabilities. It prints each kind of difference once: how many
packets differ in this way, a range of them, a likely packet, its fate on both sides, and the rule that decides there. It compares the
first packets of connections as most programs send them (a SYN, an echo request); --class chooses other packets. Some rules test more than
addresses (a limit, a counter, a socket): such a condition gets a name, and each difference lists the conditions under which it was found.

With --across it compares the nodes of a cluster: what each does with packets from outside, from its pods and from itself. It names the
nodes that differ from most nodes, and shows how. It leaves out differences that every node must have, and says so: devices, the addresses
of nodes, and with -f the services whose traffic stays on a node or in a zone.

With --certificate it writes a file that proves the answer: both sides, and all packets in disjoint boxes with their fates on either side.
"chainwalk verify" checks the file by walks of single packets, so you need not trust diff.

The exit status is 0 if both sides treat all packets alike, 1 if not, 2 if diff cannot say.`,
		Example: `  chainwalk diff before.rules after.rules
  chainwalk diff iptables.rules nft.rules --local 192.0.2.10
  chainwalk diff node1.yaml node2.yaml -f objects.yaml --ignore source
  chainwalk diff before.yaml after.yaml --node worker1
  chainwalk diff objects.yaml --node worker1 --mode iptables --to-mode nftables
  chainwalk diff node1.yaml objects.yaml
  chainwalk diff --across node1.yaml node2.yaml node3.yaml -f objects.yaml
  chainwalk diff before.rules after.rules --certificate change.json && chainwalk verify change.json`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) != 2 && !o.across && !(len(args) == 1 && o.objects.changed()) {
				return fmt.Errorf("want BEFORE and AFTER, got %d arguments", len(args))
			}
			return nil
		},
		RunE: func(_ *cobra.Command, args []string) error {
			if o.across {
				return runAcross(s, o, args)
			}
			return runDiff(s, o, args)
		},
	}
	o.hosts.addFlags(cmd)
	o.objects.addFlags(cmd)
	flags := cmd.Flags()
	flags.StringSliceVar(&o.classes, "class", []string{"new"}, "which packets: new, established, replying, related, invalid, untracked")
	flags.StringVar(&o.chance, "chance", "ideal", "ideal: a probability as near to 1/n as a rule can express counts as 1/n; exact: as it is")
	flags.StringSliceVar(&o.ignore, "ignore", nil,
		"what makes no difference: mark, source, detail (everything but the verdict and where it goes)")
	flags.StringVarP(&o.output, "output", "o", "text", "how to print the result: text, json or html (a page)")
	flags.BoolVar(&o.across, "across", false, "compare the nodes of a cluster, two or more, and say which of them is odd")
	flags.BoolVarP(&o.verbose, "verbose", "v", false, "print every kind of difference, also those about which the same rules decide")
	addCertificateFlags(cmd, &o)
	completeWords(cmd, "class", "new", "established", "replying", "related", "invalid", "untracked")
	completeWords(cmd, "chance", "ideal", "exact")
	completeWords(cmd, "ignore", "mark", "source", "detail")
	completeWords(cmd, "output", "text", "json", "html")
	return cmd
}

// options are what the flags say of the fates.
func (o *diffOptions) options() (out forall.Options, err error) {
	for _, name := range o.classes {
		class, err := forall.ParseClass(name)
		if err != nil {
			return out, fmt.Errorf("--class: %w", err)
		}
		out.Classes = append(out.Classes, class)
	}
	switch o.chance {
	case "ideal":
	case "exact":
		out.Chance = forall.Exact
	default:
		return out, fmt.Errorf("--chance %s: want ideal or exact", o.chance)
	}
	for _, name := range o.ignore {
		part, known := map[string]forall.Part{"mark": forall.Mark, "source": forall.Source, "detail": forall.Detail}[name]
		if !known {
			return out, fmt.Errorf("--ignore %s: want mark, source or detail", name)
		}
		out.Ignore |= part
	}
	if o.output != "text" && o.output != "json" && o.output != "html" {
		return out, fmt.Errorf("-o %s: want text, json or html", o.output)
	}
	return out, o.checkCertificate()
}

func runDiff(s streams, o diffOptions, paths []string) error {
	options, err := o.options()
	if err != nil {
		return err
	}
	sources, objects, err := o.sides(s, paths)
	if err != nil {
		return err
	}
	books, err := o.hosts.books(s, objects)
	if err != nil {
		return err
	}
	var sides [2]allpackets.Side
	for i := range sources {
		if sides[i], err = sources[i].side(books[i]); err != nil {
			return err
		}
	}
	result, err := allpackets.Compare(sides, options)
	if err != nil {
		return err
	}
	if err := writeCertificate(&o, sources, allpackets.FamiliesOf(sides[:]), &options); err != nil {
		return err
	}
	result.All = o.verbose
	if err := writeAnswer(s, result, o.output); err != nil {
		return err
	}
	switch {
	case result.Open():
		return toolStatus(exitUsage) // the answer says what is not known
	case !result.Same:
		return errNotHeld
	}
	return nil
}
