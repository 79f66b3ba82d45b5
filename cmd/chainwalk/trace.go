package main

import (
	"context"
	"fmt"
	"slices"

	"github.com/spf13/cobra"

	"github.com/chainwalk/chainwalk/netfilter"
	"github.com/chainwalk/chainwalk/packetsim"
	"github.com/chainwalk/chainwalk/packetsim/snapshot"
	"github.com/chainwalk/chainwalk/scenarios/explain/names"
	"github.com/chainwalk/chainwalk/scenarios/explain/page"
	"github.com/chainwalk/chainwalk/scenarios/explain/story"
)

type traceOptions struct {
	live   liveOptions
	from   string
	via    string
	rules  string
	local  []string
	output string
	text   traceText
}

// traceOutputs are the forms of a trace.
var traceOutputs = []string{"text", "json", "html", "mermaid"}

func newTraceCommand(s streams) *cobra.Command {
	var o traceOptions
	cmd := &cobra.Command{
		Use:   "trace (--node SNAPSHOT... | --saved FOLDER | -A | --rules SAVE [--local ADDR,...]) [-f OBJECTS...] (PACKET | TO --from FROM)",
		Short: "Walk one packet and print every outcome with its way and probability",
		Long: `Walks one packet through the rules of a node, and prints its fate: every outcome with its probability, each rule that
matched, and the rule that decided. It sends nothing.

PACKET is PROTO SRC[:PORT] > DST[:PORT] [in DEV|local] [flags SYN,ACK] [type T/C] [mark N] [ttl N] [len N]. Put an IPv6 address with a
port in brackets. Without flags a TCP packet is a SYN, without type an ICMP packet is an echo request. Further words set fields that only
some rules read: id, seq, ack, window, data, wscale, sack-permitted, sack, out-of-window, vtag, chunks, socket, mac, link, nexthop, quotes
{ PACKET }, vxlan VNI { PACKET }; docs/packet.md describes them all.

With --node the packet meets the node's routes, sysctls and live connections, the rules of iptables, of both backends if the node has
both, and the tables of nftables. If a part that was not walked or not read could change the fate of this packet, such as a table of
family bridge, the answer begins with it ("unless table bridge fw drops it"), and the exit status is 1.

With --rules there are only the rules: what iptables-save, ip6tables-save, "nft list ruleset" or "chainwalk rules" print, one after the
other. The rules of the packet's family count. The device eth0 has the --local addresses and forwards packets to all others.
Any device may be named after "in" (default eth0).

With -f (--objects) the trace names the pods, nodes and services behind addresses and rules. For each endpoint that no outcome reaches, it
says why. PACKET may then have svc/NAMESPACE/NAME:PORT, pod/NAMESPACE/NAME:PORT and node/NAME:PORT instead of addresses. With several
--node it follows the connection that PACKET begins from its client through the nodes and back. It assumes that pods, machines and nodes
answer on every port, and that a node without a snapshot has no rules.

TO --from FROM names the two ends of a connection as "chainwalk why" does: FROM is pod/NAMESPACE/NAME, node/NAME, an address or
"outside", TO is svc/NAMESPACE/NAME[:PORT], pod/NAMESPACE/NAME[:PORT], node/NAME[:PORT] or ADDRESS[:PORT]. The trace finds node, device,
addresses and ports. If the client can call TO in several ways (ports, families, nodes), it follows the first that why calls, says so first,
and lists the others.`,
		Example: `  chainwalk trace --saved prod svc/shop/web --from pod/shop/client
  chainwalk trace --node node.yaml 'tcp 10.244.0.11:40000 > 10.96.0.10:53 in veth1'
  chainwalk rules -f objects.yaml | chainwalk trace --rules - 'tcp 10.244.0.11:40000 > 10.96.0.10:53'
  chainwalk trace -f objects.yaml --node node.yaml 'tcp pod/shop/client:40000 > svc/shop/web:http'
  chainwalk trace -f objects.yaml --node node1.yaml --node node2.yaml 'tcp pod/shop/client:40000 > svc/shop/web:http'
  iptables-save | chainwalk trace --rules - --local 192.168.0.2 'udp 192.168.0.2:5353 > 10.96.0.10:53 local'`,
		Args:    o.args,
		PreRunE: func(cmd *cobra.Command, _ []string) error { return o.checkSources(cmd) },
		RunE: func(cmd *cobra.Command, args []string) error {
			return runTrace(cmd.Context(), s, o, args[0])
		},
		ValidArgsFunction: completeStarts("svc/", "pod/", "node/"),
	}
	flags := cmd.Flags()
	flags.StringArrayVar(&o.live.snapshots, "node", nil,
		"file with a NodeSnapshot (- is stdin); several follow the connection through these nodes and back")
	flags.StringArrayVarP(&o.live.files, "objects", "f", nil,
		"file with Kubernetes objects (repeatable, - is stdin): names in the story and in PACKET, and why endpoints are not reached")
	flags.StringVar(&o.from, "from", "", "the end that calls TO: pod/NAMESPACE/NAME, node/NAME, an address or outside")
	flags.StringVar(&o.via, "via", "",
		"with several --node: the node that packets from outside to a service's address are handed to (the first)")
	flags.StringVar(&o.rules, "rules", "", "file with what iptables-save, ip6tables-save or nft list ruleset print (- is stdin)")
	flags.StringSliceVar(&o.local, "local", nil, "with --rules: the node's own addresses")
	flags.StringVar(&o.live.tools, "tools", "",
		"legacy or nft: walk only these rules, if both backends have some; with --rules also how to read text that does not name its backend")
	flags.StringVarP(&o.output, "output", "o", "text",
		"how to print the result: text, json, html (a page for a browser) or mermaid (a diagram for Markdown)")
	o.live.ignored.addFlag(flags)
	o.text.addFlags(cmd)
	addSavedFlag(flags, &o.live.saved)
	o.live.gather.addFlags(flags)
	cmd.MarkFlagsMutuallyExclusive("node", "rules")
	cmd.MarkFlagsMutuallyExclusive("saved", "rules")
	cmd.MarkFlagsMutuallyExclusive("node", "local")
	completeWords(cmd, "tools", "legacy", "nft")
	completeWords(cmd, "output", traceOutputs...)
	completeFlag(cmd, "from", completeStarts("pod/", "node/", names.Outside))
	return cmd
}

