package report

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"io"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/net/html"

	"github.com/chainwalk/chainwalk/internal/document"
	"github.com/chainwalk/chainwalk/netfilter"
	"github.com/chainwalk/chainwalk/packetsim"
	"github.com/chainwalk/chainwalk/scenarios"
	"github.com/chainwalk/chainwalk/scenarios/explain/page"
	"github.com/chainwalk/chainwalk/scenarios/explain/story"
)

func written(t *testing.T, write func(io.Writer) error) string {
	t.Helper()
	var b bytes.Buffer
	require.NoError(t, write(&b))
	return b.String()
}

func tracePage(t *testing.T, s *story.Story) string {
	t.Helper()
	return written(t, func(w io.Writer) error { return page.Trace(w, s) })
}

// evil is what others may have written wherever they may write.
const evil = `</code></pre><script>alert(1)</script>" onload='x' {{.}} javascript:x &lt; <img src=http://h/>`

// fill puts a text wherever there is one in a value, however deep.
func fill(v reflect.Value, with string) {
	switch v.Kind() {
	case reflect.Pointer:
		if !v.IsNil() {
			fill(v.Elem(), with)
		}
	case reflect.Struct:
		for i := range v.NumField() {
			if v.Type().Field(i).IsExported() {
				fill(v.Field(i), with)
			}
		}
	case reflect.Slice:
		for i := range v.Len() {
			fill(v.Index(i), with)
		}
	case reflect.String:
		if v.CanSet() && v.Type() == reflect.TypeFor[string]() {
			v.SetString(with)
		}
	}
}

// pages are one of each.
func pages(t *testing.T) map[string]string {
	t.Helper()
	return map[string]string{
		"trace": tracePage(t, threeEndpoints()),
		"run": written(t, func(w io.Writer) error {
			return Run(w, []*scenarios.Result{failedResult(), {Name: "left out", Skipped: "needs a kernel"}},
				RunOptions{Ways: scenarios.WaysAll, Source: func(*scenarios.Result) string { return "name: small\nsteps:\n- connect: {}\n" }})
		}),
		"fuzz": written(t, func(w io.Writer) error { return Fuzz(w, searched(failedResult())) }),
	}
}

// filled are the pages with one text wherever others write.
func filled(t *testing.T, with string) map[string]string {
	t.Helper()
	s, results, found := threeEndpoints(), []*scenarios.Result{failedResult()}, searched(failedResult())
	s.Notes = []string{""}
	fill(reflect.ValueOf(s), with)
	fill(reflect.ValueOf(results), with)
	fill(reflect.ValueOf(found.Findings), with)
	return map[string]string{
		"trace": tracePage(t, s),
		"run": written(t, func(w io.Writer) error {
			return Run(w, results,
				RunOptions{Ways: scenarios.WaysAll, Source: func(*scenarios.Result) string { return strings.Repeat(with+"\n", 4) }})
		}),
		"fuzz": written(t, func(w io.Writer) error { return Fuzz(w, found) }),
	}
}

// failedResult is a check that failed and one that held, with a way there and back.
func failedResult() *scenarios.Result {
	way := scenarios.Way{
		Probability: 1, End: scenarios.Delivered, Host: "web", Heard: true, Rule: "-A KUBE-SEP-A -j DNAT --to-destination 10.244.1.2:8080",
		Sender: addrPort("10.244.1.100:40000"), Server: addrPort("10.244.1.2:8080"), Client: addrPort("10.244.1.100:40000"),
		Forward: []scenarios.Hop{
			{Host: "client", Packet: "tcp 10.244.1.100:40000 > 172.30.0.41:80 local", Result: "leaves by eth0"},
			{Host: "node1", Packet: "tcp 10.244.1.100:40000 > 172.30.0.41:80 in veth1", Result: "leaves by veth2", Steps: []scenarios.TraceStep{
				{At: "nat:PREROUTING:rule:1", Rule: "-A PREROUTING -j KUBE-SERVICES"},
				{At: "nat:KUBE-SEP-A:rule:1", Rule: "-A KUBE-SEP-A -j DNAT --to-destination 10.244.1.2:8080"},
				{At: "filter:FORWARD:policy:1"},
			}},
			{Host: "web", Packet: "tcp 10.244.1.100:40000 > 10.244.1.2:8080 in eth0", Result: "delivered here"},
		},
		Back: []scenarios.Hop{
			{Host: "web", Packet: "tcp 10.244.1.2:8080 > 10.244.1.100:40000 local", Result: "leaves by eth0"},
			{Host: "node1", Packet: "tcp 10.244.1.2:8080 > 10.244.1.100:40000 in veth2", Result: "leaves by veth1"},
			{Host: "client", Packet: "tcp 172.30.0.41:80 > 10.244.1.100:40000 in eth0", Result: "delivered here"},
		},
	}
	check := scenarios.Check{
		Position: document.Position{File: "small.yaml", Line: 3, Column: 3}, At: "small.yaml:3:3", Dialect: netfilter.Legacy,
		Name:   "pod to cluster IP",
		Packet: "tcp 172.30.0.41:80 from client", Expected: "source masqueraded", Got: "reaches 10.244.1.2:8080",
		Wrong: "the source is not masqueraded",
		Ways:  []scenarios.Way{way}, Names: []scenarios.Named{{Address: "172.30.0.41:80", Name: "service default/web:http"}},
	}
	held := check
	held.Name, held.Passed, held.Wrong = "the same, as it is", true, ""
	nft := check
	nft.Dialect = netfilter.NFT
	return &scenarios.Result{Name: "small", File: "small.yaml", Backend: "sim", Checks: []scenarios.Check{check, held, nft}}
}

