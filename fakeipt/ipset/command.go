package ipset

import (
	"fmt"
	"slices"
	"strings"
)

// command is a command of ipset.
type command struct {
	name, letter string
	args         int // that must be there
	more         bool
	run          func(t *run, w *wordReader) error
}

func commands() []command {
	return []command{
		{"create", "n", 2, true, (*run).create},
		{"add", "a", 2, true, (*run).add},
		{"del", "d", 2, true, (*run).del},
		{"test", "t", 2, true, (*run).test},
		{"destroy", "x", 0, false, (*run).destroy},
		{"list", "l", 0, false, (*run).list},
		{"save", "s", 0, false, (*run).save},
		{"restore", "r", 0, false, (*run).restore},
		{"flush", "f", 0, false, (*run).flush},
		{"rename", "e", 2, false, (*run).rename},
		{"swap", "w", 2, false, (*run).swap},
		{"help", "h", 0, false, (*run).help},
		{"version", "v", 0, false, (*run).version},
	}
}

// matches reports whether a word names the command: its letter or the beginning of its name, both also behind two dashes, or the capital
// letter behind one. The first command that fits is meant.
func (c *command) matches(word string) bool {
	bare := strings.TrimPrefix(word, "--")
	return bare == c.letter || bare != "" && strings.HasPrefix(c.name, bare) || word == "-"+strings.ToUpper(c.letter) ||
		word == "-"+c.letter && (c.letter == "v" || c.letter == "h")
}

// command carries one command line out.
func (t *run) command(args []string) error {
	words, err := t.options(args)
	if err != nil {
		return err
	}
	if len(words) == 0 {
		return usagef("No command specified.")
	}
	if words[0] == "-" {
		return errorf("not supported: typing commands (-): give them to restore")
	}
	commands := commands()
	i := slices.IndexFunc(commands, func(c command) bool { return c.matches(words[0]) })
	if i < 0 {
		return usagef("No command specified: unknown argument %s", words[0])
	}
	c, words := &commands[i], words[1:]
	if len(words) < c.args {
		word := [...]string{"", "second "}[len(words)]
		return usagef("Missing %smandatory argument to command %s", word, c.name)
	}
	if limit := max(c.args, 1); !c.more && len(words) > limit || c.name == "restore" && len(words) > 0 {
		return usagef("Unknown argument %s", words[min(limit, len(words)-1)])
	}
	if t.line > 0 && slices.Contains([]string{"restore", "version", "help"}, c.name) {
		return usagef("Command `%s' is invalid in restore mode.", c.name)
	}
	return c.run(t, &wordReader{words: words})
}

// options takes the options that may stand anywhere out of the words.
func (t *run) options(args []string) ([]string, error) {
	var words []string
	for i := 0; i < len(args); i++ {
		switch option := optionLetter(args[i]); option {
		case "!":
			t.exist = true
		case "q":
			t.quiet = true
		case "s":
			t.sorted = true
		case "n":
			t.namesOnly = true
		case "t":
			t.headersOnly = true
		case "r":
			return nil, errorf("not supported: option -r")
		case "o", "f":
			if i+1 == len(args) {
				return nil, usagef("Missing mandatory argument to option -%s", option)
			}
			if i++; option == "f" {
				t.file = args[i]
			} else if t.output = args[i]; !isOutputMode(t.output) {
				return nil, errorf("Syntax error: unknown output mode '%s'", t.output)
			}
		default:
			words = append(words, args[i])
		}
	}
	return words, nil
}

func isOutputMode(mode string) bool { return slices.Contains([]string{"plain", "save", "xml"}, mode) }

// optionLetters are the letters of the options by their names.
var optionLetters = map[string]string{
	"exist": "!", "quiet": "q", "sorted": "s", "name": "n", "terse": "t", "resolve": "r", "output": "o", "file": "f",
}

// optionLetter is the letter of the option that a word is, "" if it is none.
func optionLetter(word string) string {
	bare := strings.TrimPrefix(strings.TrimPrefix(word, "-"), "-")
	if bare == word {
		return ""
	}
	for name, letter := range optionLetters {
		if bare == letter || bare == name {
			return letter
		}
	}
	return ""
}

func (t *run) version(*wordReader) error {
	fmt.Fprintf(t.Stdout, "ipset %s, protocol version: %d\n", version, protocol)
	return nil
}

// help has words of its own.
func (t *run) help(w *wordReader) error {
	if len(w.words) > 0 {
		return errorf("not supported: help of a type")
	}
	fmt.Fprintf(t.Stdout, "ipset %s\n\nUsage: ipset [options] COMMAND\n\nSee the manual page of ipset.\n", version)
	return nil
}
