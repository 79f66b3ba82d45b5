package document

import (
	"bytes"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.yaml.in/yaml/v3"
	"pgregory.net/rapid"
)

// TestLinesAreThoseOfTheLibrary compares with the library, which writes the whole document at once.
func TestLinesAreThoseOfTheLibrary(t *testing.T) {
	for name, wide := range map[string]bool{"lists below their keys": false, "lists a level deeper": true} {
		t.Run(name, func(t *testing.T) {
			rapid.Check(t, func(t *rapid.T) {
				root := drawMapping(t, 3)
				root.Style = 0
				l := Lines{wide: wide}
				require.NoError(t, l.Fields(root, 0))
				assert.Equal(t, byTheLibrary(t, root, wide), string(l.Bytes()))

				list := &yaml.Node{Kind: yaml.SequenceNode, Content: []*yaml.Node{drawNode(t, 2), drawNode(t, 2)}}
				want := byTheLibrary(t, &yaml.Node{Kind: yaml.MappingNode, Content: []*yaml.Node{Text("a"), list}}, wide)
				indent := 0
				if wide {
					indent = level
				}
				l = Lines{wide: wide}
				l.Line(0, "a:")
				for _, item := range list.Content {
					require.NoError(t, l.Item(item, indent))
				}
				assert.Equal(t, want, string(l.Bytes()), "one item after the other")
			})
		})
	}
}

func byTheLibrary(t *rapid.T, root *yaml.Node, wide bool) string {
	var out bytes.Buffer
	enc := yaml.NewEncoder(&out)
	enc.SetIndent(2)
	if !wide {
		enc.CompactSeqIndent()
	}
	require.NoError(t, enc.Encode(root))
	return out.String()
}

// TestPlainTextsAreSpelledAsByTheLibrary draws texts that are nearly all spelled without it.
func TestPlainTextsAreSpelledAsByTheLibrary(t *testing.T) {
	plain := 0
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.StringMatching(
			`((tcp|udp|icmp|[a-zA-Z0-9]{1,7}) )?([a-zA-Z0-9./:-]{1,12}|[a-zA-Z]{1,5}|[0-9]{1,3}(\.[0-9]{1,3}){3}(:[0-9]{1,5})?)[.: -]?`).
			Draw(t, "text")
		plain += spelledAsByTheLibrary(t, Text(text))
	})
	assert.Greater(t, plain, 50)
	for _, word := range []string{
		"y", "Y", "n", "N", "yes", "No", "On", "oN", "OFF", "True", "falsE", "null", "Null", "nan", "inf", "a", "O", "yeso", "tru", "",
	} {
		spelledAsByTheLibrary(t, Text(word))
	}
	for _, number := range []string{"0", "8", "80", "080", "65535", "-1", "1e3", "0x10", "9223372036854775808", ""} {
		spelledAsByTheLibrary(t, &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!int", Value: number})
	}
}

// spelledAsByTheLibrary compares what plainly makes of a scalar with what the library does, and says in how many places it knows it.
func spelledAsByTheLibrary(t require.TestingT, scalar *yaml.Node) (known int) {
	for _, at := range []place{behindKey, behindDash, inFlow, asKey} {
		if got, ok := plainly(scalar, at); ok {
			known++
			want, err := (&Lines{}).spell(scalar, at)
			require.NoError(t, err)
			assert.Equal(t, want, got)
		}
	}
	return known
}

// TestTextsOfLinesAreSpelledAsByTheLibrary draws texts that are nearly all spelled without it.
func TestTextsOfLinesAreSpelledAsByTheLibrary(t *testing.T) {
	block := 0
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.StringMatching(`[!-~]([ -~]{0,9}[!-~]?\n{1,2}){1,4}[!-~](\n|\n|\n|\n{0,2})`).Draw(t, "text")
		for _, at := range []place{behindKey, behindDash, inFlow, asKey} {
			if got, ok := literally(Text(text), at); ok {
				block++
				want, err := (&Lines{}).spell(Text(text), at)
				require.NoError(t, err)
				assert.Equal(t, want, got)
			}
		}
	})
	assert.Greater(t, block, 20)
}

