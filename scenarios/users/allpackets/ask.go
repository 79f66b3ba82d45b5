package allpackets

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/chainwalk/chainwalk/forall"
	"github.com/chainwalk/chainwalk/netfilter"
	"github.com/chainwalk/chainwalk/packetsim"
	"github.com/chainwalk/chainwalk/packetsim/inet"
	"github.com/chainwalk/chainwalk/scenarios/users/allpackets/question"
)

// Answers are what becomes of packets that somebody asks about.
type Answers struct {
	Version  int      `json:"version"`
	Question string   `json:"question"`
	Answer   string   `json:"answer"`
	Kinds    []Answer `json:"kinds"`
	// Aside are packets that the answer says nothing of.
	Aside []string `json:"aside,omitempty"`
	// Unknown are kinds of packets whose fate is not known, since it is not modelled: they may be so too.
	Unknown []string `json:"unknown,omitempty"`
	// Unread is what was not read of the node.
	Unread []string `json:"unread,omitempty"`

	// asked says that the rules of some node were asked.
	asked bool
}

// Answer is one kind of packets that were asked about.
type Answer struct {
	// Node is the one that the packets come to, if several are asked about.
	Node string `json:"node,omitempty"`
	Kind
	// Boxes is in how many ranges the packets are.
	Boxes int                 `json:"boxes"`
	Fates forall.Distribution `json:"fates"`
	// Probability is how likely one of the fates is for such a packet.
	Probability float64 `json:"probability"`
	// Decided are the last rules that the packet meets, by a walk of it.
	Decided []string `json:"decided,omitempty"`
	// Replies are those to the packet, by a walk of it.
	Replies []Reply `json:"replies,omitempty"`

	side    *Side
	witness *inet.Input // nil if it cannot be walked
}

// What an answer leaves out: what is not followed between nodes, and which replies nobody can judge here.
const (
	betweenNodes = "what routers between the nodes and the pods themselves do"
	noReplies    = "packets without a reply through this node"
)

// Ask answers a question in words (package question) about the packets that come to nodes. If these are several, packets are followed from
// node to node. With replies it also says what becomes of the reply to each kind of packets, on one node.
func Ask(nodes []Side, text string, replies bool) (*Answers, error) {
	r := &Answers{Version: 1, Question: text, Kinds: []Answer{}}
	if len(nodes) > 1 {
		r.Aside = append(r.Aside, betweenNodes)
	}
	q, err := r.askNodes(nodes, text, replies)
	if err != nil {
		return nil, err
	}
	r.conclude(q)
	return r, nil
}

// Open says that no packets were found, and that something is not known.
func (r *Answers) Open() bool {
	return len(r.Kinds) == 0 && (!r.asked || len(r.Unknown)+len(r.Unread) > 0)
}

// askNodes adds the answers for the packets that come to each node on which the question has a meaning, as that of its devices has.
func (r *Answers) askNodes(nodes []Side, text string, replies bool) (q *question.Question, err error) {
	for i := range nodes {
		of, wrong := question.Parse(text, nodes[i].Names, nodes[i].Host)
		switch {
		case wrong != nil && len(nodes) == 1:
			return nil, wrong
		case wrong != nil:
			err = cmp.Or(err, wrong)
			r.Aside = append(r.Aside, fmt.Sprintf("packets that come to %s (%s)", nodes[i].Name, wrong))
			continue
		case len(nodes) > 1 && of.Replies:
			return nil, errors.New("question: replies are followed on one node only: give one --node")
		}
		q = of
		if err := r.askNode(q, nodes, i, replies); err != nil {
			return nil, fmt.Errorf("%s: %w", nodes[i].Name, err)
		}
	}
	if q != nil {
		err = nil
	}
	return q, err
}

// askNode adds the answers for the packets that come to a node.
func (r *Answers) askNode(q *question.Question, nodes []Side, at int, replies bool) error {
	node := &nodes[at]
	options := forall.Options{Replies: replies || q.Replies, Name: node.Name}
	if q.Replies {
		r.Aside = append(r.Aside, noReplies)
	}
	for i := range nodes {
		if i != at {
			options.Through = append(options.Through, forall.Node{Name: nodes[i].Name, Host: nodes[i].Host})
		}
	}
	for _, text := range node.Unread {
		if len(nodes) > 1 {
			text = node.Name + ": " + text
		}
		r.Unread = append(r.Unread, text)
	}
	for _, family := range []netfilter.Family{netfilter.IPv4, netfilter.IPv6} {
		questions := q.Of(family)
		switch {
		case len(questions) == 0:
		case !slices.Contains(node.Families, family):
			if aside := fmt.Sprintf("IPv%d (no rules were given)", family); !slices.Contains(r.Aside, aside) {
				r.Aside = append(r.Aside, aside)
			}
		default:
			r.asked, options.Families = true, []netfilter.Family{family}
			if err := r.ask(questions, q.Unknown(family), node, options); err != nil {
				return err
			}
		}
	}
	return nil
}

// ask adds the answers of a family. unknown asks which of the packets have a fate that is not known.
func (r *Answers) ask(questions, unknown []forall.Question, side *Side, options forall.Options) error {
	fates, err := forall.Of(side.Host, options)
	if err != nil {
		return err
	}
	of := asked{fates: fates, side: side}
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
	side  *Side
}

// decided are the rules that decide about a packet, on each node that it passes.
func (a *asked) decided(in inet.Input) (out []string) {
	if a.node == "" {
		return decided(a.fates.Host(), forall.New, in)
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
func (r *Answers) unknown(k *forall.Kind) {
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
func (a *asked) kind(k *forall.Kind) (*Answer, error) {
	one := Answer{
		Node: a.node, Kind: kindOf(&k.Space, k.Share, &k.Witness, a.side.Names), Boxes: k.Boxes, Fates: k.Fates, Probability: k.Probability,
		side: a.side,
	}
	if !k.Space.Walkable() {
		return &one, nil
	}
	want, err := a.fates.At(k.Witness)
	if err != nil {
		return nil, err
	}
	if otherwise, err := a.fates.Confirm(forall.New, k.Witness, want, tolerance); err == nil && otherwise != "" {
		return nil, fmt.Errorf("%s: a walk says something else than was worked out, so nothing can be said: %s "+
			"(please report this mistake of chainwalk)", k.Witness, otherwise)
	} // a walk that cannot say what becomes of a packet contradicts nothing, and decided says why
	one.witness, one.Decided = &k.Witness, a.decided(k.Witness)
	if a.fates.HaveReplies() {
		one.Replies = repliesTo(a.fates.Host(), k.Witness)
	}
	return &one, nil
}

// conclude puts the answer into words. What it says nothing of comes first.
func (r *Answers) conclude(q *question.Question) {
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
	case !r.asked:
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
