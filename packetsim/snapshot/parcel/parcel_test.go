package parcel

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// noise is a document that does not get smaller when it is packed, so that it has several lines.
func noise(size int) []byte {
	random := rand.New(rand.NewPCG(1, 2))
	out := make([]byte, size)
	for i := range out {
		out[i] = byte(random.Uint32())
	}
	return out
}

func packed(t *testing.T, id string, document []byte) []string {
	t.Helper()
	text, err := Pack(id, document)
	require.NoError(t, err)
	return strings.SplitAfter(strings.TrimSuffix(string(text), "\n"), "\n")
}

func TestWhatWasPackedIsRead(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		document := rapid.SliceOfN(rapid.Byte(), 0, 3*lineBytes).Draw(t, "document")
		text, err := Pack("a", document)
		require.NoError(t, err)
		var log bytes.Buffer
		for line := range strings.Lines(string(text)) {
			if rapid.Bool().Draw(t, "beside") {
				fmt.Fprintln(&log, rapid.StringMatching(`[ -~]{0,40}`).Draw(t, "words"))
			}
			log.WriteString(line)
		}
		got, _, err := Read("a", &log)
		require.NoError(t, err)
		assert.True(t, bytes.Equal(document, got))
	})
}

func TestReadKeepsWhatStandsBeside(t *testing.T) {
	lines := packed(t, "a", []byte("text"))
	log := "collect: one\n" + lines[0] + "collect: two\r\n" + lines[1] + lines[2] + "\nbehind its end\n"
	got, beside, err := Read("a", strings.NewReader(log))
	require.NoError(t, err)
	assert.Equal(t, "text", string(got))
	assert.Equal(t, []string{"collect: one", "collect: two"}, beside)
}

func TestEveryLineIsShorterThanRuntimesCut(t *testing.T) {
	for _, line := range packed(t, strings.Repeat("n", 253), noise(100_000)) {
		assert.Less(t, len(line), 16<<10)
	}
}

func TestReadSaysWhatHasHappenedToALog(t *testing.T) {
	whole := packed(t, "a", noise(5*lineBytes))
	require.Greater(t, len(whole), 6)
	other := packed(t, "b", []byte("another"))
	without := func(i int) []string { return append(append([]string{}, whole[:i]...), whole[i+1:]...) }
	with := func(i int, lines ...string) []string {
		return append(append(append([]string{}, whole[:i]...), lines...), whole[i:]...)
	}
	swapped := append([]string{}, whole...)
	swapped[2], swapped[3] = swapped[3], swapped[2]
	damaged := append([]string{}, whole...)
	damaged[2] = strings.Replace(damaged[2], damaged[2][len(damaged[2])-20:len(damaged[2])-10], "AAAAAAAAAA", 1)
	bomb := append([]string{}, whole...)
	bomb[0] = strings.Replace(bomb[0], fmt.Sprint(5*lineBytes), fmt.Sprint(maxUnpacked+1), 1)
	short := append([]string{}, whole...)
	short[0] = strings.Replace(short[0], fmt.Sprint(5*lineBytes), "17", 1)
	for _, row := range []struct {
		name string
		log  []string
		want error
		says string
	}{
		{"nothing", nil, ErrNone, "no snapshot"},
		{"an error alone", []string{"collect: exec format error\n"}, ErrNone, "no snapshot"},
		{"the beginning was rotated away", whole[3:], ErrCut, "first lines are missing"},
		{"the end is missing", whole[:4], ErrCut, "ends after line 3 of 6"},
		{"the last line is missing", whole[:len(whole)-1], ErrCut, "ends after line 6 of 6"},
		{"a line in the middle is missing", without(3), ErrCut, "line 3 of 6 is missing"},
		{"cut within a line", append(append([]string{}, whole[:3]...), whole[3][:100]), ErrDamaged, "line 3 of 6"},
		{"the last data line is missing, the end is not", without(len(whole) - 2), ErrCut, "ends after line 5 of 6"},
		{"a line twice", with(3, whole[2]), ErrMixed, "line 2 comes a second time"},
		{"two lines in another order", swapped, ErrCut, "line 2 of 6 is missing"},
		{"a line of another parcel", with(3, other[1]), ErrMixed, `"b"`},
		{"a second parcel begins", with(3, whole[0]), ErrMixed, "a second snapshot begins"},
		{"other content", damaged, ErrDamaged, "damaged"},
		{"more bytes than a parcel may have", bomb, ErrDamaged, "at most"},
		{"more bytes than its first line says", short, ErrDamaged, "17 bytes"},
		{"a first line without numbers", []string{mark + " a begin x y z\n"}, ErrDamaged, "first line"},
		{"a line too long", with(2, mark+" a 2 "+strings.Repeat("A", 100<<10)+"\n"), ErrDamaged, "too long"},
	} {
		t.Run(row.name, func(t *testing.T) {
			got, _, err := Read("a", strings.NewReader(strings.Join(row.log, "")))
			require.ErrorIs(t, err, row.want)
			assert.ErrorContains(t, err, row.says)
			assert.Nil(t, got)
		})
	}
}

// broken is a connection that ends with an error.
type broken struct{ from io.Reader }

func (b broken) Read(p []byte) (int, error) {
	n, err := b.from.Read(p)
	if errors.Is(err, io.EOF) {
		err = io.ErrUnexpectedEOF
	}
	return n, err
}

func TestReadOfABrokenConnection(t *testing.T) {
	lines := packed(t, "a", noise(2*lineBytes))
	_, beside, err := Read("a", broken{strings.NewReader("words\n" + lines[0] + lines[1])})
	require.ErrorIs(t, err, ErrCut)
	require.ErrorIs(t, err, io.ErrUnexpectedEOF)
	assert.Equal(t, []string{"words"}, beside)
}

func FuzzRead(f *testing.F) {
	text, err := Pack("a", []byte("a document"))
	require.NoError(f, err)
	f.Add(string(text))
	f.Add("words\n" + mark + " a begin 1 1 00\n" + mark + " a 1 AAAA\n")
	f.Fuzz(func(t *testing.T, log string) {
		document, _, err := Read("a", strings.NewReader(log))
		if err != nil {
			assert.Nil(t, document)
		}
	})
}
