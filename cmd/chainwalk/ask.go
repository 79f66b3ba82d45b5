package main

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/chainwalk/chainwalk/scenarios/users/allpackets"
	"github.com/chainwalk/chainwalk/scenarios/users/allpackets/question"
)

type askOptions struct {
	hosts   hostOptions
	nodes   []string
	replies bool
	output  string
}

func newAskCommand(s streams) *cobra.Command {
	var o askOptions
	cmd := &cobra.Command{
		Use:   "ask (RULES | --node SNAPSHOT...) QUESTION [-f OBJECTS] [--local ADDR,...]",
		Short: "Say which of all packets reach an end, are dropped or are masqueraded on a node",
		Long: `Answers a question about all packets of a node at once, with a packet and the rule that decides for each kind of answer.

RULES is a NodeSnapshot, a folder with files of a node, or a text of rules: what iptables-save and ip6tables-save print, what
"nft list ruleset" prints (text or JSON), or both. The question is one of

  what can reach END               packets that arrive there, whatever their first destination was
  fate of PROTO to END             packets with this destination, and their fates
  what is dropped                  or rejected, masqueraded, translated, forwarded, delivered

  what is answered, unanswered     packets whose reply their sender hears, or does not

with any of "to END", "from END", "by DEVICE", "from outside" (by the devices of default routes) and a protocol after it. An END is an
address, ADDRESS:PORT, a range of addresses, or with -f an object: pod/NAMESPACE/NAME, svc/NAMESPACE/NAME:PORT, node/NAME.

With --node, once for each node, it follows packets from node to node, and answers for the packets that come to each of them.

It answers for the first packets of connections as most programs send them. It prints each kind of answer once: the share of all packets,
a range of them, a likely packet, its fate, and the rule that decides, from a walk of that packet. With --replies it also says for each
kind whether the sender hears a reply: from which address it comes back, or what stops it.

The exit status is 0 if some packets match the question, 1 if none do, 2 if ask cannot say.`,
		Example: `  chainwalk ask node1.yaml -f objects.yaml what can reach pod/shop/web-1:8080
  chainwalk ask node1.yaml -f objects.yaml fate of tcp to svc/shop/web:http from outside
  chainwalk ask node1.yaml what is unanswered from 10.244.0.0/16
  chainwalk ask --node node1.yaml --node node2.yaml -f objects.yaml what can reach pod/shop/web-1:8080 from outside
  iptables-save | chainwalk ask - what is dropped, and by what`,
		Args: func(_ *cobra.Command, args []string) error {
			switch {
			case len(o.nodes) == 0 && len(args) < 2:
				return fmt.Errorf("want RULES and a question: %s", question.Forms)
			case len(o.nodes) > 1 && o.replies:
				return errors.New("--replies: replies are followed on one node only: give one --node")
			case len(args) == 0:
				return fmt.Errorf("want a question: %s", question.Forms)
			}
			return nil
		},
		RunE: func(_ *cobra.Command, args []string) error {
			paths, words := o.nodes, args
			if len(paths) == 0 {
				paths, words = args[:1], args[1:]
			}
			return runAsk(s, o, paths, strings.Join(words, " "))
		},
	}
	o.hosts.addFlags(cmd)
	cmd.Flags().StringArrayVar(&o.nodes, "node", nil, "NodeSnapshot, folder or rules of a node, in the place of RULES (repeatable)")
	cmd.Flags().BoolVar(&o.replies, "replies", false, "also say whether the sender hears the reply to each packet")
	cmd.Flags().StringVarP(&o.output, "output", "o", "text", "how to print the result: text, json or html (a page)")
	completeWords(cmd, "output", "text", "json", "html")
	return cmd
}

func runAsk(s streams, o askOptions, paths []string, text string) error {
	if !slices.Contains([]string{"text", "json", "html"}, o.output) {
		return fmt.Errorf("-o %s: want text, json or html", o.output)
	}
	book, err := o.hosts.book(s)
	if err != nil {
		return err
	}
	nodes, err := o.hosts.nodes(s, paths, book)
	if err != nil {
		return err
	}
	result, err := allpackets.Ask(nodes, text, o.replies)
	if err != nil {
		return err
	}
	if err := writeAnswer(s, result, o.output); err != nil {
		return err
	}
	switch {
	case len(result.Kinds) > 0:
		return nil
	case result.Open():
		return toolStatus(exitUsage) // the answer says what is not known
	}
	return errNotHeld
}
