package main

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/chainwalk/chainwalk/cmd/chainwalk/internal/question"
	"github.com/chainwalk/chainwalk/forall"
	"github.com/chainwalk/chainwalk/netfilter"
	"github.com/chainwalk/chainwalk/packetsim"
	"github.com/chainwalk/chainwalk/packetsim/inet"
	"github.com/chainwalk/chainwalk/scenarios/explain/names"
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
		Short: "Say which packets of all that there are reach an end, are dropped, or are masqueraded on a node",
		Long: `Answers a question about all packets of a node at once, with a packet and the rule that decides for each kind of answer.

RULES is a NodeSnapshot, a folder with files of a node, or a text of rules: what iptables-save and ip6tables-save print, what
"nft list ruleset" prints (text or JSON), or both. The question is one of

  what can reach END               packets that arrive there, whatever they were sent to
  fate of PROTO to END             what becomes of packets
  what is dropped                  or rejected, masqueraded, translated, forwarded, delivered

  what is answered, unanswered     packets whose reply their sender hears, or does not

with any of "to END", "from END", "by DEVICE", "from outside" (by the devices of default routes) and a protocol behind it. An END is an
address, ADDRESS:PORT, a range of addresses, or with -f an object: pod/NAMESPACE/NAME, svc/NAMESPACE/NAME:PORT, node/NAME.

With --node, once for each node, it follows packets from node to node, and answers for the packets that come to each of them.

It answers for the first packets of connections as most programs send them, and prints each kind of answer once: how
many packets it is about, a range of them, a likely packet, what becomes of it, and the rule that decides, from a walk of that packet.
With --replies it also says of each kind whether the sender hears a reply: from which address it comes back, or what stops it.

The exit status is 0 if some packets are so, 1 if none are, 2 if it cannot be said.`,
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
	cmd.Flags().BoolVar(&o.replies, "replies", false, "say also what becomes of the reply to each packet")
	cmd.Flags().StringVarP(&o.output, "output", "o", "text", "how to print the result: text or json")
	completeWords(cmd, "output", "text", "json")
	return cmd
}

// askResult is what ask prints as JSON.
type askResult struct {
	Version  int       `json:"version"`
	Question string    `json:"question"`
	Answer   string    `json:"answer"`
	Kinds    []askKind `json:"kinds"`
	// Aside are packets that the answer says nothing of.
	Aside []string `json:"aside,omitempty"`
	// Unknown are kinds of packets whose fate is not known, since it is not modelled: they may be so too.
	Unknown []string `json:"unknown,omitempty"`
	// Unread is what was not read of the node.
	Unread []string `json:"unread,omitempty"`
}

// askKind is one kind of answer.
type askKind struct {
	// Node is the one that the packets come to, if several are asked about.
	Node string `json:"node,omitempty"`
	packetKind
	// Boxes is in how many ranges the packets are.
	Boxes int                 `json:"boxes"`
	Fates forall.Distribution `json:"fates"`
	// Probability is how likely one of the fates is for such a packet.
	Probability float64 `json:"probability"`
	// Decided are the last rules that the packet meets, by a walk of it.
	Decided []string `json:"decided,omitempty"`
	// Replies are those to the packet, by a walk of it.
	Replies []askReply `json:"replies,omitempty"`
}

// askNode is a node that is asked about.
type askNode struct {
	forall.Node
	source *hostSource
}

// readNodes reads the nodes.
func readNodes(s streams, o *askOptions, paths []string) (nodes []askNode, err error) {
	for _, path := range paths {
		source, err := o.hosts.read(s, path)
		if err != nil {
			return nil, err
		}
		host, err := source.host()
		if err != nil {
			return nil, err
		}
		name := path
		if source.known != nil && host.Name() != "" {
			name = host.Name()
		}
		if slices.ContainsFunc(nodes, func(n askNode) bool { return n.Name == name }) {
			return nil, fmt.Errorf("two snapshots are of %s: give one of each node", name)
		}
		nodes = append(nodes, askNode{forall.Node{Name: name, Host: host}, source})
	}
	return nodes, nil
}

// What an answer leaves out: what is not followed between nodes, and which replies nobody can judge here.
const (
	betweenNodes = "what routers between the nodes and the pods themselves do"
	noReplies    = "packets that nobody answers by this node"
)

