package ipset

import (
	"fmt"
	"slices"
	"strings"
)

// command is a command of ipset.
type command uint8

const (
	cmdNone command = iota
	cmdCreate
	cmdAdd
	cmdDel
	cmdTest
	cmdDestroy
	cmdList
	cmdSave
	cmdRestore
	cmdFlush
	cmdRename
	cmdSwap
	cmdHelp
	cmdVersion
	cmdQuit
)

// commandWords are the names of a command, of which the beginning of one will do, and how many words it needs.
type commandWords struct {
	names []string
	needs int
	takes int
}

// commands are the words of each command; the first that fits is meant.
var commands = [...]commandWords{
	cmdCreate:  {[]string{"create", "new", "-N"}, 2, 2},
	cmdAdd:     {[]string{"add", "-A"}, 2, 2},
	cmdDel:     {[]string{"del", "-D"}, 2, 2},
	cmdTest:    {[]string{"test", "-T"}, 2, 2},
	cmdDestroy: {[]string{"destroy", "x", "-X"}, 0, 1},
	cmdList:    {[]string{"list", "-L"}, 0, 1},
	cmdSave:    {[]string{"save", "-S"}, 0, 1},
	cmdRestore: {[]string{"restore", "-R"}, 0, 0},
	cmdFlush:   {[]string{"flush", "-F"}, 0, 1},
	cmdRename:  {[]string{"rename", "e", "-E"}, 2, 2},
	cmdSwap:    {[]string{"swap", "w", "-W"}, 2, 2},
	cmdHelp:    {[]string{"help", "-h", "-H"}, 0, 1},
	cmdVersion: {[]string{"version", "-v", "-V"}, 0, 0},
	cmdQuit:    {[]string{"quit"}, 0, 0},
}

// word is the name of a command.
func (c command) word() string { return commands[c].names[0] }

// changes says that the command changes the elements of a set.
func (c command) changes() bool { return c == cmdAdd || c == cmdDel }

// findCommand is the command that a word is for, cmdNone if there is none. Two dashes before it do not matter.
func findCommand(word string) command {
	bare := strings.TrimPrefix(word, "--")
	if bare == "" || word == "-" {
		return cmdNone
	}
	for c := range commands {
		if slices.ContainsFunc(commands[c].names, func(name string) bool { return strings.HasPrefix(name, bare) }) {
			return command(c)
		}
	}
	return cmdNone
}

// maxArguments is the number of words of a command line, that of the program among them.
const maxArguments = 32

// execute carries one command line out. An error is in the report of the shell then, or ends the tool.
func (r *run) execute(args []string) error {
	r.line = r.reached
	c, err := r.parse(args)
	switch {
	case isExit(err):
		return err
	case c == cmdRestore && err == nil:
		return r.restore()
	case err == nil && c != cmdNone:
		err = r.send(c)
	}
	if err != nil || r.report.severity > sevNone {
		if settled := r.settle(); isExit(settled) {
			return settled
		}
	}
	return nil
}

// parse reads a command line into the message. What is done at once is cmdNone.
func (r *run) parse(args []string) (command, error) {
	if len(args)+1 > maxArguments {
		return cmdNone, r.usage("Line is too long to parse.")
	}
	words, err := r.options(args)
	if err != nil {
		return cmdNone, err
	}
	c := cmdNone
	if len(words) > 0 {
		c = findCommand(words[0])
	}
	if c == cmdNone {
		return cmdNone, r.noCommand(words)
	}
	words = words[1:]
	switch {
	case r.line != 0 && (c == cmdRestore || c == cmdVersion || c == cmdHelp):
		return cmdNone, r.usage("Command `%s' is invalid in restore mode.", c.word())
	case r.shell && c == cmdRestore:
		fmt.Fprintln(r.Stdout, "Restore command is not supported in interactive mode")
		return cmdNone, nil
	case len(words) == 0 && commands[c].needs > 0:
		return cmdNone, r.usage("Missing mandatory argument to command %s", c.word())
	case len(words) < commands[c].needs:
		return cmdNone, r.usage("Missing second mandatory argument to command %s", c.word())
	}
	taken := words[:min(len(words), commands[c].takes)]
	return r.parseCommand(c, taken, words[len(taken):])
}

