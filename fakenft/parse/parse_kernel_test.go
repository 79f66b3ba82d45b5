package parse_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/chainwalk/chainwalk/internal/kerneltest"
)

// ofTheParser are what messages of nft's parser have in them.
var ofTheParser = []string{
	"syntax error", "redefinition of symbol", "too many levels", "unknown table option", "unknown chain hook", "unknown datatype",
	"unknown chain type", "unknown identifier", "invalid log level", "invalid ttl option", "burst must be", "unknown raw payload",
	"unknown ip option type", "You can only specify this once", "lacks typeof", "you cannot set chain policy twice", "comment too long",
	"invalid context", "invalid name", "File not found", "Wrong rate format", "wrong rate format", "value too large", "unsupported xtables",
}

// TestKernelToolSaysTheSame breaks texts and compares what nft says of them: its messages begin with ours, and the rest are none of its
// parser.
func TestKernelToolSaysTheSame(t *testing.T) {
	kerneltest.Need(t, "nft")
	space := kerneltest.New(t)
	b := newBreaker(t, 27)
	for range 500 {
		text := b.text()
		if strings.Contains(text, "monitor") {
			continue
		}
		theirs := space.Run([]string{"nft", "-c", "-f", "-"}, text)
		if theirs.Status > 1 {
			continue // it crashed
		}
		ours := said(text)
		require.True(t, strings.HasPrefix(theirs.Stderr, ours), "%s\nwe say\n%s\nnft says\n%s", text, ours, theirs.Stderr)
		rest, _, _ := strings.Cut(strings.TrimPrefix(theirs.Stderr, ours), "\n")
		for _, message := range ofTheParser {
			require.NotContains(t, rest, message, text)
		}
	}
}
