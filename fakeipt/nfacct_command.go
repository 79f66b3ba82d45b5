package fakeipt

import (
	"errors"
	"fmt"
)

// nfacctVersion is the version of nfacct that is imitated.
const nfacctVersion = "1.0.2"

// runNFAcct is nfacct: add, list, get, delete, flush, version.
func (p *program) runNFAcct() int {
	if len(p.args) == 0 {
		fmt.Fprintln(p.stderr, "Usage: nfacct command [parameters]...")
		return statusOther
	}
	args := p.args[1:]
	switch word := p.args[0]; word {
	case "list":
		return p.nfacctList(args)
	case "flush":
		return p.nfacctFlush()
	case "version":
		fmt.Fprintf(p.stdout, "nfacct v%s\n", nfacctVersion)
		return 0
	case "add", "get", "del", "delete":
		if len(args) == 0 {
			return p.nfacctError("missing object name")
		}
		return p.nfacctObject(word, args)
	default:
		status := p.nfacctError("Unknown command: " + word)
		fmt.Fprintln(p.stderr, "Usage: nfacct command [parameters]...")
		return status
	}
}

func (p *program) nfacctError(text string) int {
	fmt.Fprintf(p.stderr, "nfacct v%s: %s\n", nfacctVersion, text)
	return statusOther
}

func (p *program) nfacctPrint(o NFAcctObject) {
	fmt.Fprintf(p.stdout, "{ pkts = %020d, bytes = %020d } = %s;\n", o.Packets, o.Bytes, o.Name)
}

func (p *program) nfacctList(args []string) int {
	reset, err := nfacctReset(args)
	if err != nil {
		return p.nfacctError(err.Error())
	}
	for _, o := range p.kernel.objects.List() {
		p.nfacctPrint(o)
		if reset {
			p.kernel.objects.Reset(o.Name)
		}
	}
	return 0
}

// nfacctReset reads the words behind list and get.
func nfacctReset(args []string) (bool, error) {
	switch {
	case len(args) == 0:
		return false, nil
	case len(args) == 1 && args[0] == "reset":
		return true, nil
	}
	return false, fmt.Errorf("not supported: %q", args[0])
}

func (p *program) nfacctObject(word string, args []string) int {
	name := args[0][:min(len(args[0]), maxNFAcctName)]
	switch word {
	case "add":
		if len(args) > 1 {
			return p.nfacctError(fmt.Sprintf("not supported: quota %q", args[1]))
		}
		if err := p.kernel.objects.Add(name); errors.Is(err, ErrNFAcctExists) {
			return p.nfacctError("error: Device or resource busy")
		} else if err != nil {
			return p.nfacctError("error: Invalid argument")
		}
		return 0
	case "get":
		o, ok := p.kernel.objects.Get(name)
		if !ok {
			return p.nfacctError("error: No such file or directory")
		}
		reset, err := nfacctReset(args[1:])
		if err != nil {
			return p.nfacctError(err.Error())
		}
		p.nfacctPrint(o)
		if reset {
			p.kernel.objects.Reset(name)
		}
		return 0
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
	for _, f := range []Family{IPv4, IPv6} {
		for _, t := range k.Ruleset(f).Tables() {
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
