package parse

import (
	"github.com/chainwalk/chainwalk/fakenft/syntax"
)

// Files is where the files of "include" are.
type Files interface {
	// Glob lists the names that a pattern matches, in order. A name without wildcards is its own match if it is there.
	Glob(pattern string) ([]string, error)
	// Read is what a file holds. Errors of package os make nft's messages.
	Read(name string) ([]byte, error)
}

// Options are what a parser is told beside the text.
type Options struct {
	// Files are for "include"; nil: there are none.
	Files Files
	// IncludePaths are searched for names that begin neither with "/" nor with ".", in order.
	IncludePaths []string
	// Defines are those of the command line: names and values ("-D name=value").
	Defines [][2]string
}

// Text reads commands. If there is a mistake, there are no commands; nft gives up after ten mistakes.
func Text(in *syntax.Input, o Options) ([]*syntax.Command, []*syntax.Mistake) {
	return nil, []*syntax.Mistake{{Text: "chainwalk does not read nftables yet"}}
}
