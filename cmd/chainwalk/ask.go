package main

import (
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
	hosts  hostOptions
	output string
}

func newAskCommand(s streams) *cobra.Command {
	var o askOptions
	cmd := &cobra.Command{
		Use:   "ask RULES QUESTION [-f OBJECTS] [--local ADDR,...]",
		Short: "Say which packets of all that there are reach an end, are dropped, or are masqueraded on a node",
		Long: `Answers a question about all packets of a node at once, with a packet and the rule that decides for each kind of answer.

RULES is a NodeSnapshot, a folder with files of a node, or a text of rules: what iptables-save and ip6tables-save print, what
"nft list ruleset" prints (text or JSON), or both. The question is one of

  what can reach END               packets that arrive there, whatever they were sent to
  fate of PROTO to END             what becomes of packets
  what is dropped                  or rejected, masqueraded, translated, forwarded, delivered

with any of "to END", "from END", "by DEVICE", "from outside" (by the devices of default routes) and a protocol behind it. An END is an
address, ADDRESS:PORT, a range of addresses, or with -f an object: pod/NAMESPACE/NAME, svc/NAMESPACE/NAME:PORT, node/NAME.

It answers for the first packets of connections as most programs send them, on this one node, and prints each kind of answer once: how
many packets it is about, a range of them, a likely packet, what becomes of it, and the rule that decides, from a walk of that packet.

The exit status is 0 if some packets are so, 1 if none are, 2 if it cannot be said.`,
		Example: `  chainwalk ask node1.yaml -f objects.yaml what can reach pod/shop/web-1:8080
  chainwalk ask node1.yaml -f objects.yaml fate of tcp to svc/shop/web:http from outside
  iptables-save | chainwalk ask - what is dropped, and by what`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) < 2 {
				return fmt.Errorf("want RULES and a question: %s", question.Forms)
			}
			return nil
		},
		RunE: func(_ *cobra.Command, args []string) error { return runAsk(s, o, args[0], strings.Join(args[1:], " ")) },
	}
	o.hosts.addFlags(cmd)
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
	packetKind
	// Boxes is in how many ranges the packets are.
	Boxes int                 `json:"boxes"`
	Fates forall.Distribution `json:"fates"`
	// Probability is how likely one of the fates is for such a packet.
	Probability float64 `json:"probability"`
	// Decided are the last rules that the packet meets, by a walk of it.
	Decided []string `json:"decided,omitempty"`
}

func runAsk(s streams, o askOptions, path, text string) error {
	if o.output != "text" && o.output != "json" {
		return fmt.Errorf("-o %s: want text or json", o.output)
	}
	book, err := o.hosts.book(s)
	if err != nil {
		return err
	}
	source, err := o.hosts.read(s, path)
	if err != nil {
		return err
	}
	host, err := source.host()
	if err != nil {
		return err
	}
	q, err := question.Parse(text, book, host)
	if err != nil {
		return err
	}
	result := askResult{Version: 1, Question: text, Kinds: []askKind{}, Unread: source.notRead()}
	asked := false
	for _, family := range []netfilter.Family{netfilter.IPv4, netfilter.IPv6} {
		questions := q.Of(family)
		switch {
		case len(questions) == 0:
		case !source.has(family):
			result.Aside = append(result.Aside, fmt.Sprintf("IPv%d (no rules were given)", family))
		default:
			asked = true
			if err := result.ask(questions, q.Unknown(family), host, family, book); err != nil {
				return fmt.Errorf("%s: %w", source.name, err)
			}
		}
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

// ask adds the answers of a family. unknown asks which of the packets have a fate that is not known.
func (r *askResult) ask(questions, unknown []forall.Question, host *packetsim.Host, family netfilter.Family, book *names.Book) error {
	fates, err := forall.Of(host, forall.Options{Families: []netfilter.Family{family}})
	if err != nil {
		return err
	}
	for _, k := range fates.Kinds(questions, deciding(host)) {
		if !k.Fates.Known() {
			continue // told below
		}
		if err := r.add(&k, fates, book); err != nil {
			return err
		}
	}
	for _, k := range fates.Kinds(unknown, nil) {
		r.unknown(&k)
	}
	return nil
}

// decidedWalks is how many packets are walked to tell kinds of answers apart by the rules that decide.
const decidedWalks = 5000

// deciding tells packets apart by the last rules that they meet.
func deciding(host *packetsim.Host) func(*inet.Input) string {
	walked := 0
	return func(in *inet.Input) string {
		if walked++; walked > decidedWalks {
			return "others"
		}
		return strings.Join(decidedOn(host, *in), "\n")
	}
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

// add adds a kind of answer.
func (r *askResult) add(k *forall.Kind, fates *forall.Fates, book *names.Book) error {
	one := askKind{
		packetKind: kindOf(&k.Space, k.Share, &k.Witness, book), Boxes: k.Boxes, Fates: k.Fates, Probability: k.Probability,
	}
	if !slices.ContainsFunc(k.Space.Names, func(n forall.Named) bool { return n.Holds }) {
		want, err := fates.At(k.Witness)
		if err != nil {
			return err
		}
		if err := confirmWitness(fates.Host(), k.Witness, want, 0); err != nil {
			return err
		}
		one.Decided = decidedOn(fates.Host(), k.Witness)
	}
	r.Kinds = append(r.Kinds, one)
	return nil
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
		k.packetKind.write(s, ", in "+ranges(k.Boxes))
		writeField(s, "fate", k.Fates.String())
		if k.Probability < 1-idealTolerance {
			writeField(s, "chance", fmt.Sprintf("%.4g", k.Probability))
		}
		for _, text := range k.Decided {
			writeField(s, "  by", text)
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
