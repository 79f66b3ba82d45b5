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
