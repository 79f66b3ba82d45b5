package fakeipt

import (
	"fmt"
	"io"
	"math"
	"strings"
)

// argKind says whether an option takes an argument.
type argKind uint8

const (
	argNone argKind = iota
	argRequired
	argOptional // only behind "=", or in the same word
)

// longFlag is a long option and the letter that it stands for.
type longFlag struct {
	name   string
	letter byte
	arg    argKind
}

// getopt reads a command line as getopt_long of the C library does: letters may stand together, long options may be
// cut short as long as they are clear, words that are no options are put aside, and "--" ends the options.
type getopt struct {
	program string // as messages name it
	stderr  io.Writer
	shorts  string // as getopt takes it: a letter, ":" for an argument, "::" for an optional one
	longs   []longFlag

	args    []string // not yet read
	cluster string   // the letters left of the current word
	rest    []string // words that are no options
}

// The letters that next returns for what is no option.
const (
	getoptEnd byte = 0
	getoptBad byte = '?' // a message has been printed
)

// next returns the next option.
func (g *getopt) next() (letter byte, arg string, given bool) {
	for g.cluster == "" {
		if len(g.args) == 0 {
			return getoptEnd, "", false
		}
		word := g.args[0]
		g.args = g.args[1:]
		switch {
		case word == "--":
			g.rest, g.args = append(g.rest, g.args...), nil
		case strings.HasPrefix(word, "--"):
			return g.long(word[2:])
		case len(word) > 1 && word[0] == '-':
			g.cluster = word[1:]
		default:
			g.rest = append(g.rest, word)
		}
	}
	return g.short()
}

// optional is the argument of an option that takes the next word too, unless that looks like an option.
func (g *getopt) optional(arg string, given bool) (string, bool) {
	if given || len(g.args) == 0 || strings.HasPrefix(g.args[0], "-") || strings.HasPrefix(g.args[0], "!") {
		return arg, given
	}
	arg, g.args = g.args[0], g.args[1:]
	return arg, true
}

func (g *getopt) short() (letter byte, arg string, given bool) {
	letter, g.cluster = g.cluster[0], g.cluster[1:]
	i := strings.IndexByte(g.shorts, letter)
	if i < 0 || letter == ':' {
		return g.bad("invalid option -- '%c'", letter)
	}
	kind := g.shorts[i+1:]
	if !strings.HasPrefix(kind, ":") {
		return letter, "", false
	}
	arg, g.cluster = g.cluster, ""
	switch {
	case arg != "":
		return letter, arg, true
	case strings.HasPrefix(kind, "::"):
		return letter, "", false
	case len(g.args) == 0:
		return g.bad("option requires an argument -- '%c'", letter)
	}
	arg, g.args = g.args[0], g.args[1:]
	return letter, arg, true
}

func (g *getopt) long(word string) (letter byte, arg string, given bool) {
	name, arg, given := strings.Cut(word, "=")
	flag, candidates := g.findLong(name)
	switch {
	case flag == nil && candidates == nil:
		return g.bad("unrecognized option '--%s'", word)
	case flag == nil:
		return g.bad("option '--%s' is ambiguous; possibilities: %s", word, strings.Join(candidates, " "))
	case flag.arg == argNone && given:
		return g.bad("option '--%s' doesn't allow an argument", flag.name)
	case flag.arg == argRequired && !given:
		if len(g.args) == 0 {
			return g.bad("option '--%s' requires an argument", flag.name)
		}
		arg, g.args = g.args[0], g.args[1:]
		return flag.letter, arg, true
	}
	return flag.letter, arg, given
}

// findLong returns the option of that name or beginning; without one, all that it could be.
func (g *getopt) findLong(name string) (*longFlag, []string) {
	var found *longFlag
	var candidates []string
	ambiguous := false
	for i := range g.longs {
		f := &g.longs[i]
		if f.name == name {
			return f, nil
		}
		if strings.HasPrefix(f.name, name) {
			ambiguous = ambiguous || found != nil && (found.letter != f.letter || found.arg != f.arg)
			found = f
			candidates = append(candidates, "'--"+f.name+"'")
		}
	}
	if ambiguous {
		return nil, candidates
	}
	return found, nil
}

func (g *getopt) bad(format string, args ...any) (byte, string, bool) {
	fmt.Fprintf(g.stderr, "%s: %s\n", g.program, fmt.Sprintf(format, args...))
	return getoptBad, "", false
}

// scanInteger reads the number at the beginning of s as scanf of the C library does with %i; what is too big becomes 0.
func scanInteger(s string) (int, bool) {
	s = strings.TrimLeft(s, " \t\n\v\f\r")
	digits, negative := strings.CutPrefix(s, "-")
	n, rest, ok := cNumber([]byte(digits))
	switch {
	case len(rest) == len(digits):
		return 0, false
	case !ok || n > math.MaxInt32 || negative:
		return 0, true
	}
	return int(n), true
}
