package scenarios

import (
	"fmt"
	"net/netip"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/chainwalk/chainwalk/internal/document"
	"go.yaml.in/yaml/v3"
)

// Expect is what must come of a packet or a connection. One of the fields from
// Endpoints to AnyOf says what; the others narrow it. Where that is all, the
// field's name alone can stand for the whole: "expect: reject".
type Expect struct {
	document.Located
	Endpoints  Shares   `json:"endpoints" doc:"It reaches these endpoints: a list for equal chances, or a mapping of endpoint to chance (1/2, 0.5 or 50%)."`
	SameAs     string   `json:"sameAs" doc:"It reaches the endpoint that the kept connection of this name reached, or its last packet that arrived."`
	AnsweredBy string   `json:"answeredBy" doc:"It arrives as it was sent, no address or port translated, and a process of this machine answers."`
	RefusedBy  string   `json:"refusedBy" doc:"Nothing listens where it arrives, and this machine itself says so."`
	Untouched  bool     `json:"untouched" doc:"It passes the nodes as it was sent, no address or port translated. It does not matter whether somebody answers."`
	Reject     Matched  `json:"reject" doc:"A REJECT rule answers it: true, or how: icmp-port-unreachable, tcp-reset, ..."`
	Drop       Matched  `json:"drop" doc:"A DROP rule or policy ends it: true; or a part of the rule, or of the reason where the kernel drops it without a rule."`
	NoReply    bool     `json:"noReply" doc:"The client hears nothing, for whatever reason."`
	Delivered  bool     `json:"delivered" doc:"For a packet of a kept connection: the socket at the other end takes it as one of that connection."`
	Stray      bool     `json:"stray" doc:"For a packet of a kept connection: it arrives at the other end's machine with addresses that are not the connection's."`
	AnyOf      []Expect `json:"anyOf" doc:"One of these holds, whichever: each of them for all ways."`

	Out     string   `json:"out" doc:"For a single packet: the device by which it leaves the node, or the name of the pod behind that device, or local for a packet that stays."`
	Source  Source   `json:"source" doc:"The client's address as the server sees it: kept, masqueraded, ADDRESS or ADDRESS:PORT."`
	OneWay  bool     `json:"oneWay" doc:"Look at the packet only, not at the answer."`
	Rule    string   `json:"rule" doc:"A part of the rule that decided."`
	Through []string `json:"through" doc:"Steps that the packet takes, as the kernel's TRACE spells them (nat:KUBE-SERVICES:rule:1), or parts of rules that it matches."`

	NFTables *Expect `json:"nftables" doc:"What is expected in place of all else where every node's kube-proxy is in mode nftables."`

	RulesWalked *Bound `json:"rulesWalked" doc:"How many rules are held against the packet on its way, matching or not: a number, or a bound such as \"<= 40\"."`
}

// UnmarshalDocument reads a mapping, or one word.
func (e *Expect) UnmarshalDocument(d *document.Decoder, n *yaml.Node) {
	if n.Kind == yaml.ScalarNode {
		e.word(d, n)
		return
	}
	type fields Expect // without this method
	before := d.Count()
	d.Decode(n, (*fields)(e))
	if d.Count() > before {
		return
	}
	if e.NFTables != nil && e.NFTables.NFTables != nil {
		d.Errorf(n, "nftables: holds no other one")
	}
	switch kinds := e.kinds(); len(kinds) {
	case 1:
		e.check(d, n, &kinds[0])
	case 0:
		d.Errorf(n, "nothing is expected (want one of %s)", strings.Join(kindNames(expectKinds()), ", "))
	default:
		d.Errorf(n, "%s exclude each other (want one of them)", strings.Join(kindNames(kinds), " and "))
	}
}

func (e *Expect) word(d *document.Decoder, n *yaml.Node) {
	words := wordKinds()
	for i := range words {
		if words[i].name == n.Value {
			words[i].set(e)
			return
		}
	}
	d.Errorf(n, "expect: unknown word %q%s", n.Value, document.Suggest(n.Value, kindNames(words)))
}

func (e Expect) spell() (*yaml.Node, error) {
	if len(e.Endpoints) > 0 { // which no word stands for
		return fieldsOf(reflect.ValueOf(e))
	}
	for _, kind := range wordKinds() {
		word := Expect{Located: e.Located}
		kind.set(&word)
		if reflect.DeepEqual(e, word) {
			return document.Text(kind.name), nil
		}
	}
	return fieldsOf(reflect.ValueOf(e))
}