// parseCommand reads what stands behind a command: the words that it takes, and those behind them.
func (r *run) parseCommand(c command, words, more []string) (command, error) {
	var err error
	switch c {
	case cmdVersion:
		fmt.Fprintf(r.Stdout, "ipset %s, protocol version: %d\n", version, protocol)
		return cmdNone, r.done()
	case cmdHelp:
		return cmdNone, r.help(words)
	case cmdQuit:
		return cmdNone, &exit{}
	case cmdCreate:
		err = r.parseCreate(words[0], words[1], more)
		more = nil
	case cmdAdd, cmdDel, cmdTest:
		err = r.parseChange(c, words[0], words[1], more)
		more = nil
	case cmdRename, cmdSwap:
		if err = r.parser.parseName(optName, words[0]); err == nil {
			err = r.parser.parseName(optName2, words[1])
		}
	case cmdList, cmdSave:
		if r.output.hasFile {
			err = r.output.open()
		}
		fallthrough
	case cmdDestroy, cmdFlush:
		if err == nil && len(words) > 0 {
			err = r.parser.parseName(optName, words[0])
		}
	}
	if err == nil && len(more) > 0 {
		err = r.usage("Unknown argument %s", more[0])
	}
	return c, err
}

// done ends the tool, but not the shell.
func (r *run) done() error {
	if r.shell {
		return nil
	}
	return &exit{}
}

// noCommand is a line without a command: "-" begins the shell.
func (r *run) noCommand(words []string) error {
	switch {
	case r.shell:
		fmt.Fprintln(r.Stdout, "No command specified")
		return nil
	case len(words) == 0:
		return r.usage("No command specified.")
	case words[0] == "-":
		return r.interact()
	}
	return r.usage("No command specified: unknown argument %s", words[0])
}

// environment is an option that may stand anywhere, with its two names, of which a word may have one dash more.
type environment struct {
	letter, name string
	value        bool
	set          func(r *run, word string) error
}

// environments are looked for one after the other in all of the words.
var environments = [...]environment{
	{"-o", "-output", true, func(r *run, mode string) error { return r.output.setMode(mode) }},
	{"-s", "-sorted", false, func(r *run, _ string) error { r.output.sorted = true; return nil }},
	{"-q", "-quiet", false, func(r *run, _ string) error { r.quiet = true; return nil }},
	{"-r", "-resolve", false, func(r *run, _ string) error { return r.bug("not supported: option -r") }},
	{"-!", "-exist", false, func(r *run, _ string) error { r.kernel.exist = true; return nil }},
	{"-n", "-name", false, func(r *run, _ string) error { r.output.namesOnly = true; return nil }},
	{"-t", "-terse", false, func(r *run, _ string) error { r.output.headersOnly = true; return nil }},
	{"-f", "-file", true, func(r *run, name string) error { return r.output.setFile(name) }},
}

// options takes the options that may stand anywhere out of the words.
func (r *run) options(args []string) ([]string, error) {
	words := slices.Clone(args)
	for i := range environments {
		e := &environments[i]
		for at := 0; at < len(words); {
			word := words[at]
			if strings.HasPrefix(word, "--") {
				word = word[1:]
			}
			if word != e.letter && word != e.name {
				at++
				continue
			}
			words = slices.Delete(words, at, at+1)
			value := ""
			if e.value {
				if at == len(words) {
					return nil, r.usage("Missing mandatory argument to option %s", e.letter)
				}
				value = words[at]
			}
			if err := e.set(r, value); err != nil {
				return nil, r.settleNow(err)
			}
			if e.value {
				words = slices.Delete(words, at, at+1)
			}
		}
	}
	return words, nil
}

// settleNow prints what an option has to say.
func (r *run) settleNow(err error) error {
	if isExit(err) {
		return err
	}
	return r.settle()
}