func runAsk(s streams, o askOptions, paths []string, text string) error {
	if o.output != "text" && o.output != "json" {
		return fmt.Errorf("-o %s: want text or json", o.output)
	}
	book, err := o.hosts.book(s)
	if err != nil {
		return err
	}
	nodes, err := readNodes(s, &o, paths)
	if err != nil {
		return err
	}
	result := askResult{Version: 1, Question: text, Kinds: []askKind{}}
	if len(nodes) > 1 {
		result.Aside = append(result.Aside, betweenNodes)
	}
	q, asked, err := result.askNodes(nodes, text, o.replies, book)
	if err != nil {
		return err
	}
	result.conclude(q, asked)
	if err := result.write(s, o.output); err != nil {
		return err
	}
	switch {
	case len(result.Kinds) > 0:
		return nil
	case !asked || len(result.Unknown)+len(result.Unread) > 0:
		return toolStatus(exitUsage) // the answer says what is not known
	}
	return errNotHeld
}

// askNodes adds the answers for the packets that come to each node on which the question has a meaning, as that of its devices has.
func (r *askResult) askNodes(nodes []askNode, text string, replies bool, book *names.Book) (q *question.Question, asked bool, err error) {
	for i := range nodes {
		of, wrong := question.Parse(text, book, nodes[i].Host)
		switch {
		case wrong != nil && len(nodes) == 1:
			return nil, false, wrong
		case wrong != nil:
			err = cmp.Or(err, wrong)
			r.Aside = append(r.Aside, fmt.Sprintf("packets that come to %s (%s)", nodes[i].Name, wrong))
			continue
		case len(nodes) > 1 && of.Replies:
			return nil, false, errors.New("question: replies are followed on one node only: give one --node")
		}
		q = of
		some, err := r.askNode(q, nodes, i, replies, book)
		if err != nil {
			return nil, false, fmt.Errorf("%s: %w", nodes[i].source.name, err)
		}
		asked = asked || some
	}
	if q != nil {
		err = nil
	}
	return q, asked, err
}

// askNode adds the answers for the packets that come to a node. It is false if the node has no rules of the families that are asked about.
func (r *askResult) askNode(q *question.Question, nodes []askNode, at int, replies bool, book *names.Book) (asked bool, err error) {
	node := &nodes[at]
	options := forall.Options{Replies: replies || q.Replies, Name: node.Name}
	if q.Replies {
		r.Aside = append(r.Aside, noReplies)
	}
	for i := range nodes {
		if i != at {
			options.Through = append(options.Through, nodes[i].Node)
		}
	}
	for _, text := range node.source.notRead() {
		if len(nodes) > 1 {
			text = node.Name + ": " + text
		}
		r.Unread = append(r.Unread, text)
	}
	for _, family := range []netfilter.Family{netfilter.IPv4, netfilter.IPv6} {
		questions := q.Of(family)
		switch {
		case len(questions) == 0:
		case !node.source.has(family):
			if aside := fmt.Sprintf("IPv%d (no rules were given)", family); !slices.Contains(r.Aside, aside) {
				r.Aside = append(r.Aside, aside)
			}
		default:
			asked, options.Families = true, []netfilter.Family{family}
			if err := r.ask(questions, q.Unknown(family), node.Host, options, book); err != nil {
				return asked, err
			}
		}
	}
	return asked, nil
}

// ask adds the answers of a family. unknown asks which of the packets have a fate that is not known.
func (r *askResult) ask(questions, unknown []forall.Question, host *packetsim.Host, options forall.Options, book *names.Book) error {
	fates, err := forall.Of(host, options)
	if err != nil {
		return err
	}
	of := asked{fates: fates, book: book}
	if len(options.Through) > 0 {
		of.node = options.Name
	}
	walked := 0
	alike := func(in *inet.Input) string {
		if walked++; walked > decidedWalks {
			return "others"
		}
		return strings.Join(of.decided(*in), "\n")
	}
	for _, k := range fates.Kinds(questions, alike) {
		if !k.Fates.Known() {
			continue // told below
		}
		one, err := of.kind(&k)
		if err != nil {
			return err
		}
		r.Kinds = append(r.Kinds, *one)
	}
	for _, k := range fates.Kinds(unknown, nil) {
		r.unknown(&k)
	}
	return nil
}

// decidedWalks is how many packets are walked to tell kinds of answers apart by the rules that decide.
const decidedWalks = 5000

// asked are the fates that are asked for answers.
type asked struct {
	node  string // the one that the packets come to; empty: there is only one
	fates *forall.Fates
	book  *names.Book
}

