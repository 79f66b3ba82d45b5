package libc

import (
	"fmt"
	"io"
	"strings"
)

// ArgKind says whether an option takes an argument.
type ArgKind uint8

// The kinds of option. The zero value takes none.
const (
	argNone ArgKind = iota
	ArgRequired
	ArgOptional // only behind "=", or in the same word
)

// LongOption is a long option and the letter that it stands for.
type LongOption struct {
	Name   string
	Letter byte
	Arg    ArgKind
}

// Getopt reads a command line as getopt_long of the C library does: letters may stand together, long options may be
// cut short as long as they are clear, words that are no options are put aside, and "--" ends the options.
type Getopt struct {
	// Program is how messages name the program; they go to Stderr.
	Program string
	Stderr  io.Writer
	// Shorts are the letters as getopt takes them: a letter, ":" for an argument, "::" for an optional one.
	Shorts string
	Longs  []LongOption
	// Ordered says that the first word that is no option ends them ("+" in front of the letters of getopt).
	Ordered bool
	// Args are the words that are not read yet, and Rest those that were no options.
	Args, Rest []string

	cluster string // the letters left of the current word
}

// The letters that Next returns for what is no option.
const (
	GetoptEnd byte = 0
	GetoptBad byte = '?' // a message has been printed
)

// InWord says that letters are left in the word that is being read.
func (g *Getopt) InWord() bool { return g.cluster != "" }

// Next returns the next option by its letter, with its argument and whether it was given one.
func (g *Getopt) Next() (letter byte, arg string, given bool) {
	for g.cluster == "" {
		if len(g.Args) == 0 {
			return GetoptEnd, "", false
		}
		word := g.Args[0]
		g.Args = g.Args[1:]
		switch {
		case word == "--":
			g.Rest, g.Args = append(g.Rest, g.Args...), nil
		case strings.HasPrefix(word, "--"):
			return g.long(word[2:])
		case len(word) > 1 && word[0] == '-':
			g.cluster = word[1:]
		case g.Ordered:
			g.Rest, g.Args = append(append(g.Rest, word), g.Args...), nil
		default:
			g.Rest = append(g.Rest, word)
		}
	}
	return g.short()
}

func (g *Getopt) short() (letter byte, arg string, given bool) {
	letter, g.cluster = g.cluster[0], g.cluster[1:]
	i := strings.IndexByte(g.Shorts, letter)
	if i < 0 || letter == ':' {
		return g.bad("invalid option -- '%c'", letter)
	}
	kind := g.Shorts[i+1:]
	if !strings.HasPrefix(kind, ":") {
		return letter, "", false
	}
	arg, g.cluster = g.cluster, ""
	switch {
	case arg != "":
		return letter, arg, true
	case strings.HasPrefix(kind, "::"):
		return letter, "", false
	case len(g.Args) == 0:
		return g.bad("option requires an argument -- '%c'", letter)
	}
	arg, g.Args = g.Args[0], g.Args[1:]
	return letter, arg, true
}

func (g *Getopt) long(word string) (letter byte, arg string, given bool) {
	name, arg, given := strings.Cut(word, "=")
	flag, candidates := g.findLong(name)
	switch {
	case flag == nil && candidates == nil:
		return g.bad("unrecognized option '--%s'", word)
	case flag == nil:
		return g.bad("option '--%s' is ambiguous; possibilities: %s", word, strings.Join(candidates, " "))
	case flag.Arg == argNone && given:
		return g.bad("option '--%s' doesn't allow an argument", flag.Name)
	case flag.Arg == ArgRequired && !given:
		if len(g.Args) == 0 {
			return g.bad("option '--%s' requires an argument", flag.Name)
		}
		arg, g.Args = g.Args[0], g.Args[1:]
		return flag.Letter, arg, true
	}
	return flag.Letter, arg, given
}

// findLong returns the option of that name or beginning; without one, all that it could be.
func (g *Getopt) findLong(name string) (*LongOption, []string) {
	var found *LongOption
	var candidates []string
	ambiguous := false
	for i := range g.Longs {
		f := &g.Longs[i]
		if f.Name == name {
			return f, nil
		}
		if strings.HasPrefix(f.Name, name) {
			ambiguous = ambiguous || found != nil && (found.Letter != f.Letter || found.Arg != f.Arg)
			found = f
			candidates = append(candidates, "'--"+f.Name+"'")
		}
	}
	if ambiguous {
		return nil, candidates
	}
	return found, nil
}

func (g *Getopt) bad(format string, args ...any) (byte, string, bool) {
	fmt.Fprintf(g.Stderr, "%s: %s\n", g.Program, fmt.Sprintf(format, args...))
	return GetoptBad, "", false
}
