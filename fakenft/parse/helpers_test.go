package parse_test

import (
	"math/rand/v2"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/chainwalk/chainwalk/fakenft/parse"
	"github.com/chainwalk/chainwalk/fakenft/syntax"
)

// said is what nft prints of the mistakes in a text.
func said(text string) string {
	_, mistakes := parse.Text(&syntax.Input{Name: "/dev/stdin", Text: text}, parse.Options{})
	var b strings.Builder
	for _, m := range mistakes {
		b.WriteString(syntax.Render(m))
	}
	return b.String()
}

// valid are texts that nft parses.
func valid(t testing.TB) []string {
	t.Helper()
	content, err := os.ReadFile("testdata/valid.txt")
	require.NoError(t, err)
	return strings.Split(string(content), "==\n")[1:]
}

var word = regexp.MustCompile(`"[^"\n]*"|[A-Za-z0-9_./:*-]+|\n|[^\sA-Za-z0-9_]`)

// breaker breaks texts: it takes words away, doubles them, swaps them, puts others in, and cuts.
type breaker struct {
	*rand.Rand
	texts, words []string
}

func newBreaker(t testing.TB, seed uint64) *breaker {
	b := &breaker{rand.New(rand.NewPCG(seed, 27)), valid(t), nil}
	for _, text := range b.texts {
		b.words = append(b.words, word.FindAllString(text, -1)...)
	}
	slices.Sort(b.words)
	b.words = slices.Compact(b.words)
	return b
}

var frequent = strings.Fields("{ } , ; : . - / @ $ ( ) = == & | foo 5 accept ip saddr to set map vmap comment counter a* timeout type " +
	"\"q\"")

func (b *breaker) text() string {
	words := word.FindAllString(b.texts[b.IntN(len(b.texts))], -1)
	if b.IntN(4) == 0 {
		words = append(words, word.FindAllString(b.texts[b.IntN(len(b.texts))], -1)...)
	}
	for range 1 + b.IntN(3) {
		if len(words) == 0 {
			break
		}
		i := b.IntN(len(words))
		switch b.IntN(7) {
		case 0:
			words = slices.Delete(words, i, i+1)
		case 1:
			words = slices.Insert(words, i, words[i])
		case 2:
			j := b.IntN(len(words))
			words[i], words[j] = words[j], words[i]
		case 3:
			words[i] = b.words[b.IntN(len(b.words))]
		case 4:
			words = slices.Insert(words, i, frequent[b.IntN(len(frequent))])
		case 5:
			words = append(words[:i:i], "\n")
		default:
			words[i] = frequent[b.IntN(len(frequent))]
		}
	}
	return strings.ReplaceAll(strings.ReplaceAll(strings.Join(words, " "), "\n ", "\n"), " \n", "\n")
}