// decided are the rules that decide about a packet, on each node that it passes.
func (a *asked) decided(in inet.Input) (out []string) {
	if a.node == "" {
		return decidedOn(a.fates.Host(), in)
	}
	err := a.fates.Passes(in, func(node string, o *packetsim.Outcome) {
		if text := node + ": " + decidedBy(o); !slices.Contains(out, text) {
			out = append(out, text)
		}
	})
	if err != nil {
		out = append(out, err.Error())
	}
	return out
}

// toMany are packets that forall does not model.
const toMany = "multicast and broadcast"

// unknown adds packets whose fate is not known.
func (r *askResult) unknown(k *forall.Kind) {
	if !slices.ContainsFunc(k.Fates, func(s forall.Share) bool { return s.Fate.Unmodelled != "" && !s.Fate.ToMany() }) {
		if !slices.Contains(r.Aside, toMany) {
			r.Aside = append(r.Aside, toMany)
		}
		return
	}
	if text := fmt.Sprintf("%s: %s", k.Space.String(), k.Fates); !slices.Contains(r.Unknown, text) {
		r.Unknown = append(r.Unknown, text)
	}
}

// kind is a kind of answer, with what a walk of its packet says.
func (a *asked) kind(k *forall.Kind) (*askKind, error) {
	one := askKind{
		Node: a.node, packetKind: kindOf(&k.Space, k.Share, &k.Witness, a.book), Boxes: k.Boxes, Fates: k.Fates, Probability: k.Probability,
	}
	if slices.ContainsFunc(k.Space.Names, func(n forall.Named) bool { return n.Holds }) {
		return &one, nil
	}
	want, err := a.fates.At(k.Witness)
	if err != nil {
		return nil, err
	}
	if otherwise, err := a.fates.Confirm(k.Witness, want, idealTolerance); err == nil && otherwise != "" {
		return nil, fmt.Errorf("%s: a walk says something else than was worked out, so nothing can be said: %s "+
			"(please report this mistake of chainwalk)", k.Witness, otherwise)
	} // a walk that cannot say what becomes of a packet contradicts nothing, and decided says why
	one.Decided = a.decided(k.Witness)
	if a.fates.HaveReplies() {
		one.Replies = repliesTo(a.fates.Host(), k.Witness)
	}
	return &one, nil
}

// conclude puts the answer into words. What it says nothing of comes first. asked says that rules were asked at all.
func (r *askResult) conclude(q *question.Question, asked bool) {
	if len(r.Aside) > 0 {
		r.Answer = "not looked at: " + strings.Join(r.Aside, ", ") + "; "
	}
	if len(r.Unread) > 0 {
		r.Answer = "parts of the node were not read; " + r.Answer
	}
	if len(r.Unknown) > 0 {
		r.Answer = fmt.Sprintf("what becomes of %s of packets is not known; %s", kinds(len(r.Unknown)), r.Answer)
	}
	switch n := len(r.Kinds); {
	case !asked:
		r.Answer = "cannot say: " + strings.TrimSuffix(r.Answer, "; ")
	case n == 0 && len(r.Unknown)+len(r.Unread) > 0:
		r.Answer = "cannot say: " + r.Answer + "by the rest, no packets " + q.Verb
	case n == 0:
		r.Answer += "no packets " + q.Verb
	case n == 1:
		r.Answer += "1 kind of packets " + q.VerbOfOne()
	default:
		r.Answer += fmt.Sprintf("%s of packets %s", kinds(n), q.Verb)
	}
}

func (r *askResult) write(s streams, output string) error {
	if output == "json" {
		return writeJSON(s.out, r)
	}
	writeHead(s, r.Answer, r.Unread, r.Unknown)
	for i := range r.Kinds {
		k := &r.Kinds[i]
		at := ""
		if k.Node != "" {
			at = ", that come to " + k.Node
		}
		k.packetKind.write(s, ", in "+ranges(k.Boxes)+at)
		writeField(s, "fate", k.Fates.String())
		if k.Probability < 1-idealTolerance {
			writeField(s, "chance", fmt.Sprintf("%.4g", k.Probability))
		}
		for _, text := range k.Decided {
			writeField(s, "  by", text)
		}
		for i := range k.Replies {
			k.Replies[i].write(s)
		}
	}
	return nil
}

func ranges(n int) string {
	if n == 1 {
		return "1 range"
	}
	return fmt.Sprintf("%d ranges", n)
}
