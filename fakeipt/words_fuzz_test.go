package fakeipt

import (
	"bytes"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/chainwalk/chainwalk/fakeipt/xtables"
)

// FuzzWords cuts lines into words. Words that are written in quotes, as a save program may write them, are the same words again.
func FuzzWords(f *testing.F) {
	f.Add([]byte(`-A X -m comment --comment "a \"b\" c" -j Y`), uint8(1))
	f.Add([]byte("a\"b c\"d \"\" \\\" \"open"), uint8(9))
	f.Add([]byte("\t"+strings.Repeat("x", xtables.MaxWord)+"\n"), uint8(0))
	f.Fuzz(func(t *testing.T, line []byte, column uint8) {
		var words, again xtables.WordList
		if err := words.Add(line, int(column)); err != nil {
			return
		}
		require.Len(t, words.Columns, len(words.Words))
		last := int(column) - 1
		var quoted bytes.Buffer
		for i, word := range words.Words {
			require.Less(t, len(word), xtables.MaxWord)
			require.Greater(t, words.Columns[i], last)
			last = words.Columns[i]
			require.NotContains(t, " \t\n", string(line[last-int(column):last-int(column)+1]), "a word begins where there is no blank")
			quoted.WriteString(` "` + strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(string(word)) + `"`)
		}
		require.LessOrEqual(t, last, int(column)+len(line))
		require.NoError(t, again.Add(quoted.Bytes(), 1))
		require.Equal(t, words.Words, again.Words)
	})
}
