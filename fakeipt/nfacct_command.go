package fakeipt

import (
	"bufio"
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"strings"

	"github.com/chainwalk/chainwalk/fakeipt/internal/libc"
)

// nfacctVersion is the version of nfacct that is imitated.
const nfacctVersion = "1.0.2"

// nfacctHead is the first line of help and version.
const nfacctHead = "nfacct v" + nfacctVersion + ": utility for the Netfilter extended accounting infrastructure\n"

const nfacctUsage = "Usage: nfacct command [parameters]..."

const nfacctDisclaimer = `Copyright (C) 2011 Pablo Neira Ayuso <pablo@netfilter.org>
Copyright (C) 2011 Intra2net AG <http://www.intra2net.com>
This program comes with ABSOLUTELY NO WARRANTY.
This is free software, and you are welcome to redistribute it under certain 
conditions; see LICENSE file distributed in this package for details.
`

const nfacctHelp = `
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

// nfacctCommands are the commands' names; any beginning of one will do, and the first that fits is meant.
var nfacctCommands = [...]string{"list", "add", "delete", "get", "flush", "version", "help", "restore", "monitor"}

// runNFAcct is nfacct.
func (p *program) runNFAcct() int {
	if len(p.args) == 0 {
		fmt.Fprintln(p.stderr, nfacctUsage)
		return statusOther
	}
	args := p.args[1:]
	switch word := nfacctWord(p.args[0], nfacctCommands[:]); word {
	case "list":
		return p.nfacctList(args)
	case "flush":
		if len(args) > 0 {
			return p.nfacctError("too many arguments")
		}
		return p.nfacctFlush()
	case "version":
		fmt.Fprint(p.stdout, nfacctHead, nfacctDisclaimer)
		return 0
	case "help":
		fmt.Fprint(p.stdout, nfacctHead, nfacctUsage, "\n", nfacctHelp)
		return 0
	case "restore":
		return p.nfacctRestore()
	case "monitor":
		return p.nfacctError("not supported: " + word)
	case "add", "get", "delete":
		if len(args) == 0 {
			return p.nfacctError("missing object name")
		}
		return p.nfacctObject(word, args)
	}
	status := p.nfacctError("Unknown command: " + p.args[0])
	fmt.Fprintln(p.stderr, nfacctUsage)
	return status
}

// nfacctWord is the first of the words that begins with what was given, "" if there is none.
func nfacctWord(given string, words []string) string {
	for _, word := range words {
		if strings.HasPrefix(word, given) {
			return word
		}
	}
	return ""
}

func (p *program) nfacctError(text string) int {
	fmt.Fprintf(p.stderr, "nfacct v%s: %s\n", nfacctVersion, text)
	return statusOther
}

// nfacctModes are the modes' names.
var nfacctModes = [...]string{"", "byte", "packet"}

// nfacctText is an object as list prints it.
func nfacctText(o NFAcctObject) string {
	text := fmt.Sprintf("{ pkts = %020d, bytes = %020d", o.Packets, o.Bytes)
	if o.Mode != NFAcctNoQuota {
		over := "no"
		if o.Over {
			over = "yes"
		}
		text += fmt.Sprintf(", quota = %020d, mode = %s, overquota = %s", o.Quota, nfacctModes[o.Mode], over)
	}
	return text + " } = " + o.Name + ";\n"
}

// nfacctFlag are the words behind list and get.
type nfacctFlag struct {
	reset  bool
	format string // xml, json or "" for text
}

// nfacctFlags reads the words behind list (once: each but once, and one format) and get. ok is false if one is unknown; the error is printed.
func (p *program) nfacctFlags(args []string, once bool) (f nfacctFlag, ok bool) {
	for _, given := range args {
		word := nfacctWord(given, []string{"reset", "xml", "json"})
		twice := word == "reset" && f.reset || word != "reset" && f.format != ""
		switch {
		case word == "":
			p.nfacctError("unknown argument")
			return f, false
		case once && twice:
			fmt.Fprintf(p.stderr, "Error: duplicate \"%s\" or collision with another option \n", given)
			return f, false
		case word == "reset":
			f.reset = true
		default:
			f.format = word
		}
	}
	return f, true
}

func (p *program) nfacctList(args []string) int {
	flags, ok := p.nfacctFlags(args, true)
	if !ok {
		return statusOther
	}
	p.nfacctPrint(p.kernel.objects.List(), flags)
	return 0
}

func (p *program) nfacctPrint(list []NFAcctObject, f nfacctFlag) {
	if len(list) == 0 {
		return
	}
	switch f.format {
	case "xml":
		fmt.Fprint(p.stdout, "<?xml version=\"1.0\" encoding=\"utf-8\"?>\n<nfacct>\n")
		defer fmt.Fprint(p.stdout, "</nfacct>\n")
	case "json":
		fmt.Fprintf(p.stdout, "{ \"timestamp\" : %d, \n  \"nfacct_counters\" : [\n", p.kernel.clock.Now().Unix())
		defer fmt.Fprint(p.stdout, "\n] }\n")
	}
	for i, o := range list {
		switch f.format {
		case "xml":
			fmt.Fprintf(p.stdout, "<obj><name>%s</name><pkts>%020d</pkts><bytes>%020d</bytes></obj>\n", o.Name, o.Packets, o.Bytes)
		case "json":
			if i > 0 {
				fmt.Fprint(p.stdout, ",\n")
			}
			fmt.Fprint(p.stdout, nfacctJSON(o))
		default:
			fmt.Fprint(p.stdout, nfacctText(o))
		}
		if f.reset {
			p.kernel.objects.Reset(o.Name)
		}
	}
}

// nfacctJSON is an object as "list json" prints it, which is not JSON where there is a quota or a quote in the name.
func nfacctJSON(o NFAcctObject) string {
	text := fmt.Sprintf("  { \"pkts\" : %d, \"bytes\" : %d, ", o.Packets, o.Bytes)
	if o.Mode != NFAcctNoQuota {
		text += fmt.Sprintf("\"quota\" : %d, \"mode\" = \"%s\", \"overquota\" = %d, ", o.Quota, nfacctModes[o.Mode], btoi(o.Over))
	}
	return text + fmt.Sprintf("\"name\" : \"%s\" }", o.Name)
}

// nfacctAdd makes the object that the words of add tell.
func (p *program) nfacctAdd(name string, args []string) int {
	o := NFAcctObject{Name: name}
	switch {
	case len(args) == 0:
	case len(args) == 1:
		return p.nfacctError("missing quota value")
	case len(args) > 2:
		return p.nfacctError("too many arguments")
	case args[0] == nfacctModes[NFAcctByteQuota]:
		o.Mode = NFAcctByteQuota
	case args[0] == nfacctModes[NFAcctPacketQuota]:
		o.Mode = NFAcctPacketQuota
	default:
		return p.nfacctError("argument must \"byte\" or \"packet\"")
	}
	if o.Mode != NFAcctNoQuota {
		n, ok := libc.ScanUnsigned([]byte(args[1]))
		if !ok {
			return p.nfacctError("error reading quota")
		}
		o.Quota = n
	}
	if err := p.kernel.objects.AddObject(o); errors.Is(err, ErrNFAcctExists) {
		return p.nfacctError("error: Device or resource busy")
	} else if err != nil {
		return p.nfacctError("error: Invalid argument")
	}
	return 0
}

func (p *program) nfacctObject(word string, args []string) int {
	name := args[0][:min(len(args[0]), maxNFAcctName)]
	switch word {
	case "add":
		return p.nfacctAdd(name, args[1:])
	case "get":
		flags, ok := p.nfacctFlags(args[1:], false)
		if !ok {
			return statusOther
		}
		o, ok := p.kernel.objects.Get(name)
		if !ok {
			return p.nfacctError("error: No such file or directory")
		}
		p.nfacctPrint([]NFAcctObject{o}, flags)
		return 0
	}
	if len(args) > 1 {
		return p.nfacctError("too many arguments")
	}
	p.kernel.lock.Lock()
	defer p.kernel.lock.Unlock()
	if p.kernel.nfacctUsed()[name] {
		return p.nfacctError("error: Device or resource busy")
	}
	if err := p.kernel.objects.Delete(name); err != nil {
		return p.nfacctError("error: No such file or directory")
	}
	return 0
}

// nfacctRestore makes the objects of list's output. The real tool does not read back what it prints itself of an object with a quota.
func (p *program) nfacctRestore() int {
	lines := bufio.NewReader(p.stdin)
	for {
		text, err := lines.ReadString('\n')
		if text == "" && err != nil {
			return 0
		}
		text, _, found := strings.Cut(text, ";")
		if !found {
			return p.nfacctError("invalid line")
		}
		m := nfacctScan.FindStringSubmatch(text)
		if m == nil {
			return p.nfacctError("error reading input")
		}
		o := NFAcctObject{Packets: nfacctValue(m[1]), Bytes: nfacctValue(m[2]), Name: m[5][:min(len(m[5]), maxNFAcctName)]}
		if m[4] != "" {
			o.Quota, o.Mode = nfacctValue(m[3]), NFAcctPacketQuota
			if m[4] == nfacctModes[NFAcctByteQuota] {
				o.Mode = NFAcctByteQuota
			}
		}
		if err := p.kernel.objects.AddObject(o); err != nil {
			return p.nfacctError("error: Device or resource busy")
		}
	}
}

// nfacctScan is what restore reads of a line before the semicolon: scanf leaves blanks out and stops at the end of the name.
var nfacctScan = regexp.MustCompile(`^\{\s*pkts\s*=\s*([+-]?\d+),\s*bytes\s*=\s*([+-]?\d+)(?:,\s*quota\s*=\s*([+-]?\d+),\s*mode\s*=\s*(\S+)\s+)?\s*\}\s*=\s*(\S+)`)

// nfacctValue is the value of a number that nfacctScan has found.
func nfacctValue(text string) uint64 {
	n, _ := libc.ScanUnsigned([]byte(text))
	return n
}

// nfacctLine is a line of list; a quota, if there is one, stands in the middle.
var nfacctLine = regexp.MustCompile(`^\{ pkts = (\d+), bytes = (\d+)(?:, quota = (\d+), mode = (byte|packet), overquota = (?:yes|no|\d))? \} = (\S{1,31});$`)

// parseNFAcct reads a line of list with all that it says.
func parseNFAcct(line string) (o NFAcctObject, ok bool) {
	m := nfacctLine.FindStringSubmatch(line)
	if m == nil {
		return o, false
	}
	numbers := [3]uint64{}
	for i, text := range []string{m[1], m[2], m[3]} {
		if text == "" {
			continue
		}
		n, err := strconv.ParseUint(text, 10, 64)
		if err != nil {
			return o, false
		}
		numbers[i] = n
	}
	o = NFAcctObject{Name: m[5], Packets: numbers[0], Bytes: numbers[1], Quota: numbers[2]}
	switch m[4] {
	case nfacctModes[NFAcctByteQuota]:
		o.Mode = NFAcctByteQuota
	case nfacctModes[NFAcctPacketQuota]:
		o.Mode = NFAcctPacketQuota
	}
	return o, true
}

// nfacctFlush removes the objects that no rule names.
func (p *program) nfacctFlush() int {
	p.kernel.lock.Lock()
	defer p.kernel.lock.Unlock()
	used := p.kernel.nfacctUsed()
	for _, o := range p.kernel.objects.List() {
		if !used[o.Name] {
			// Nobody else deletes while the lock is held.
			_ = p.kernel.objects.Delete(o.Name)
		}
	}
	return 0
}

// nfacctUsed are the objects that rules name.
func (k *Kernel) nfacctUsed() map[string]bool {
	used := map[string]bool{}
	for _, rs := range k.allRulesets() {
		for _, t := range rs.Tables() {
			for c := range t.Chains() {
				for _, r := range c.Rules {
					for _, m := range r.Matches {
						if n, ok := m.(*MatchNFAcct); ok {
							used[n.Object] = true
						}
					}
				}
			}
		}
	}
	return used
}
