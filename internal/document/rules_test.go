package document

import (
	"math"
	"net/netip"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// plain has what YAML's own scalars are about.
type plain struct {
	Text  string            `json:"text,omitempty"`
	Mark  uint32            `json:"mark,omitempty"`
	Flag  bool              `json:"flag,omitempty"`
	Addr  netip.Addr        `json:"addr,omitzero"`
	List  []plain           `json:"list,omitempty"`
	Words map[string]string `json:"words,omitempty"`
	Inner *plain            `json:"inner,omitempty"`
	Least int64             `json:"least,omitempty"`
}

// ours are rules that differ from the zero ones wherever they can.
func ours() *Rules {
	return &Rules{AnyLength: true, UTF16: true, NoAliases: true, YAMLScalars: true, NilEmpty: true, Word: func(p *Problem) string {
		if p.Kind == UnknownField {
			return "no " + p.Name + " among " + strings.Join(p.Known, " ")
		}
		return ""
	}}
}

func TestRulesAllow(t *testing.T) {
	for _, row := range []struct {
		name, in string
		want     plain
	}{
		{"a number where a text belongs", "text: 1.50", plain{Text: "1.50"}},
		{"a truth value where a text belongs", "words: {a: true}", plain{Words: map[string]string{"a": "true"}}},
		{"a number in another base", "mark: 0x4000", plain{Mark: 0x4000}},
		{"nothing in a list and in a mapping", "list: []\nwords: {}", plain{}},
		{"UTF-16", "\xff\xfet\x00e\x00x\x00t\x00:\x00 \x00a\x00", plain{Text: "a"}},
		{"a line of any length", "text: " + strings.Repeat("a", 2<<20), plain{Text: strings.Repeat("a", 2<<20)}},
	} {
		t.Run(row.name, func(t *testing.T) {
			doc, err := ours().ParseOne("in", strings.NewReader(row.in))
			require.NoError(t, err)
			var got plain
			d := ours().NewDecoder("in")
			d.Decode(doc.Node, &got)
			require.NoError(t, d.Err())
			assert.Equal(t, row.want, got)
		})
	}
}

func TestRulesRefuse(t *testing.T) {
	for _, row := range []struct{ name, in, want string }{
		{"no document", "# nothing\n", "in:1:1: the input is empty (want one document)"},
		{"two documents", "text: a\n---\ntext: b\n", "in:2:1: a second document (want one)"},
		{"an anchor", "text: &a b", "in:1:7: text: anchors and aliases are not supported: write the value out"},
		{"an alias for a key", "list: [{&a text: b, *a : c}]", "in:1:21: list[0]: anchors and aliases are not supported: write the value out"},
		{"null where a text belongs", "text: null", "in:1:7: text: want a string, got nothing"},
		{"null where a mapping belongs", "inner: null", "in:1:8: inner: want a mapping, got nothing"},
		{"an address that is empty", `addr: ""`, `in:1:7: addr: want a string, got the string "" (put it in quotes)`},
		{"a number of too many bits", "mark: 0x100000000", "in:1:7: mark: 0x100000000 must be between 0 and 4294967295"},
		{"the words for an unknown field, after its path", "inner: {txet: a}",
			"in:1:9: inner: no txet among text mark flag addr list words inner least"},
	} {
		t.Run(row.name, func(t *testing.T) {
			doc, err := ours().ParseOne("in", strings.NewReader(row.in))
			if err == nil {
				d := ours().NewDecoder("in")
				d.Decode(doc.Node, &plain{})
				err = d.Err()
			}
			require.EqualError(t, err, row.want)
		})
	}
}

func TestWhatIsWrittenIsReadBack(t *testing.T) {
	want := plain{
		Text: "a\nb \u0085\ufeff", Mark: math.MaxUint32, Flag: true, Addr: netip.MustParseAddr("fd00::1"), Least: math.MinInt64,
		List: []plain{{Text: "0x10"}, {Text: " \n"}, {Text: "null"}}, Words: map[string]string{"b": "true", "a": "\t"}, Inner: &plain{Text: "~"},
	}
	for name, write := range map[string]func(any) ([]byte, error){"YAML": YAML, "JSON": JSON} {
		t.Run(name, func(t *testing.T) {
			data, err := write(&want)
			require.NoError(t, err)
			docs, err := Parse("in", strings.NewReader(string(data)))
			require.NoError(t, err, string(data))
			var got plain
			require.NoError(t, Decode(docs[0], &got), string(data))
			assert.Equal(t, want, got)
		})
	}
}

func TestYAMLStringsAreWrittenAndReadBack(t *testing.T) {
	type lines struct {
		Words []string `json:"words" flow:"true"`
		Text  string   `json:"text"`
		More  []plain  `json:"more"`
	}
	rules := Rules{YAMLStrings: true}
	for _, row := range []struct{ text, want string }{
		{"a", "words: [a]\ntext: a\nmore:\n  - text: a\n"},
		{"1:2", "words: [\"1:2\"]\ntext: \"1:2\"\nmore:\n  - text: \"1:2\"\n"},
		{"y", "words: [\"y\"]\ntext: \"y\"\nmore:\n  - text: \"y\"\n"},
		{"\xff\n", "words: [!!binary /wo=]\ntext: !!binary /wo=\nmore:\n  - text: !!binary /wo=\n"},
		{" a\nb\n", "words: [\" a\\nb\\n\"]\ntext: |2\n   a\n  b\nmore:\n  - text: |2\n       a\n      b\n"},
		{"\ta\nb", ""}, {"\n a\n", ""}, {"  \n a", ""}, {" \n", ""}, {"\n", ""}, {"\u0085\n\x01", ""}, {"a\r\nb\r\n", ""}, {"a \n\n\n", ""},
	} {
		want := lines{[]string{row.text}, row.text, []plain{{Text: row.text}}}
		data, err := rules.YAML(&want)
		require.NoError(t, err)
		if row.want != "" {
			assert.Equal(t, row.want, string(data))
		}
		doc, err := rules.ParseOne("in", strings.NewReader(string(data)))
		require.NoError(t, err, string(data))
		var got lines
		d := rules.NewDecoder("in")
		d.Decode(doc.Node, &got)
		require.NoError(t, d.Err(), string(data))
		assert.Equal(t, want, got)
	}
}

func TestBytesThatAreNoTextAreRefused(t *testing.T) {
	_, err := YAML(&plain{Text: "\xff"})
	require.Error(t, err)
	docs, err := Parse("in", strings.NewReader("text: !!binary /wo="))
	require.NoError(t, err)
	assert.EqualError(t, Decode(docs[0], &plain{}), `in:1:7: text: want a string, got the string "/wo=" (put it in quotes)`)
}