func TestLinesOfALongListMayBeWrittenOneByOne(t *testing.T) {
	var whole, single Lines
	list := &yaml.Node{Kind: yaml.SequenceNode}
	single.Line(0, "a:")
	single.Line(2, "b:")
	for _, text := range []string{"x", "- y", strings.Repeat("z\n", 3)} {
		item := &yaml.Node{Kind: yaml.MappingNode, Content: []*yaml.Node{Text("c"), Text(text)}}
		list.Content = append(list.Content, item)
		require.NoError(t, single.Item(item, 2))
	}
	inner := &yaml.Node{Kind: yaml.MappingNode, Content: []*yaml.Node{Text("b"), list}}
	require.NoError(t, whole.Fields(&yaml.Node{Kind: yaml.MappingNode, Content: []*yaml.Node{Text("a"), inner}}, 0))
	assert.Equal(t, string(whole.Bytes()), string(single.Bytes()))
	assert.Equal(t, "a:\n  b:\n  - c: x\n  - c: '- y'\n  - c: |\n      z\n      z\n      z\n", string(single.Bytes()))
}

func TestLinesRefuseWhatIsNoText(t *testing.T) {
	var l Lines
	bad := &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!str", Value: "\xff"}
	for _, root := range [][]*yaml.Node{{bad, Text("a")}, {Text("a"), bad},
		{Text("a"), {Kind: yaml.SequenceNode, Content: []*yaml.Node{bad}}}} {
		require.Error(t, l.Fields(&yaml.Node{Kind: yaml.MappingNode, Content: root}, 0))
	}
}

func drawNode(t *rapid.T, depth int) *yaml.Node {
	kinds := []yaml.Kind{yaml.ScalarNode, yaml.ScalarNode, yaml.SequenceNode, yaml.MappingNode}
	if depth == 0 {
		kinds = kinds[:1]
	}
	switch rapid.SampledFrom(kinds).Draw(t, "kind") {
	case yaml.MappingNode:
		return drawMapping(t, depth-1)
	case yaml.SequenceNode:
		list := &yaml.Node{Kind: yaml.SequenceNode, Tag: "!!seq", Style: drawStyle(t)}
		for range rapid.IntRange(0, 3).Draw(t, "items") {
			list.Content = append(list.Content, drawNode(t, depth-1))
		}
		return list
	}
	return drawScalar(t)
}

// drawMapping has no empty one at the top: the library writes {} for it.
func drawMapping(t *rapid.T, depth int) *yaml.Node {
	mapping := &yaml.Node{Kind: yaml.MappingNode, Tag: "!!map", Style: drawStyle(t)}
	for range rapid.IntRange(1, 3).Draw(t, "fields") {
		mapping.Content = append(mapping.Content, drawScalar(t), drawNode(t, depth))
	}
	return mapping
}

func drawStyle(t *rapid.T) yaml.Style {
	return rapid.SampledFrom([]yaml.Style{0, 0, yaml.FlowStyle}).Draw(t, "style")
}

func drawScalar(t *rapid.T) *yaml.Node {
	pieces := []string{
		"a", "web-0", "10.96.0.1:80", "tcp ", "true", "null", "y", "8", "0x1", ".5", "~", "", " ", "\t", ": ", " #", "- ", "?",
		"{", "]", ",", "'", `"`,
		"\n", "\n\n", "\r", "\u0085", "\u2028", "\x00", "ä", "*x", "&x", "!x", "%", "@", "`", "|", ">", strings.Repeat("long", 40),
	}
	value := strings.Join(rapid.SliceOfN(rapid.SampledFrom(pieces), 0, 4).Draw(t, "value"), "")
	switch rapid.IntRange(0, 5).Draw(t, "tag") {
	case 0:
		return scalarNode("!!int", "8")
	case 1:
		return scalarNode("!!null", "null")
	}
	return Text(value)
}