// check refuses what narrows nothing.
func (e *Expect) check(d *document.Decoder, n *yaml.Node, kind *expectKind) {
	if alone := (Expect{Located: e.Located, AnyOf: e.AnyOf, NFTables: e.NFTables}); len(e.AnyOf) > 0 {
		if !reflect.DeepEqual(*e, alone) ||
			slices.ContainsFunc(e.AnyOf, func(one Expect) bool { return len(one.AnyOf) > 0 || one.NFTables != nil }) {
			d.Errorf(n, "anyOf stands alone, and holds no other one (write what narrows it into each of its expectations)")
		}
		return
	}
	if e.Source != (Source{}) && !kind.arrives {
		d.Errorf(n, "source says nothing with %s, since no server sees the packet (leave it out)", kind.name)
	}
	if e.OneWay && !kind.answered {
		d.Errorf(n, "oneWay says nothing with %s (leave it out)", kind.name)
	}
}

// in is what is expected in a mode.
func (e *Expect) in(mode Mode) *Expect {
	if mode == ModeNFTables && e.NFTables != nil {
		return e.NFTables
	}
	return e
}

// arrives says whether a server sees the packet.
func (e *Expect) arrives() bool {
	return len(e.AnyOf) > 0 && e.AnyOf[0].arrives() || len(e.AnyOf) == 0 && e.kind().arrives
}

// String says in one line what is expected.
func (e *Expect) String() string {
	var out []string
	for _, kind := range e.kinds() {
		out = append(out, kind.print(e))
	}
	add := func(given bool, format string, args ...any) {
		if given {
			out = append(out, fmt.Sprintf(format, args...))
		}
	}
	add(e.Source != (Source{}), "source %s", e.Source)
	add(e.Out != "", "out %s", e.Out)
	add(e.Rule != "", "decided by a rule with %q", e.Rule)
	add(len(e.Through) > 0, "through %q", e.Through)
	add(e.RulesWalked != nil, "rules walked %s", e.RulesWalked)
	add(e.OneWay, "one way")
	return strings.Join(out, ", ")
}

// Matched is a yes, or a yes with a text that must be part of what is found.
type Matched struct {
	Wanted bool
	Text   string
}

// UnmarshalDocument reads true or a text.
func (m *Matched) UnmarshalDocument(d *document.Decoder, n *yaml.Node) {
	text, ok := d.Scalar(n, "true or a text")
	if !ok {
		return
	}
	if n.ShortTag() == "!!bool" {
		yes, err := strconv.ParseBool(text)
		if err != nil || !yes {
			d.Errorf(n, "false says nothing here (leave the field out)")
		}
		m.Wanted = true
		return
	}
	m.Wanted, m.Text = true, text
}

func (m Matched) spell() (*yaml.Node, error) {
	if m.Text == "" {
		return scalar("!!bool", "true"), nil
	}
	return document.Text(m.Text), nil
}

// Source is what a server must see as the client's address.
type Source struct {
	Kept, Masqueraded bool
	addr              netip.Addr
	port              uint16 // 0: any
}

// UnmarshalText reads kept, masqueraded, ADDRESS or ADDRESS:PORT.
func (s *Source) UnmarshalText(text []byte) error {
	switch string(text) {
	case "kept":
		s.Kept = true
		return nil
	case "masqueraded":
		s.Masqueraded = true
		return nil
	}
	var b Bind
	if err := b.UnmarshalText(text); err != nil || !b.Addr.IsValid() {
		return fmt.Errorf("want kept, masqueraded, ADDRESS or ADDRESS:PORT")
	}
	s.addr, s.port = b.Addr, b.Port
	return nil
}

// String prints the source as it is read.
func (s Source) String() string {
	switch {
	case s.Kept:
		return "kept"
	case s.Masqueraded:
		return "masqueraded"
	case s.port > 0:
		return netip.AddrPortFrom(s.addr, s.port).String()
	}
	return s.addr.String()
}

// MarshalText is the source as it is read.
func (s Source) MarshalText() ([]byte, error) { return []byte(s.String()), nil }