func runTrace(ctx context.Context, s streams, o traceOptions, text string) error {
	collectFirstLate()
	if !slices.Contains(traceOutputs, o.output) {
		return fmt.Errorf("-o %s: want text, json, html or mermaid", o.output)
	}
	if err := o.text.check(); err != nil {
		return err
	}
	cluster, err := o.live.load(ctx, s)
	if err != nil {
		return err
	}
	if err := o.checkNodes(cluster); err != nil {
		return err
	}
	p, err := o.packet(cluster, text)
	if err != nil {
		return err
	}
	if len(cluster.Snapshots) > 1 {
		document, err := followPacket(o, p)
		if err != nil {
			return err
		}
		return decided(document.Doubts, writeStory(s, o, &document.Story, func() error { return writeJSON(s.out, document) }))
	}
	result, why, host, err := traceResult(s, o, p)
	if err != nil {
		return err
	}
	result.Notes = addNew(result.Notes, p.others)
	told := story.Of(result, story.Options{Host: host, Names: p.names()})
	told.Sentence = p.chosen + told.Sentence
	told.Unreached, told.Causes = why.Unreached, why.causes
	err = writeStory(s, o, &told, func() error {
		if p.book == nil {
			return result.WriteJSON(s.out)
		}
		return writeJSON(s.out, traceDocument{result, told.Sentence, told.Causes, told.Unreached})
	})
	if err == nil && result.Opaque != nil {
		err = fmt.Errorf("host %s: %w", result.Opaque.Host, result.Opaque)
	}
	return decided(result.Doubts, err)
}

// decided is not held where there are doubts about what was written.
func decided(doubts []packetsim.Doubt, err error) error {
	if err == nil && len(doubts) > 0 {
		return errNotHeld
	}
	return err
}

// writeStory prints a story in the form that was asked for; its JSON is the caller's matter.
func writeStory(s streams, o traceOptions, told *story.Story, writeJSON func() error) error {
	switch o.output {
	case "json":
		return writeJSON()
	case "html":
		return page.Trace(s.out, told)
	case "mermaid":
		return told.WriteMermaid(s.out)
	}
	return told.WriteText(s.out, o.text.story(s.out))
}

// traceResult walks a packet through a host, and says what the objects say of that. The host's name is empty if it is not known.
func traceResult(s streams, o traceOptions, p *namedPacket) (packetsim.TraceResult, explained, string, error) {
	if len(p.cluster.Snapshots) > 0 {
		taken := p.cluster.Snapshots[0]
		node, assumed := p.arrive(taken)
		if err := checkArrival(node, p.Input); err != nil {
			return packetsim.TraceResult{}, explained{}, "", err
		}
		walk := o.walk()
		walk.Back = true
		result, err := node.Trace(p.Input, snapshot.HostOptions{Dialect: netfilter.Dialect(o.live.tools)}, walk)
		if err != nil {
			return result, explained{}, "", err
		}
		addAssumed(assumed, &result)
		why, err := p.whyNot(node, o, &result)
		result.Notes = append(result.Notes, why.Notes...)
		return result, why, node.Hostname, err
	}
	host, err := readRulesHost(s, o, &p.Input)
	if err != nil {
		return packetsim.TraceResult{}, explained{}, "", err
	}
	result, err := host.Trace(p.Input, o.walk())
	if err != nil {
		return result, explained{}, "", err
	}
	result.Doubts = append(result.Doubts, host.saved.OwnDoubts(p.Input, result.Outcomes, "--local, which names the node's addresses")...)
	return result, explained{}, "", nil
}

// walk says what a trace keeps of the walk: a page has room for the rules that did not match, which it folds.
func (o *traceOptions) walk() packetsim.WalkOptions {
	options := o.text.walk()
	options.Missed = options.Missed || o.output == "html"
	return options
}
