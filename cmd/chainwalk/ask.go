package main

import (
	"encoding/json"
	"fmt"
	"net/netip"
	"slices"
	"strings"

	"github.com/spf13/cobra"

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
		Long: `RULES is a NodeSnapshot, a folder with files of a node, or a text of rules: what iptables-save and ip6tables-save print, what
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
				return fmt.Errorf("want RULES and a question: %s", askForms)
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
	// WithoutMany says that multicast and broadcast packets are left aside, of which nothing is known.
	WithoutMany bool `json:"withoutMulticastAndBroadcast,omitempty"`
	// Unknown are kinds of packets whose fate is not known, since it is not modelled: they may be so too.
	Unknown []string `json:"unknown,omitempty"`
	// Unread is what was not read of the node.
	Unread []string `json:"unread,omitempty"`
}

// askKind is one kind of answer.
type askKind struct {
	Family netfilter.Family `json:"family"`
	// Share is how much of all first packets of the family are so, and Boxes in how many ranges.
	Share   float64             `json:"share"`
	Boxes   int                 `json:"boxes"`
	Packets string              `json:"packets"`
	If      []string            `json:"if,omitempty"`
	Packet  string              `json:"packet"`
	Ends    string              `json:"ends,omitempty"`
	Fates   forall.Distribution `json:"fates"`
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
	q, err := parseQuestion(text, book, host)
	if err != nil {
		return err
	}
	result := askResult{Version: 1, Question: text, Kinds: []askKind{}}
	for _, u := range source.unread {
		result.Unread = append(result.Unread, fmt.Sprintf("%s: %s", u.What, u.Why))
	}
	for _, family := range []netfilter.Family{netfilter.IPv4, netfilter.IPv6} {
		if err := result.ask(q, host, family, book); err != nil {
			return fmt.Errorf("%s: %w", source.name, err)
		}
	}
	result.conclude(q)
	if err := result.write(s, o.output); err != nil {
		return err
	}
	switch {
	case len(result.Kinds) > 0:
		return nil
	case len(result.Unknown)+len(result.Unread) > 0:
		return toolStatus(exitUsage) // the answer says what is not known
	}
	return errNotHeld
}

// ask adds the answers of a family.
func (r *askResult) ask(q *question, host *packetsim.Host, family netfilter.Family, book *names.Book) error {
	questions := q.of(family)
	if len(questions) == 0 {
		return nil
	}
	fates, err := forall.Of(host, forall.Options{Families: []netfilter.Family{family}})
	if err != nil {
		return err
	}
	for _, one := range questions {
		for _, k := range fates.Kinds(one, deciding(host)) {
			if !k.Fates.Known() {
				r.unknown(&k)
				continue
			}
			if err := r.add(&k, fates, book); err != nil {
				return err
			}
		}
		if one.Fate == nil {
			continue
		}
		one.EndDst, one.EndPort = netip.Prefix{}, 0
		one.Fate = func(f *forall.Fate) bool { return f.Unmodelled != "" }
		for _, k := range fates.Kinds(one, nil) {
			r.unknown(&k)
		}
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

// unknown adds packets whose fate is not known.
func (r *askResult) unknown(k *forall.Kind) {
	if !slices.ContainsFunc(k.Fates, func(s forall.Share) bool { return s.Fate.Unmodelled != "" && !s.Fate.ToMany() }) {
		r.WithoutMany = true
		return
	}
	if text := fmt.Sprintf("%s: %s", k.Space.String(), k.Fates); !slices.Contains(r.Unknown, text) {
		r.Unknown = append(r.Unknown, text)
	}
}

// add adds a kind of answer.
func (r *askResult) add(k *forall.Kind, fates *forall.Fates, book *names.Book) error {
	one := askKind{
		Family: k.Space.Family, Share: k.Share, Boxes: k.Boxes, Packets: k.Space.String(), If: conditions(&k.Space),
		Packet: k.Witness.String(), Ends: witnessEnds(book, &k.Witness), Fates: k.Fates, Probability: k.Probability,
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

// conclude puts the answer into words. What is not known comes first.
func (r *askResult) conclude(q *question) {
	switch n := len(r.Kinds); {
	case n == 0 && len(r.Unknown)+len(r.Unread) > 0:
		r.Answer = "cannot say: by what is known, no packets " + q.verb
		return
	case n == 0:
		r.Answer = r.aside() + "no packets " + q.verb
		return
	default:
		r.Answer = fmt.Sprintf("%s%s of packets %s", r.aside(), kinds(n), q.verb)
	}
	if len(r.Unknown) > 0 {
		r.Answer = fmt.Sprintf("what becomes of %s of packets is not known; %s", kinds(len(r.Unknown)), r.Answer)
	}
}

// aside is what the answer begins with, if it does not hold for all packets.
func (r *askResult) aside() string {
	if r.WithoutMany {
		return "multicast and broadcast aside, "
	}
	return ""
}

func (r *askResult) write(s streams, output string) error {
	if output == "json" {
		encoder := json.NewEncoder(s.out)
		encoder.SetEscapeHTML(false)
		encoder.SetIndent("", "  ")
		return encoder.Encode(r)
	}
	fmt.Fprintln(s.out, r.Answer)
	for _, text := range r.Unread {
		fmt.Fprintf(s.out, "not read: %s\n", text)
	}
	for _, text := range r.Unknown {
		fmt.Fprintf(s.out, "\nnot known: %s\n", text)
	}
	for i := range r.Kinds {
		k := &r.Kinds[i]
		fmt.Fprintf(s.out, "\n%s of all first packets of IPv%d, in %s\n", shareText(k.Share), k.Family, ranges(k.Boxes))
		writeField(s, "such as", k.Packets)
		writeField(s, "if", strings.Join(k.If, " and "))
		writeField(s, "packet", k.Packet)
		writeField(s, "ends", k.Ends)
		writeField(s, "fate", k.Fates.String())
		if k.Probability < 1-idealTolerance {
			writeField(s, "chance", fmt.Sprintf("%.4g", k.Probability))
		}
		for _, text := range k.Decided {
			writeField(s, "  by", text)
		}
		if len(k.Decided) == 0 && len(k.If) == 0 {
			writeField(s, "  by", "no rule: the kernel, for its addresses or routes")
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