// searched is a search that has found one thing.
func searched(replayed *scenarios.Result) *Search {
	return &Search{Seed: 7, Shard: 1, Shards: 1, Cases: 40, Findings: []Finding{{
		Clause: "cluster-ip-reaches-endpoints", Law: "S1", Text: "A cluster IP leads to ready endpoints.", Where: "after step 1, on node1",
		Again: "chainwalk fuzz --seed 7 --case 12", Want: "10.244.1.2:8080", Got: "rejected", File: "name: small\nsteps:\n- connect: {}\n",
		Replayed: replayed,
	}}}
}

func TestPagesAreWellFormed(t *testing.T) {
	void := []string{"meta", "input", "br"}
	for name, text := range pages(t) {
		var open []string
		tokens := html.NewTokenizer(strings.NewReader(text))
		for kind := tokens.Next(); kind != html.ErrorToken; kind = tokens.Next() {
			tag, _ := tokens.TagName()
			switch kind {
			case html.StartTagToken:
				if !slices.Contains(void, string(tag)) {
					open = append(open, string(tag))
				}
			case html.EndTagToken:
				require.NotEmpty(t, open, "%s: </%s> ends nothing", name, tag)
				require.Equal(t, open[len(open)-1], string(tag), "%s: an element ends within another", name)
				open = open[:len(open)-1]
			}
		}
		assert.ErrorIs(t, tokens.Err(), io.EOF, name)
		assert.Empty(t, open, name)
	}
}

// elements are the elements of a page, in its order.
func elements(t *testing.T, text string) []*html.Node {
	t.Helper()
	root, err := html.Parse(strings.NewReader(text))
	require.NoError(t, err)
	var out []*html.Node
	for n := range root.Descendants() {
		if n.Type == html.ElementNode {
			out = append(out, n)
		}
	}
	return out
}

func attribute(n *html.Node, name string) string {
	for _, a := range n.Attr {
		if a.Key == name {
			return a.Val
		}
	}
	return ""
}

// TestWhatOthersWroteIsText: names and rules make no element and no attribute, whatever they say.
func TestWhatOthersWroteIsText(t *testing.T) {
	plain := filled(t, "word")
	for name, text := range filled(t, evil) {
		assert.Equal(t, shapes(elements(t, plain[name])), shapes(elements(t, text)), name)
		assert.True(t, strings.Contains(text, "&lt;script&gt;alert(1)&lt;/script&gt;"), name)
	}
}

