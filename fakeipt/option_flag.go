package fakeipt

import (
	"bytes"

	"github.com/chainwalk/chainwalk/fakeipt/xtables"
	"github.com/chainwalk/chainwalk/internal/libc"
	"github.com/chainwalk/chainwalk/netfilter"
)

// flagOption acts on an option that is about the command and not about a rule.
func (p *commandParser) flagOption(letter byte, attached []byte) error {
	switch letter {
	case 't':
		return p.tableOption(attached)
	case 'v':
		if p.cmd.verbose++; p.cmd.verbose > 1 {
			return nil
		}
		return p.once('v', false)
	case 'n':
		p.cmd.numeric = true
		return p.once('n', false)
	case 'x':
		p.cmd.exact = true
		return p.once('x', false)
	case '0':
		p.cmd.lineNumbers = true
		return p.once('0', false)
	case 'V', 'h':
		// The tool does not look at what is behind these.
		if letter == 'h' && p.cmd.given.has('p') {
			p.extensions.loadForHelp(p.protocol)
		}
		return &farewell{help: letter == 'h', inverted: p.inv, of: p.extensions.loaded}
	case 'w', 'W':
		return p.waitOption(letter, attached)
	case 'M':
		if _, ok := p.args.argument(attached); !ok {
			return p.args.noArgument()
		}
	case '4', '6':
		return p.familyOption(letter)
	}
	return nil
}

// farewell ends the tool with its version or its help.
type farewell struct {
	help, inverted bool
	of             []loadedExtension // those that the help is about as well
}

func (f *farewell) Error() string { return "the tool prints its version or its help and ends" }

func (p *commandParser) tableOption(attached []byte) error {
	name, ok := p.args.argument(attached)
	if !ok {
		return p.args.noArgument()
	}
	if p.inv {
		return xtables.BadParameter("unexpected ! flag before --table")
	}
	if p.restore != "" {
		return xtables.BadParameter("The -t option cannot be used in %s.\n", p.restore)
	}
	p.cmd.table = string(name)
	return nil
}

// familyOption is -4 or -6: a line of the other family is left out.
func (p *commandParser) familyOption(letter byte) error {
	if (letter == '4') == (p.family == netfilter.IPv4) {
		return nil
	}
	if p.restore == "" {
		return &xtables.Problem{Status: xtables.StatusParameter, Bare: true}
	}
	// The tool reads no further, and it carries out what it has read but for rules.
	p.cmd.ignore = p.cmd.op == 0 || p.cmd.isRuleCommand()
	return errOtherFamily
}

func (p *commandParser) waitOption(letter byte, attached []byte) error {
	if p.restore != "" {
		return xtables.BadParameter("You cannot use `-%c' from iptables-restore", letter)
	}
	arg, ok := p.args.optional(attached)
	if letter == 'W' {
		return p.waitInterval(arg, ok)
	}
	p.cmd.wait = true
	if ok {
		n, number := libc.ScanInteger(string(arg))
		if !number {
			return xtables.BadParameter("wait seconds not numeric")
		}
		p.cmd.waitSeconds, p.cmd.wait = n, !isZero(arg)
	}
	return nil
}

// waitInterval is -W, which says nothing any more.
func (p *commandParser) waitInterval(arg []byte, given bool) error {
	p.cmd.waitInterval = true
	return p.readWaitInterval(arg, given)
}

// readWaitInterval reads the number of -W.
func (c caller) readWaitInterval(arg []byte, given bool) error {
	n, number := libc.ScanUnsigned(arg)
	switch {
	case !given:
		return xtables.BadParameter("wait interval value required")
	case !number:
		return xtables.BadParameter("wait interval not numeric")
	case uint32(n) > maxWaitInterval:
		return xtables.BadParameter("too long usec wait %d > %d usec", uint32(n), maxWaitInterval)
	}
	c.Warn("Ignoring deprecated --wait-interval option.\n")
	return nil
}

// maxWaitInterval is in microseconds.
const maxWaitInterval = 999999

// isZero says that a number is 0 where C has 32 bits for it.
func isZero(s []byte) bool {
	n, _, ok := libc.CutNumber(bytes.TrimPrefix(s, []byte("-")))
	return ok && uint32(n) == 0
}
