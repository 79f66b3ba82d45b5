package story_test

import (
	"fmt"
	"io"
	"net/netip"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"pgregory.net/rapid"

	_ "github.com/chainwalk/chainwalk/internal/garbage"
	"github.com/chainwalk/chainwalk/internal/sample"
	"github.com/chainwalk/chainwalk/packetsim"
	"github.com/chainwalk/chainwalk/scenarios/explain/provenance"
	"github.com/chainwalk/chainwalk/scenarios/explain/story"
)

// TestSentenceHolds: what is said of a packet on a node of a generated cluster, whatever the packet, is what the outcomes say.
func TestSentenceHolds(t *testing.T) {
	sample.Checks(t, 25)
	rapid.Check(t, checkSentences)
}

// FuzzSentence looks for more of them.
func FuzzSentence(f *testing.F) { f.Fuzz(rapid.MakeFuzz(checkSentences)) }

func checkSentences(t *rapid.T) {
	c := drawCluster(t)
	for range rapid.IntRange(1, 12).Draw(t, "packets") {
		in := c.drawInput(t)
		result, err := c.host.Trace(in, packetsim.WalkOptions{Missed: rapid.Bool().Draw(t, "missed")})
		if err != nil && in.Dst.IsMulticast() {
			continue // multicast is not walked, and said so
		}
		must(t, err)
		var known story.Names
		if rapid.Bool().Draw(t, "named") {
			known = c.book
		}
		told := story.Of(result, story.Options{Names: known})
		claims{t, c, &result, &told}.hold()
		if sent, err := c.host.Step(in, packetsim.SeededChance(rapid.Uint64().Draw(t, "chance"))); err == nil {
			c.sent = append(c.sent, walked{in, sent})
		}
	}
}

// claims are what a story says of a trace.
type claims struct {
	*rapid.T
	cluster *drawn
	result  *packetsim.TraceResult
	told    *story.Story
}

func (c claims) failf(format string, args ...any) {
	var ends []string
	for i := range c.result.Outcomes {
		ends = append(ends, fmt.Sprintf("%g %s", c.result.Outcomes[i].Probability, c.result.Outcomes[i].Summary()))
	}
	c.Fatalf("%s\n%s\n%s\n%s", c.told.Packet, c.told.Sentence, strings.Join(ends, "\n"), fmt.Sprintf(format, args...))
}

// hold checks all of them.
func (c claims) hold() {
	for _, text := range append([]string{c.told.Sentence}, c.sentences()...) {
		c.isALine(text)
	}
	if got, want := len(c.told.Outcomes), len(c.result.Outcomes); got != want {
		c.failf("%d outcomes are told of %d", got, want)
	}
	c.ends()
	c.shares()
	c.sources()
	c.connections()
	c.service()
	for _, o := range []story.TextOptions{{}, {Apart: true}, {Summary: true}, {Color: true}} {
		if err := c.told.WriteText(io.Discard, o); err != nil {
			c.failf("%v", err)
		}
	}
	if err := c.told.WriteMermaid(io.Discard); err != nil {
		c.failf("%v", err)
	}
}

func (c claims) sentences() []string {
	var out []string
	for i := range c.told.Outcomes {
		out = append(out, c.told.Outcomes[i].Sentence)
	}
	return out
}

// internal is what only a program has a use for.
var internal = regexp.MustCompile(`%!|<nil>|invalid (IP|AddrPort)|0x[0-9a-f]{8}|packetsim|unset|\bzero\b|[A-Z][a-z]+[A-Z]`)

func (c claims) isALine(text string) {
	switch {
	case strings.TrimSpace(text) == "", strings.TrimSpace(text) != text, strings.ContainsAny(text, "\n\r\t"), strings.Contains(text, "  "):
		c.failf("%q is no line of words", text)
	case internal.MatchString(text):
		c.failf("%q has %q", text, internal.FindString(text))
	}
}

// several says that the sentence counts ways that it does not list.
func (c claims) several() bool {
	return strings.Contains(c.told.Sentence, " more ways") || strings.Contains(c.told.Sentence, " one of ")
}

// ends: each end is named, with its device, and none that is not there.
func (c claims) ends() {
	seen := map[string]bool{}
	for i := range c.result.Outcomes {
		o := &c.result.Outcomes[i]
		switch {
		case o.Verdict == packetsim.Drop:
			seen["dropped"] = true
		case o.Verdict == packetsim.Reject:
			seen["rejected"] = true
		case o.To == packetsim.ToLocal:
			seen["delivered to the host itself"] = true
		default:
			seen["by "] = true
			if !c.several() && !words(c.told.Sentence, o.Out) {
				c.failf("the device %s is not named", o.Out)
			}
		}
	}
	for _, word := range []string{"dropped", "rejected", "delivered to the host itself"} {
		if said := strings.Contains(c.told.Sentence, word); said != seen[word] && (said || !c.several()) {
			c.failf("%q: said %t, happens %t", word, said, seen[word])
		}
	}
	if leaves := regexp.MustCompile(`\b(forwarded|sent)\b`).MatchString(c.told.Sentence); leaves != seen["by "] && (leaves || !c.several()) {
		c.failf("leaves the node: said %t, happens %t", leaves, seen["by "])
	}
}

// words says whether a text has a word.
func words(text, word string) bool {
	return slices.Contains(strings.FieldsFunc(text, func(r rune) bool { return strings.ContainsRune(" ,;", r) }), word)
}

