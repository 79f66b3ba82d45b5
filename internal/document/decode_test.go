package document

import (
	"errors"
	"net/netip"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// everything has a field of each kind that the decoder knows.
type everything struct {
	Located
	Text     string            `json:"text" enum:"a b"`
	Flag     bool              `json:"flag"`
	Small    int8              `json:"small"`
	Port     uint16            `json:"port"`
	Ratio    float64           `json:"ratio"`
	Bytes    []byte            `json:"bytes"`
	Addr     netip.Addr        `json:"addr"`
	Any      any               `json:"any"`
	Map      map[string]string `json:"map"`
	Numbers  map[int]string    `json:"numbers"`
	Inner    *everything       `json:"inner"`
	Required string            `json:"required" required:"true"`
	Channel  chan int          `json:"channel"`
}

func decodeEverything(t *testing.T, text string) (everything, error) {
	t.Helper()
	docs, err := Parse("in.yaml", strings.NewReader(text))
	require.NoError(t, err)
	require.Len(t, docs, 1)
	assert.Equal(t, "in.yaml:1:1", At(docs[0].file, docs[0].Node).String())
	var v everything
	return v, Decode(docs[0], &v)
}

func TestDecodeKinds(t *testing.T) {
	docs, err := Parse("in.yaml", strings.NewReader(
		"{text: a, flag: true, small: -3, port: 80, ratio: 1.5, bytes: aGk=, addr: 10.0.0.1, any: {x: [1, 2.5, y, true, null]}, "+
			"map: {k: v}, inner: {required: z}, required: x}"))
	require.NoError(t, err)
	var v everything
	require.NoError(t, Decode(docs[0], &v))
	assert.Equal(t, "a", v.Text)
	assert.True(t, v.Flag)
	assert.Equal(t, int8(-3), v.Small)
	assert.Equal(t, uint16(80), v.Port)
	assert.InDelta(t, 1.5, v.Ratio, 0)
	assert.Equal(t, []byte("hi"), v.Bytes)
	assert.Equal(t, netip.MustParseAddr("10.0.0.1"), v.Addr)
	assert.Equal(t, map[string]string{"k": "v"}, v.Map)
	assert.Equal(t, "z", v.Inner.Required)
	assert.Equal(t, 1, v.Inner.Pos.Line)
	assert.Contains(t, v.Any, "x")
}

func TestDecodeRefuses(t *testing.T) {
	for _, row := range []struct{ name, in, want string }{
		{"a word that is none of the field's", "{required: x, text: c}", `in.yaml:1:21: text: unknown word "c" (known: a, b)`},
		{"a missing field", "{text: a}", `in.yaml:1:1: "required" is missing`},
		{"a missing field of a field", "{required: x, inner: {}}", `in.yaml:1:22: inner: "required" is missing`},
		{"a number of too many bits", "{required: x, small: 200}", "small: 200 does not fit into 8 bits"},
		{"a port out of range", "{required: x, port: 65536}", "port: 65536 must be between 0 and 65535"},
		{"a negative port", "{required: x, port: -1}", "port: -1 must be between 0 and 65535"},
		{"an octal port", "{required: x, port: 0777}", "want a whole number in plain decimal digits, got the number 0777"},
		{"a port in words", "{required: x, port: http}", `port: want a whole number in plain decimal digits, got the string "http"`},
		{"a float in words", "{required: x, ratio: much}", `ratio: want a number, got the string "much"`},
		{"text that is no base64", "{required: x, bytes: '?'}", "bytes: want base64 text"},
		{"a mapping for a flag", "{required: x, flag: {}}", "flag: want true or false, got a mapping"},
		{"a flag that is only said to be one", "{required: x, flag: !!bool foo}", "flag: want true or false, got the boolean foo"},
		{"an address that is none", "{required: x, addr: host}", `addr: got the string "host", which is no valid Addr`},
		{"an address that is a list", "{required: x, addr: []}", "addr: want a string, got a list"},
		{"a number that JSON does not have", "{required: x, any: 0x10}", "any: want a number in plain decimal digits, got the number 0x10"},
		{"infinity", "{required: x, any: .inf}", "want a number in plain decimal digits"},
		{"keys that are numbers", "{required: x, numbers: {1: a}}", "keys of type int are not supported"},
		{"a type that no file has", "{required: x, channel: 1}", "values of type chan int are not supported"},
		{"a long value", "{required: x, flag: " + strings.Repeat("y", 100) + "}", strings.Repeat("y", 60) + `..."`},
	} {
		t.Run(row.name, func(t *testing.T) {
			_, err := decodeEverything(t, row.in)
			require.ErrorContains(t, err, row.want)
			var one *Error
			require.True(t, errors.As(err, &one))
			assert.Equal(t, "in.yaml", one.File)
		})
	}
}

func TestGarbageIsNoText(t *testing.T) {
	for _, row := range []struct{ name, in, want string }{
		{"a gzip file", "\x1f\x8b\x08\x00", "in.yaml:1:1: control character U+001F (the input must be UTF-8 text in YAML or JSON)"},
		{"a zero byte", "a: b\nc: \x00", "in.yaml:2:4: control character U+0000"},
		{"Latin-1", "a: b\xe4r", "in.yaml:1:5: byte 0xe4 is not UTF-8"},
		{"UTF-16", "\xff\xfea\x00", "in.yaml:1:1: byte 0xff is not UTF-8"},
		{"a C1 control character", "a: \u0080", "in.yaml:1:4: control character U+0080"},
		{"a tab for an indent", "a:\n\tb: 1", "in.yaml:2:1: not YAML: a tab (lines are indented with blanks: put blanks in its place)"},
		{"a tab behind blanks", "a:\n  \tb: 1", "in.yaml:2:3: not YAML: a tab "},
		{"an unknown alias", "a: *b", "in.yaml: not YAML: unknown anchor 'b' referenced"},
	} {
		t.Run(row.name, func(t *testing.T) {
			_, err := Parse("in.yaml", strings.NewReader(row.in))
			require.ErrorContains(t, err, row.want)
			var one *Error
			require.ErrorAs(t, err, &one)
		})
	}
}

func TestErrorsKeepTheirCauses(t *testing.T) {
	cause := errors.New("cause")
	list := Errors{{Position: Position{File: "a", Line: 1}, Msg: "x", err: cause}, {Position: Position{File: "b"}, Msg: "y"}}
	require.ErrorIs(t, list, cause)
	assert.Equal(t, "a:1: x\nb: y", list.Error())
}

func TestOpenNamesStdin(t *testing.T) {
	r, name, err := Open("-", strings.NewReader("x"))
	require.NoError(t, err)
	require.NoError(t, r.Close())
	assert.Equal(t, "<stdin>", name)
	_, _, err = Open("/does/not/exist.yaml", nil)
	require.EqualError(t, err, "read /does/not/exist.yaml: no such file or directory")
}
