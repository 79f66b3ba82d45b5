package fakenft

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/chainwalk/chainwalk/internal/libc"
)

// The version that is imitated.
const (
	version     = "1.0.6"
	releaseName = "Lester Gooch #5"
)

// invocation is a command line of nft.
type invocation struct {
	name   string // argv[0]
	stderr io.Writer

	file        string
	fileGiven   bool
	interactive bool
	defines     [][2]string
	includes    []string
	check       bool
	optimize    bool
	echo, json  bool
	handles     bool
	stateless   bool
	terse       bool
	services    bool
	accounts    bool
	reverseDNS  bool
	numeric     bool
	priority    bool // -y, -p, -T: numbers for one kind of name
	protocol    bool
	time        bool
	debug       []string
	words       []string // the commands
}

// letters are the options of nft.
const letters = "+hvVcf:D:iI:aostSNunypTejd:"

// longs are the long options in nft's order, which messages show.
var longs = []libc.LongOption{
	{Name: "help", Letter: 'h'}, {Name: "version", Letter: 'v'},
	{Name: "file", Letter: 'f', Arg: libc.ArgRequired}, {Name: "define", Letter: 'D', Arg: libc.ArgRequired},
	{Name: "interactive", Letter: 'i'}, {Name: "includepath", Letter: 'I', Arg: libc.ArgRequired},
	{Name: "check", Letter: 'c'}, {Name: "optimize", Letter: 'o'},
	{Name: "handle", Letter: 'a'}, {Name: "stateless", Letter: 's'}, {Name: "terse", Letter: 't'},
	{Name: "service", Letter: 'S'}, {Name: "reversedns", Letter: 'N'}, {Name: "guid", Letter: 'u'},
	{Name: "numeric", Letter: 'n'}, {Name: "numeric-priority", Letter: 'y'}, {Name: "numeric-protocol", Letter: 'p'},
	{Name: "numeric-time", Letter: 'T'},
	{Name: "echo", Letter: 'e'}, {Name: "json", Letter: 'j'}, {Name: "debug", Letter: 'd', Arg: libc.ArgRequired},
}

// debugLevels are the words of -d.
var debugLevels = []string{"scanner", "parser", "eval", "netlink", "mnl", "proto-ctx", "segtree", "all"}

// readOptions reads a command line. done says that nft ends with a status then.
func readOptions(argv []string, stdout, stderr io.Writer) (o *invocation, status int, done bool) {
	o = &invocation{name: argv[0], stderr: stderr}
	if !optionsFirst(argv, stdout, stderr) {
		return nil, 1, true
	}
	getopt := libc.Getopt{Program: argv[0], Stderr: stderr, Shorts: letters[1:], Longs: longs, Args: argv[1:], Ordered: true}
	for {
		letter, arg, _ := getopt.Next()
		switch letter {
		case libc.GetoptEnd:
			o.words = slices.Concat(getopt.Rest, getopt.Args)
			return o, 0, false
		case libc.GetoptBad:
			return nil, 1, true
		case 'h':
			fmt.Fprint(stdout, usage)
			return nil, 0, true
		case 'v':
			fmt.Fprintf(stdout, "nftables v%s (%s)\n", version, releaseName)
			return nil, 0, true
		case 'V':
			fmt.Fprintf(stdout, "nftables v%s (%s)\n  cli:\t\teditline\n  json:\t\tyes\n  minigmp:\tno\n  libxtables:\tyes\n", version, releaseName)
			return nil, 0, true
		case 'D':
			name, value, given := strings.Cut(arg, "=")
			if !given {
				fmt.Fprintf(stderr, "Failed to define variable '%s'\n", arg)
				return nil, 1, true
			}
			o.defines = append(o.defines, [2]string{name, value})
		case 'd':
			if !o.debugging(arg) {
				return nil, 1, true
			}
		default:
			o.set(letter, arg)
		}
	}
}

// debugging reads the levels of -d.
func (o *invocation) debugging(levels string) bool {
	for level := range strings.SplitSeq(levels, ",") {
		known := false
		for _, name := range debugLevels {
			known = known || name == level
		}
		if !known {
			fmt.Fprintf(o.stderr, "invalid debug parameter `%s'\n", level)
			return false
		}
		o.debug = append(o.debug, level)
	}
	return true
}

// set notes an option.
func (o *invocation) set(letter byte, arg string) {
	switch letter {
	case 'f':
		o.file, o.fileGiven = arg, true
	case 'I':
		o.includes = append(o.includes, arg)
	default:
		*map[byte]*bool{
			'i': &o.interactive, 'c': &o.check, 'o': &o.optimize, 'a': &o.handles, 's': &o.stateless, 't': &o.terse, 'S': &o.services,
			'N': &o.reverseDNS, 'u': &o.accounts, 'n': &o.numeric, 'y': &o.priority, 'p': &o.protocol, 'T': &o.time, 'e': &o.echo, 'j': &o.json,
		}[letter] = true
	}
}

// optionsFirst says whether no option comes behind a word of a command. nft prints the place of the first one on its standard output.
func optionsFirst(argv []string, stdout, stderr io.Writer) bool {
	at, skip, words := 0, false, false
	for i, arg := range argv[1:] {
		at += len(argv[i]) + 1
		switch {
		case strings.HasPrefix(arg, "{"):
			return true
		case skip:
			skip = false
		case !strings.HasPrefix(arg, "-"):
			words = true
		case words:
			fmt.Fprint(stderr, "Error: syntax error, options must be specified before commands\n")
			for _, a := range argv {
				fmt.Fprintf(stderr, "%s ", a)
			}
			fmt.Fprintf(stdout, "\n%4c%*s\n", '^', at-2, "~~")
			return false
		default:
			skip = takesNext(arg)
		}
	}
	return true
}

// takesNext says that nft takes the next word for an option's value, by the option's first letter or its whole name.
func takesNext(option string) bool {
	switch option {
	case "--debug", "--includepath", "--define", "--file":
		return true
	}
	return len(option) > 1 && strings.IndexByte("dIfD", option[1]) >= 0
}
