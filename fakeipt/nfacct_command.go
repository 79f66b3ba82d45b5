package fakeipt

import (
	"bufio"
	"errors"
	"fmt"
	"regexp"
	"strconv"
)

// nfacctVersion is the version of nfacct that is imitated.
const nfacctVersion = "1.0.2"

// nfacctHead is the first line of help and version.
const nfacctHead = "nfacct v" + nfacctVersion + ": utility for the Netfilter extended accounting infrastructure\n"

const nfacctUsage = "Usage: nfacct command [parameters]..."

// runNFAcct is nfacct: add, list, get, delete, flush, restore, version.
func (p *program) runNFAcct() int {
	if len(p.args) == 0 {
		fmt.Fprintln(p.stderr, nfacctUsage)
		return statusOther
	}
	args := p.args[1:]
	switch word := p.args[0]; word {
	case "list":
		return p.nfacctList(args)
	case "flush":
		if len(args) > 0 {
			return p.nfacctError("too many arguments")
		}
		return p.nfacctFlush()
	case "version":
		fmt.Fprint(p.stdout, nfacctHead)
		return 0
	case "restore":
		return p.nfacctRestore()
	case "monitor", "help":
		return p.nfacctError("not supported: " + word)
	case "add", "get", "del", "delete":
		if len(args) == 0 {
			return p.nfacctError("missing object name")
		}
		return p.nfacctObject(word, args)
	default:
		status := p.nfacctError("Unknown command: " + word)
		fmt.Fprintln(p.stderr, nfacctUsage)
		return status
	}
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

func (p *program) nfacctList(args []string) int {
	flags, ok := nfacctFlags(args)
	if !ok {
		return p.nfacctError("unknown argument")
	}
	p.nfacctPrint(p.kernel.objects.List(), flags)
	return 0
}

// nfacctFlag are the words behind list and get.
type nfacctFlag struct{ reset, xml bool }

func nfacctFlags(args []string) (f nfacctFlag, ok bool) {
	for _, word := range args {
		switch word {
		case "reset":
			f.reset = true
		case "xml":
			f.xml = true
		default:
			return f, false
		}
	}
	return f, true
}

func (p *program) nfacctPrint(list []NFAcctObject, f nfacctFlag) {
	if f.xml {
		fmt.Fprint(p.stdout, "<?xml version=\"1.0\" encoding=\"utf-8\"?>\n<nfacct>\n")
		defer fmt.Fprint(p.stdout, "</nfacct>\n")
	}
	for _, o := range list {
		if f.xml {
			fmt.Fprintf(p.stdout, "<obj><name>%s</name><pkts>%020d</pkts><bytes>%020d</bytes></obj>\n", o.Name, o.Packets, o.Bytes)
		} else {
			fmt.Fprint(p.stdout, nfacctText(o))
		}
		if f.reset {
			p.kernel.objects.Reset(o.Name)
		}
	}
}

// nfacctAdd makes the object that the words of add tell.
func (p *program) nfacctAdd(name string, args []string) int {
	o := NFAcctObject{Name: name}
	switch {
	case len(args) == 0:
	case args[0] != nfacctModes[NFAcctByteQuota] && args[0] != nfacctModes[NFAcctPacketQuota]:
		return p.nfacctError("argument must \"byte\" or \"packet\"")
	case len(args) == 1:
		return p.nfacctError("missing quota value")
	case len(args) > 2:
		return p.nfacctError("too many arguments")
	default:
		n, err := strconv.ParseUint(args[1], 10, 64)
		if err != nil {
			return p.nfacctError("error reading quota")
		}
		o.Quota, o.Mode = n, NFAcctByteQuota
		if args[0] == nfacctModes[NFAcctPacketQuota] {
			o.Mode = NFAcctPacketQuota
		}
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
		flags, ok := nfacctFlags(args[1:])
		if !ok {
			return p.nfacctError("unknown argument")
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

// nfacctRestore makes the objects of list's output; those that are there count on.
func (p *program) nfacctRestore() int {
	lines := bufio.NewScanner(p.stdin)
	for lines.Scan() {
		o, ok := parseNFAcct(lines.Text())
		if !ok {
			return p.nfacctError("invalid line")
		}
		if err := p.kernel.objects.AddObject(o); err != nil {
			return p.nfacctError("error: Device or resource busy")
		}
	}
	return 0
}

// nfacctLine is a line of list; a quota, if there is one, stands in the middle.
var nfacctLine = regexp.MustCompile(`^\{ pkts = (\d+), bytes = (\d+)(?:, quota = (\d+), mode = (byte|packet), overquota = (?:yes|no|\d))? \} = (\S{1,31});$`)

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
