package story

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"

	"github.com/chainwalk/chainwalk/internal/lazyregexp"
)

// fewAlike is as many outcomes as are told in full though they are alike.
const fewAlike = 3

// groups are the places of outcomes that are alike, in the order of their first. Up to fewAlike of them stay alone.
func (s *Story) groups() [][]int { return alike(s.Outcomes, fewAlike) }

// Alike are outcomes that are alike but for their endpoint: what leads there, and their share of the packets.
type Alike struct {
	// Places are the places of the outcomes, the first one first.
	Places []int
	// Share is what they have together, and Text what each has: "3 endpoints, 1/3 each"; empty of one outcome alone.
	Share float64
	Text  string
}

// Alike puts the first outcomes of a story together that are alike, in the order of their first.
func (s *Story) Alike(first int) []Alike {
	var out []Alike
	for _, places := range alike(s.Outcomes[:min(first, len(s.Outcomes))], 1) {
		one := Alike{Places: places}
		var shares []float64
		for _, i := range places {
			shares = append(shares, s.Outcomes[i].Probability)
			one.Share += s.Outcomes[i].Probability
		}
		if len(places) > 1 {
			one.Text = fmt.Sprintf("%d endpoints, %s", len(places), sharesText(shares))
		}
		out = append(out, one)
	}
	return out
}

// alike are the places of outcomes that are alike, in the order of their first. Up to few of them stay alone.
func alike(outcomes []Outcome, few int) [][]int {
	if len(outcomes) == 1 {
		return [][]int{{0}}
	}
	var order []string
	same := map[string][]int{}
	for i := range outcomes {
		key := outcomes[i].likeness()
		if same[key] == nil {
			order = append(order, key)
		}
		same[key] = append(same[key], i)
	}
	var out [][]int
	for _, key := range order {
		if group := same[key]; len(group) > few {
			out = append(out, group)
			continue
		}
		for _, i := range same[key] {
			out = append(out, []int{i})
		}
	}
	slices.SortFunc(out, func(a, b []int) int { return a[0] - b[0] })
	return out
}

// likeness is what an outcome has beside what is its endpoint's own: address, name and chain, share, the device that leads there and the
// neighbour behind it.
func (o *Outcome) likeness() string {
	u := unlikenessOf(o)
	var b strings.Builder
	fmt.Fprintf(&b, "%s %q\n", u.blank(o.Sentence), o.Assumed)
	for i := range o.Passages {
		p := &o.Passages[i]
		fmt.Fprintf(&b, "%s %s %s: %s\n", p.Direction, u.blank(p.Host), u.blank(p.Came.text()), u.blank(p.Result))
		for j := range p.Lines {
			l := &p.Lines[j]
			fmt.Fprintf(&b, "%s %s %s %s %s %s %s\n", l.Kind, l.Hook, l.Dialect, u.place(l.At), u.blank(l.Text), u.blank(l.Failed), l.Assumed)
		}
	}
	return b.String()
}

// unlikeness is what an outcome may have of its own and still be like others.
type unlikeness struct {
	endpoint netip.Addr
	address  string            // the endpoint's
	names    *strings.Replacer // of the endpoint, and of the host that it is on
	chain    string            // where the decision fell
	devices  []string
	words    []string // the last three: a text with none of them has no word that is the outcome's own
}

func unlikenessOf(o *Outcome) *unlikeness {
	u := &unlikeness{}
	var names []string
	for i := range o.Passages {
		p := &o.Passages[i]
		u.devices = append(u.devices, p.Out)
		if i > 0 {
			u.devices = append(u.devices, p.In)
		}
		if p.Direction == There {
			u.endpoint = p.Left.Dst.Addr()
			if p.Left.DstName != "" {
				names = append(names, " ("+p.Left.DstName+")", "")
			}
		}
		if p.Role == Server && p.Host != "" {
			names = append(names, p.Host, "SERVER")
		}
	}
	if at := o.Decided; at != nil {
		if words := strings.Split(o.Passages[at.Passage].Lines[at.Line].At, ":"); len(words) > 1 {
			u.chain = words[1]
		}
	}
	u.names, u.address = strings.NewReplacer(names...), u.endpoint.String()
	u.words = slices.DeleteFunc(append(slices.Clone(u.devices), u.chain, u.address), func(word string) bool { return word == "" })
	return u
}

var (
	// chance is the condition of a rule that leaves the choice to it, which the last of several rules lacks.
	chance = lazyregexp.New(` -m statistic --mode random --probability \S+`)
	// handed is the device and the neighbour that a packet is handed to.
	handed = lazyregexp.New(`\b(by|of) \S+ to [0-9a-f.:]+`)
	// ruleWord is a word of a rule or of a line: an address with its port, or without one.
	ruleWord = lazyregexp.New(`[^\s/()",;\[\]]+`)
	// ruleNumber is the end of a rule's place.
	ruleNumber = lazyregexp.New(`:rule:\d+$`)
)

// blank is text with a word in the place of each thing that is the outcome's own. Most texts have none: they are looked through
// before they are taken apart.
func (u *unlikeness) blank(text string) string {
	text = u.names.Replace(text)
	if strings.Contains(text, " --probability ") {
		text = chance().ReplaceAllString(text, "")
	}
	if strings.Contains(text, " to ") {
		text = handed().ReplaceAllString(text, "$1 DEVICE")
	}
	if !slices.ContainsFunc(u.words, func(word string) bool { return strings.Contains(text, word) }) {
		return text
	}
	return ruleWord().ReplaceAllStringFunc(text, func(word string) string {
		address, _, _ := strings.Cut(word, ":")
		switch {
		case word == u.chain:
			return "CHAIN"
		case slices.Contains(u.devices, word):
			return "DEVICE"
		case word == u.address:
			return "ENDPOINT"
		case u.endpoint.Is4() && address == u.address:
			return "ENDPOINT" + strings.TrimPrefix(word, address)
		}
		return word
	})
}

// place is where a rule stands, without its number.
func (u *unlikeness) place(at string) string {
	return strings.Replace(ruleNumber().ReplaceAllString(at, ":rule")+":", ":"+u.chain+":", ":CHAIN:", 1)
}

// numbersText is a list of places as people number them: "1, 3 and 5 to 9".
func numbersText(places []int) string {
	var parts []string
	for i := 0; i < len(places); {
		last := i
		for last+1 < len(places) && places[last+1] == places[last]+1 {
			last++
		}
		switch last - i {
		case 0:
			parts = append(parts, fmt.Sprint(places[i]+1))
		case 1:
			parts = append(parts, fmt.Sprint(places[i]+1), fmt.Sprint(places[last]+1))
		default:
			parts = append(parts, fmt.Sprintf("%d to %d", places[i]+1, places[last]+1))
		}
		i = last + 1
	}
	if last := len(parts) - 1; last > 0 {
		return strings.Join(parts[:last], ", ") + " and " + parts[last]
	}
	return parts[0]
}
