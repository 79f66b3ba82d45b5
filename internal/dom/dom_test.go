package dom

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/net/html"
)

func written(t *testing.T, parts ...Part) string {
	t.Helper()
	var b strings.Builder
	require.NoError(t, Write(&b, parts...))
	return b.String()
}

func TestPartsAreWritten(t *testing.T) {
	for name, c := range map[string]struct {
		part Part
		want string
	}{
		"a tag with classes":     {Element("span.state.good", Text("held")), `<span class="state good">held</span>`},
		"classes that are added": {Element("b.a", Class("b", "", "c"), ID("x")), `<b class="a b c" id="x"></b>`},
		"no class":               {Element("b", Class("")), `<b></b>`},
		"an element of no end":   {Element("input", Attribute("type", "search")), `<input type="search"/>`},
		"a block begins a line":  {Element("span", Element("p", Text("a")), Element("p")), "<span>\n<p>a</p>\n<p></p></span>"},
		"a link":                 {Element("a", Link("main")), `<a href="#main"></a>`},
		"what is not so":         {Parts(If(false, Text("x")), nil, If(true, Text("a"), Text("b"))), "ab"},
		"each of a list":         {Each([]string{"a", "b"}, func(s *string) Part { return Element("i", Text(*s)) }), "<i>a</i><i>b</i>"},
		"none of each":           {Each([]string{"a"}, func(*string) Part { return nil }), ""},
		"joined":                 {Joined([]string{"a", "b", "c"}), "a, b, c"},
		"attributes of a text": {Element("b", Label("a"), Data("verdict", "ok"), Pressed(true)),
			`<b aria-label="a" data-verdict="ok" aria-pressed="true"></b>`},
		"a style": {Element("b", Style(Declare("grid-column:%d/%d", 1, 2).And(";color:red"))),
			`<b style="grid-column:1/2;color:red"></b>`},
		"a style of a share":      {Element("b", Style(Declare("width:%.4g%%", 100.0/3))), `<b style="width:33.33%"></b>`},
		"a script":                {Element("i", Element("script", Source("a && b < c"))), "<i>\n<script>a && b < c</script></i>"},
		"a script that would end": {Element("i", Element("script", Source("'</script>'"))), "<i>\n<script></script></i>"},
	} {
		assert.Equal(t, c.want, written(t, c.part), name)
	}
}

func TestDocument(t *testing.T) {
	var b strings.Builder
	require.NoError(t, WriteDocument(&b, Element("html", Element("body", Text("x")))))
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
		page := written(t, Element("html", Element("head"), Element("body",
			Element("a", Link(text), ID(text), Class(text), Label(text), Data("d", text), Text(text)))))
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
