package internal_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/net/html"

	"github.com/chainwalk/chainwalk/internal/dom"
)

func written(t *testing.T, parts ...dom.Part) string {
	t.Helper()
	var b strings.Builder
	require.NoError(t, dom.Write(&b, parts...))
	return b.String()
}

func TestPartsAreWritten(t *testing.T) {
	for name, c := range map[string]struct {
		part dom.Part
		want string
	}{
		"a tag with classes":     {dom.Element("span.state.good", dom.Text("held")), `<span class="state good">held</span>`},
		"classes that are added": {dom.Element("b.a", dom.Class("b", "", "c"), dom.ID("x")), `<b class="a b c" id="x"></b>`},
		"no class":               {dom.Element("b", dom.Class("")), `<b></b>`},
		"an element of no end":   {dom.Element("input", dom.Attribute("type", "search")), `<input type="search"/>`},
		"a block begins a line":  {dom.Element("span", dom.Element("p", dom.Text("a")), dom.Element("p")), "<span>\n<p>a</p>\n<p></p></span>"},
		"a link":                 {dom.Element("a", dom.Link("main")), `<a href="#main"></a>`},
		"what is not so":         {dom.Parts(dom.If(false, dom.Text("x")), nil, dom.If(true, dom.Text("a"), dom.Text("b"))), "ab"},
		"each of a list": {dom.Each([]string{"a", "b"}, func(s *string) dom.Part { return dom.Element("i", dom.Text(*s)) }),
			"<i>a</i><i>b</i>"},
		"none of each": {dom.Each([]string{"a"}, func(*string) dom.Part { return nil }), ""},
		"joined":       {dom.Joined([]string{"a", "b", "c"}), "a, b, c"},
		"attributes of a text": {dom.Element("b", dom.Label("a"), dom.Data("verdict", "ok"), dom.Pressed(true)),
			`<b aria-label="a" data-verdict="ok" aria-pressed="true"></b>`},
		"a style": {dom.Element("b", dom.Style(dom.Declare("grid-column:%d/%d", 1, 2).And(";color:red"))),
			`<b style="grid-column:1/2;color:red"></b>`},
		"a style of a share":      {dom.Element("b", dom.Style(dom.Declare("width:%.4g%%", 100.0/3))), `<b style="width:33.33%"></b>`},
		"a script":                {dom.Element("i", dom.Element("script", dom.Source("a && b < c"))), "<i>\n<script>a && b < c</script></i>"},
		"a script that would end": {dom.Element("i", dom.Element("script", dom.Source("'</script>'"))), "<i>\n<script></script></i>"},
	} {
		assert.Equal(t, c.want, written(t, c.part), name)
	}
}

func TestDOMDocument(t *testing.T) {
	var b strings.Builder
	require.NoError(t, dom.WriteDocument(&b, dom.Element("html", dom.Element("body", dom.Text("x")))))
	assert.Equal(t, "<!DOCTYPE html>\n<html>\n<body>x</body></html>", b.String())
}

// FuzzTextsStayTexts puts a text wherever one can be: whoever reads the page again finds these elements, these attributes and this text.
func FuzzTextsStayTexts(f *testing.F) {
	for _, text := range []string{
		`</p><script>alert(1)</script>`, `" onload="x`, `' x='`, "javascript:alert(1)", "&lt;b&gt;", "&amp", "<!--", "]]>", "\n\r\t",
		"</title><img src=x>",
	} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		if strings.Contains(text, "\x00") || strings.ToValidUTF8(text, "") != text {
			t.Skip("a reader of HTML puts something else in their place")
		}
		page := written(t, dom.Element("html", dom.Element("head"), dom.Element("body",
			dom.Element("a", dom.Link(text), dom.ID(text), dom.Class(text), dom.Label(text), dom.Data("d", text), dom.Text(text)))))
		root, err := html.Parse(strings.NewReader(page))
		require.NoError(t, err)
		var tags []string
		for n := range root.Descendants() {
			if n.Type == html.CommentNode {
				t.Fatalf("a comment: %q", n.Data)
			}
			if n.Type != html.ElementNode {
				continue
			}
			if tags = append(tags, n.Data); n.Data != "a" {
				assert.Empty(t, n.Attr)
				continue
			}
			for _, a := range n.Attr {
				want := text
				if a.Key == "href" {
					want = "#" + text
				}
				assert.Equal(t, want, a.Val, a.Key)
			}
			if text != "" {
				require.NotNil(t, n.FirstChild)
				assert.Equal(t, text, n.FirstChild.Data)
				assert.Same(t, n.FirstChild, n.LastChild)
			}
		}
		assert.Equal(t, []string{"html", "head", "body", "a"}, tags)
	})
}