// shapes are elements by their names and those of their attributes.
func shapes(nodes []*html.Node) []string {
	var out []string
	for _, n := range nodes {
		shape := n.Data
		for _, a := range n.Attr {
			shape += " " + a.Key
		}
		out = append(out, shape)
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// TestPagesLoadNothing looks at everything that makes a browser load.
func TestPagesLoadNothing(t *testing.T) {
	for name, text := range filled(t, evil) {
		for _, n := range elements(t, text) {
			for _, key := range []string{"src", "srcset", "data", "action", "poster", "background", "xlink:href"} {
				assert.Empty(t, attribute(n, key), "%s: %s of <%s>", name, key, n.Data)
			}
			if href := attribute(n, "href"); href != "" {
				assert.True(t, strings.HasPrefix(href, "#"), "%s: a link to %s", name, href)
			}
			assert.NotContains(t, []string{"link", "iframe", "object", "embed", "base", "img"}, n.Data, name)
			switch n.Data {
			case "style":
				for _, loads := range []string{"@import", "url(", "src:", "image-set("} {
					assert.NotContains(t, n.FirstChild.Data, loads, name)
				}
			case "script":
				sum := sha256.Sum256([]byte(n.FirstChild.Data))
				policy := "script-src 'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) + "'"
				metas := slices.DeleteFunc(elements(t, text),
					func(m *html.Node) bool { return attribute(m, "http-equiv") != "Content-Security-Policy" })
				require.Len(t, metas, 1)
				assert.Contains(t, attribute(metas[0], "content"), policy)
				assert.Contains(t, attribute(metas[0], "content"), "default-src 'none'")
			}
		}
	}
}

func TestLinksLeadToOnePlace(t *testing.T) {
	for name, text := range pages(t) {
		places := map[string]int{}
		for _, n := range elements(t, text) {
			if id := attribute(n, "id"); id != "" {
				places[id]++
			}
		}
		links := 0
		for _, n := range elements(t, text) {
			if href := attribute(n, "href"); href != "" {
				links++
				assert.Equal(t, 1, places[href[1:]], "%s: places of %s", name, href)
			}
		}
		for id, n := range places {
			assert.Equal(t, 1, n, "%s: elements of the id %s", name, id)
		}
		assert.Greater(t, links, 2, name)
	}
}

// textOf is what a reader without a script reads of a node.
func textOf(n *html.Node) string {
	var b strings.Builder
	for d := range n.Descendants() {
		if d.Type == html.TextNode && d.Parent.Data != "style" && d.Parent.Data != "script" {
			b.WriteString(d.Data)
			if d.Parent.Data != "span" && d.Parent.Data != "code" {
				b.WriteByte(' ')
			}
		}
	}
	return b.String()
}

func pageText(t *testing.T, text string) string {
	t.Helper()
	root, err := html.Parse(strings.NewReader(text))
	require.NoError(t, err)
	return textOf(root)
}

// says holds a text to contain another one, and does not print all of it if it does not.
func says(t *testing.T, text, want string, why ...any) {
	t.Helper()
	if !strings.Contains(text, want) {
		assert.Fail(t, fmt.Sprintf("%q is not in the page", want), why...)
	}
}

func TestTracePageTellsTheWholeStory(t *testing.T) {
	s := threeEndpoints()
	text := tracePage(t, s)
	seen := pageText(t, text)
	says(t, seen, s.Sentence)
	says(t, seen, s.Packet)
	assert.Equal(t, 1, strings.Count(text, `<div class="card many">`), "outcomes that are alike are one card")
	says(t, seen, "3 endpoints, 1/3 each")
	says(t, text, `style="width:100%"`)
	assert.Equal(t, 3, strings.Count(text, `<a href="#wo1"`)+strings.Count(text, `<a href="#wo2"`)+strings.Count(text, `<a href="#wo3"`),
		"each of them can be chosen")
	for i := range s.Outcomes {
		o := &s.Outcomes[i]
		says(t, seen, o.Sentence)
		for _, p := range o.Passages {
			says(t, seen, p.Result)
			for _, l := range p.Lines {
				says(t, seen, l.At)
				says(t, seen, l.Object)
				if l.After == nil {
					says(t, seen, l.Text)
				}
				says(t, seen, l.Failed)
			}
		}
		jump := fmt.Sprintf(`href="#wo%dp1l%d"`, i+1, o.Decided.Line+1)
		assert.True(t, strings.Contains(text, jump), "a jump to the rule that decided: %s", jump)
	}
	for _, want := range []string{
		"10.96.125.22:80", "10.244.1.2:8080", "pod shop/web-1", "service shop/web:http", "failed: -m tcp --dport 443",
		"10.244.1.9:8080 (pod shop/web-4)", "not ready",
	} {
		says(t, seen, want)
	}
	for _, n := range elements(t, text) {
		assert.False(t, slices.ContainsFunc(n.Attr, func(a html.Attribute) bool { return a.Key == "hidden" }),
			"nothing is hidden from those without a script")
	}
}

// TestRulesThatNearlyMatchedAreToldFromOthers: of a Service's other port the address matched.
func TestRulesThatNearlyMatchedAreToldFromOthers(t *testing.T) {
	says(t, pageText(t, tracePage(t, threeEndpoints())), "2 rules did not match, 1 nearly")
}

func TestManyOutcomesAreNamedAndTheFirstOnesShown(t *testing.T) {
	s := threeEndpoints()
	one := s.Outcomes[0]
	s.Outcomes = nil
	for i := range 1000 {
		one.Probability, one.Sentence = 0.001, fmt.Sprintf("to endpoint %d", i)
		s.Outcomes = append(s.Outcomes, one)
	}
	text := tracePage(t, s)
	assert.Less(t, len(text), 700_000)
	seen := pageText(t, text)
	says(t, seen, fmt.Sprintf("%d more outcomes, without their ways", 1000-page.FullOutcomes))
	says(t, seen, "to endpoint 999")
}

func TestManyRulesThatDidNotMatchAreCounted(t *testing.T) {
	s := threeEndpoints()
	p := &s.Outcomes[0].Passages[0]
	miss := p.Lines[3]
	for range 30_000 {
		p.Lines = slices.Insert(p.Lines, 4, miss)[:len(p.Lines)+1]
		if len(p.Lines) > 2000 {
			break
		}
	}
	s.Outcomes[0].Decided = nil
	text := tracePage(t, s)
	assert.Less(t, len(text), 100_000)
	says(t, pageText(t, text), "more that are not in this page")
	says(t, pageText(t, text), "failed: -m tcp --dport 443", "what nearly matched stays")
}

func TestRunPage(t *testing.T) {
	text := pages(t)["run"]
	seen := pageText(t, text)
	for _, want := range []string{
		"1 of 1 scenario failed", "What failed", "pod to cluster IP", "iptables-legacy and -nft", "expected", "source masqueraded", "got",
		"reaches 10.244.1.2:8080",
		"the source is not masqueraded", "Not run: needs a kernel", "name: small", "tcp 172.30.0.41:80 from client", "KUBE-SEP-A",
		"the same, as it is",
		"service default/web:http",
	} {
		says(t, seen, want)
	}
	assert.True(t, strings.Contains(text, `<mark id="r1y3">- connect: {}`), "the line of the scenario's file that failed")
	assert.True(t, strings.Contains(text, `href="#r1y3"`))
}

// TestPageSaysWhatWasNotRecorded: of a way through a real kernel, of which the rules alone are known, and not of one that was walked.
func TestPageSaysWhatWasNotRecorded(t *testing.T) {
	c := &failedResult().Checks[0]
	assert.Equal(t, []string{notRecorded}, teller{}.check(c, []int{0}).Notes)
	for _, hops := range [][]scenarios.Hop{c.Ways[0].Forward, c.Ways[0].Back} {
		for i := range hops {
			hops[i].Walk = &packetsim.Outcome{}
		}
	}
	assert.Empty(t, teller{}.check(c, []int{0}).Notes)
}

// TestRunPageStaysSmall: ways and files beyond the room of a page are counted.
func TestRunPageStaysSmall(t *testing.T) {
	many := failedResult()
	for i := range many.Checks {
		many.Checks[i].Ways = slices.Repeat(many.Checks[i].Ways, 10)
	}
	results := slices.Repeat([]*scenarios.Result{many}, 250)
	source := strings.Repeat("#", 10_000)
	text := written(t, func(w io.Writer) error {
		return Run(w, results, RunOptions{Ways: scenarios.WaysAll, Source: func(*scenarios.Result) string { return source }})
	})
	assert.Less(t, len(text), 12_000_000)
	seen := pageText(t, text)
	says(t, seen, "are not in this page, which would be too big to be opened")
	says(t, seen, "The scenario's file is not in this page")
}

func TestFuzzPage(t *testing.T) {
	seen := pageText(t, pages(t)["fuzz"])
	for _, want := range []string{
		"1 finding against the specification", "cluster-ip-reaches-endpoints", "A cluster IP leads to ready endpoints.", "after step 1, on node1",
		"chainwalk fuzz --seed 7 --case 12", "10.244.1.2:8080", "rejected", "name: small", "nat:KUBE-SEP-A:rule:1",
	} {
		says(t, seen, want)
	}
	none := written(t, func(w io.Writer) error { return Fuzz(w, &Search{Cases: 3}) })
	says(t, pageText(t, none), "no clause of the specification was broken")
}

// TestPagesPutTogetherWhatLooksLikeOne: failures by what decided, and clauses that the same mistake breaks.
func TestPagesPutTogetherWhatLooksLikeOne(t *testing.T) {
	broken := func(file string) *scenarios.Result {
		return &scenarios.Result{Name: file, File: file,
			Checks: []scenarios.Check{{Name: "c", Wrong: "w", Ways: []scenarios.Way{{Rule: "-A KUBE-FW -j DROP"}}}}}
	}
	var text strings.Builder
	require.NoError(t, Run(&text, []*scenarios.Result{broken("a.yaml"), broken("b.yaml")}, RunOptions{}))
	says(t, pageText(t, text.String()), "2 files: another answer to: c, decided by -A KUBE-FW -j DROP")
	text.Reset()
	require.NoError(t, Run(&text, []*scenarios.Result{broken("a.yaml")}, RunOptions{}))
	assert.NotContains(t, pageText(t, text.String()), "By what decided", "one failure needs no list")

	text.Reset()
	require.NoError(t,
		Fuzz(&text,
			&Search{Findings: []Finding{{Clause: "hairpin", Again: "fuzz --case 1", Also: []Again{{"client-address", "fuzz --case 7"}}}}}))
	says(t, pageText(t, text.String()), "also breaks client-address:")
	says(t, pageText(t, text.String()), "fuzz --case 7")
}
