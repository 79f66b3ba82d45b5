package nfacct

import (
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"

	"github.com/chainwalk/chainwalk/internal/libc"
	"k8s.io/utils/clock"
)

// version is the version of nfacct that is imitated.
const version = "1.0.2"

// head is the first line of help and version.
const head = "nfacct v" + version + ": utility for the Netfilter extended accounting infrastructure\n"

const usage = "Usage: nfacct command [parameters]..."

const disclaimer = `Copyright (C) 2011 Pablo Neira Ayuso <pablo@netfilter.org>
Copyright (C) 2011 Intra2net AG <http://www.intra2net.com>
This program comes with ABSOLUTELY NO WARRANTY.
This is free software, and you are welcome to redistribute it under certain 
conditions; see LICENSE file distributed in this package for details.
`

const helpText = `
Commands:
  list [reset]		List the accounting object table (and reset)
  add object-name	Add new accounting object to table
  delete object-name	Delete existing accounting object
  get object-name	Get existing accounting object
  flush			Flush accounting object table
  restore		Restore accounting object table reading 'list' output from stdin
  monitor		Listens for quota attainment notifications
  version		Display version and disclaimer
  help			Display this help message
`

// commands are the commands' names; any beginning of one will do, and the first that fits is meant.
var commands = [...]string{"list", "add", "delete", "get", "flush", "version", "help", "restore", "monitor"}

// Tool is nfacct with what it works on.
type Tool struct {
	Objects *Table
	// Used are the objects that rules name, which are not deleted. Rules is held meanwhile, so that no rule comes to name one.
	Used  func() map[string]bool
	Rules sync.Locker
	Clock clock.PassiveClock // of "list json"

	Stdin          io.Reader
	Stdout, Stderr io.Writer
}

// statusFailed is the exit status of whatever fails.
const statusFailed = 1

// Run runs nfacct with the words behind its name and returns its exit status.
func (t *Tool) Run(words []string) int {
	if len(words) == 0 {
		fmt.Fprintln(t.Stderr, usage)
		return statusFailed
	}
	args := words[1:]
	switch word := findWord(words[0], commands[:]); word {
	case "list":
		return t.list(args)
	case "flush":
		if len(args) > 0 {
			return t.fail("too many arguments")
		}
		return t.flush()
	case "version":
		fmt.Fprint(t.Stdout, head, disclaimer)
		return 0
	case "help":
		fmt.Fprint(t.Stdout, head, usage, "\n", helpText)
		return 0
	case "restore":
		return t.restore()
	case "monitor":
		return t.fail("not supported: " + word)
	case "add", "get", "delete":
		if len(args) == 0 {
			return t.fail("missing object name")
		}
		return t.object(word, args)
	}
	status := t.fail("Unknown command: " + words[0])
	fmt.Fprintln(t.Stderr, usage)
	return status
}

// findWord is the first of the words that begins with what was given, "" if there is none.
func findWord(given string, words []string) string {
	for _, word := range words {
		if strings.HasPrefix(word, given) {
			return word
		}
	}
	return ""
}

func (t *Tool) fail(text string) int {
	fmt.Fprintf(t.Stderr, "nfacct v%s: %s\n", version, text)
	return statusFailed
}

// listFlags are the words behind list and get.
type listFlags struct {
	reset  bool
	format string // xml, json or "" for text
}

// parseFlags reads the words behind list (once: each but once, and one format) and get. ok is false if one is unknown; the
// error is printed.
func (t *Tool) parseFlags(args []string, once bool) (f listFlags, ok bool) {
	for _, given := range args {
		word := findWord(given, []string{"reset", "xml", "json"})
		twice := word == "reset" && f.reset || word != "reset" && f.format != ""
		switch {
		case word == "":
			t.fail("unknown argument")
			return f, false
		case once && twice:
			fmt.Fprintf(t.Stderr, "Error: duplicate \"%s\" or collision with another option \n", given)
			return f, false
		case word == "reset":
			f.reset = true
		default:
			f.format = word
		}
	}
	return f, true
}