var (
	counted = regexp.MustCompile(`-> (\d+) (?:endpoints|destinations), (\S+)(?: (and|to) (\S+?))?( each)?,`)
	percent = regexp.MustCompile(`^([0-9.e+-]+)%$`)
)

// shares: the number of endpoints and what each of them has.
func (c claims) shares() {
	said := counted.FindStringSubmatch(c.told.Sentence)
	if said == nil {
		return
	}
	had := map[netip.AddrPort]float64{}
	for i := range c.result.Outcomes {
		f := &c.result.Outcomes[i].Final
		had[netip.AddrPortFrom(f.Dst, f.DstPort)] += c.result.Outcomes[i].Probability
	}
	if said[1] != strconv.Itoa(len(had)) {
		c.failf("%d endpoints", len(had))
	}
	least, most := 1.0, 0.0
	for _, share := range had {
		least, most = min(least, share), max(most, share)
	}
	first := c.number(said[2])
	second := first
	if said[4] != "" {
		second = c.number(said[4])
	}
	if !near(min(first, second), least) || !near(max(first, second), most) {
		c.failf("shares of %g to %g", least, most)
	}
}

func (c claims) number(text string) float64 {
	if m := percent.FindStringSubmatch(text); m != nil {
		f, err := strconv.ParseFloat(m[1], 64)
		must(c.T, err)
		return f / 100
	}
	var k, n float64 = 1, 1
	if _, err := fmt.Sscanf(text, "%f/%f", &k, &n); err != nil && text != "1" {
		c.failf("%q is no share", text)
	}
	return k / n
}

// near says whether shares are the same, to the three digits that percents have.
func near(a, b float64) bool { return a-b < 0.006*b+1e-6 && b-a < 0.006*b+1e-6 }

// sources: a source is said to be kept only where one is, and one that is not kept is said to be another.
func (c claims) sources() {
	in := c.result.Input
	kept, changed := false, false
	for i := range c.result.Outcomes {
		o := &c.result.Outcomes[i]
		if o.Verdict != packetsim.Accept || in.Src.IsUnspecified() {
			continue
		}
		if o.Final.Src == in.Src && o.Final.SrcPort == in.SrcPort {
			kept = true
		} else {
			changed = true
		}
		if strings.Contains(c.told.Sentence, "masqueraded as "+o.Final.Src.String()) && !o.SourceTranslated && len(c.result.Outcomes) == 1 {
			c.failf("no rule masquerades")
		}
	}
	said := regexp.MustCompile(`masqueraded as|source becomes|port changed`).MatchString(c.told.Sentence)
	keeps := strings.Contains(c.told.Sentence, "source kept") || strings.Contains(c.told.Sentence, "as it was")
	if said && !changed || changed && !said && !c.several() {
		c.failf("another source: said %t, happens %t", said, changed)
	}
	if keeps && !kept {
		c.failf("no source is kept")
	}
}

// connections: what is said of conntrack and of session affinity.
func (c claims) connections() {
	text := c.told.Sentence
	known, reply, checked, set := 0, 0, 0, 0
	states := map[string]int{}
	for i := range c.result.Outcomes {
		o := &c.result.Outcomes[i]
		if at := slices.IndexFunc(o.Events, func(e packetsim.Event) bool { return e.Kind == packetsim.EventConntrack }); at >= 0 {
			e := &o.Events[at]
			states[e.State]++
			if e.Entry != nil {
				known++
			}
			if e.Reply && e.State == "ESTABLISHED" {
				reply++
			}
		}
		for _, s := range o.Steps {
			checked += strings.Count(s.Text(), "--rcheck")
			set += strings.Count(s.Text(), "-m recent --set")
		}
	}
	alone := len(c.result.Outcomes) == 1
	if alone && checked > 0 && c.result.Outcomes[0].Verdict == packetsim.Accept && !strings.Contains(text, "kept there by session affinity") {
		c.failf("session affinity has chosen, and nobody says it")
	}
	for _, claim := range []struct {
		words string
		holds int
	}{
		{"known connection", known}, {"reply of a known connection", reply}, {"kept there by session affinity", checked},
		{"session affinity keeps the client there", set}, {"INVALID", states["INVALID"]}, {"UNTRACKED", states["UNTRACKED"]},
	} {
		if said := strings.Contains(text, claim.words); said && claim.holds == 0 {
			c.failf("%q does not hold", claim.words)
		} else if alone && claim.holds > 0 && !said && !strings.Contains(claim.words, "affinity") {
			c.failf("%q holds, and nobody says it", claim.words)
		}
	}
}

// service: it is said that no rule of a Service matches only where none did.
func (c claims) service() {
	if !strings.Contains(c.told.Sentence, "no rule of a Service matches") {
		return
	}
	none := func(o packetsim.Outcome) bool {
		return !slices.ContainsFunc(o.Steps, func(s packetsim.Step) bool {
			return strings.Contains(s.Text(), "--dport "+strconv.Itoa(int(c.result.Input.DstPort))+" ") &&
				provenance.ServicePortOf(s.Table, s.Chain, &s.Rule.Fact) != ""
		})
	}
	if !slices.ContainsFunc(c.result.Outcomes, none) {
		c.failf("a rule of a Service matches in all outcomes")
	}
}