func (t *Tool) list(args []string) int {
	flags, ok := t.parseFlags(args, true)
	if !ok {
		return statusFailed
	}
	t.print(t.Objects.List(), flags)
	return 0
}

func (t *Tool) print(list []Object, f listFlags) {
	if len(list) == 0 {
		return
	}
	switch f.format {
	case "xml":
		fmt.Fprint(t.Stdout, "<?xml version=\"1.0\" encoding=\"utf-8\"?>\n<nfacct>\n")
		defer fmt.Fprint(t.Stdout, "</nfacct>\n")
	case "json":
		fmt.Fprintf(t.Stdout, "{ \"timestamp\" : %d, \n  \"nfacct_counters\" : [\n", t.Clock.Now().Unix())
		defer fmt.Fprint(t.Stdout, "\n] }\n")
	}
	for i, o := range list {
		switch f.format {
		case "xml":
			fmt.Fprintf(t.Stdout, "<obj><name>%s</name><pkts>%020d</pkts><bytes>%020d</bytes></obj>\n", o.Name, o.Packets, o.Bytes)
		case "json":
			if i > 0 {
				fmt.Fprint(t.Stdout, ",\n")
			}
			fmt.Fprint(t.Stdout, o.json())
		default:
			fmt.Fprint(t.Stdout, o.line())
		}
		if f.reset {
			t.Objects.reset(o.Name)
		}
	}
}

// json is the object as "list json" prints it, which is not JSON where there is a quota or a quote in the name.
func (o Object) json() string {
	text := fmt.Sprintf("  { \"pkts\" : %d, \"bytes\" : %d, ", o.Packets, o.Bytes)
	if o.Mode != noQuota {
		over := 0
		if o.Over {
			over = 1
		}
		text += fmt.Sprintf("\"quota\" : %d, \"mode\" = \"%s\", \"overquota\" = %d, ", o.Quota, o.Mode, over)
	}
	return text + fmt.Sprintf("\"name\" : \"%s\" }", o.Name)
}

// add makes the object that the words of add tell.
func (t *Tool) add(name string, args []string) int {
	o := Object{Name: name}
	switch {
	case len(args) == 0:
	case len(args) == 1:
		return t.fail("missing quota value")
	case len(args) > 2:
		return t.fail("too many arguments")
	case args[0] == byteQuota || args[0] == packetQuota:
		o.Mode = args[0]
	default:
		return t.fail("argument must \"byte\" or \"packet\"")
	}
	if o.Mode != noQuota {
		n, ok := libc.ScanUnsigned([]byte(args[1]))
		if !ok {
			return t.fail("error reading quota")
		}
		o.Quota = n
	}
	if err := t.Objects.AddObject(o); errors.Is(err, errExists) {
		return t.fail("error: Device or resource busy")
	} else if err != nil {
		return t.fail("error: Invalid argument")
	}
	return 0
}

func (t *Tool) object(word string, args []string) int {
	name := args[0][:min(len(args[0]), MaxName)]
	switch word {
	case "add":
		return t.add(name, args[1:])
	case "get":
		flags, ok := t.parseFlags(args[1:], false)
		if !ok {
			return statusFailed
		}
		o, ok := t.Objects.Get(name)
		if !ok {
			return t.fail("error: No such file or directory")
		}
		t.print([]Object{o}, flags)
		return 0
	}
	if len(args) > 1 {
		return t.fail("too many arguments")
	}
	t.Rules.Lock()
	defer t.Rules.Unlock()
	if t.Used()[name] {
		return t.fail("error: Device or resource busy")
	}
	if err := t.Objects.remove(name); err != nil {
		return t.fail("error: No such file or directory")
	}
	return 0
}

// flush removes the objects that no rule names.
func (t *Tool) flush() int {
	t.Rules.Lock()
	defer t.Rules.Unlock()
	used := t.Used()
	for _, o := range t.Objects.List() {
		if !used[o.Name] {
			// Nobody else deletes while the lock is held.
			_ = t.Objects.remove(o.Name)
		}
	}
	return 0
}
