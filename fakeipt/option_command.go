package fakeipt

import (
	"bytes"
	"math"

	"github.com/chainwalk/chainwalk/fakeipt/xtables"
	"github.com/chainwalk/chainwalk/internal/libc"
)

// setCommand notes what is to be done; a command line has one of these.
func (p *commandParser) setCommand(letter byte) error {
	if p.inv {
		return xtables.BadParameter("unexpected '!' flag")
	}
	lists := letter == 'L' || letter == 'S'
	switch op := p.cmd.op; {
	case op == 0:
		p.cmd.op = letter
	case letter == 'Z' && (op == 'L' || op == 'S') && !p.cmd.zero:
		p.cmd.zero = true
	case lists && op == 'Z':
		p.cmd.op, p.cmd.zero = letter, true
	default:
		if p.cmd.zero && letter == 'Z' {
			op = 'Z'
		}
		return xtables.BadParameter("Cannot use -%c with -%c", letter, op)
	}
	return nil
}

func (p *commandParser) commandWithChain(letter byte, attached []byte) error {
	chain, ok := p.args.argument(attached)
	if !ok {
		return p.args.noArgument()
	}
	if letter == 'N' {
		if err := p.checkChainName(chain); err != nil {
			return err
		}
	}
	if err := p.setCommand(letter); err != nil {
		return err
	}
	p.cmd.chain, p.cmd.chainGiven = p.chainName(chain), true
	switch letter {
	case 'D', 'I':
		return p.ruleNumber(false)
	case 'R':
		return p.ruleNumber(true)
	case 'E':
		next, ok := p.args.further()
		if !ok {
			return xtables.BadParameter("-E requires old-chain-name and new-chain-name")
		}
		p.cmd.newName = string(next)
	case 'P':
		next, ok := p.args.further()
		if !ok {
			return xtables.BadParameter("-P requires a chain and a policy")
		}
		p.cmd.policy = string(next)
	}
	return nil
}

// chainName avoids a new string where the chain of the line before is meant again.
func (p *commandParser) chainName(name []byte) string {
	if p.lastChain != string(name) {
		if p.chains != nil {
			p.lastChain = p.chains(name)
		} else {
			p.lastChain = string(name)
		}
	}
	return p.lastChain
}

func (p *commandParser) commandWithOptionalChain(letter byte, attached []byte) error {
	if err := p.setCommand(letter); err != nil {
		return err
	}
	chain, ok := p.args.optional(attached)
	if !ok {
		return nil
	}
	p.cmd.chain, p.cmd.chainGiven = string(chain), true
	if letter == 'F' || letter == 'X' {
		return nil
	}
	before := p.cmd.number
	p.cmd.number = 0
	if err := p.ruleNumber(false); err != nil {
		return err
	}
	switch {
	case p.cmd.number == 0:
		p.cmd.number = before
	case letter == 'Z':
		// The number makes the tool forget that it was to list.
		p.cmd.op, p.cmd.zero, p.cmd.zeroRule = 'Z', false, true
	}
	return nil
}

// ruleNumber reads the number behind a chain's name, if there is one.
func (p *commandParser) ruleNumber(must bool) error {
	w, ok := p.args.peek()
	switch {
	case ok && !beginsOption(w):
		p.args.at++
		n, ok := libc.WholeNumber(w, math.MaxInt32)
		if !ok || n == 0 {
			return xtables.BadParameter("Invalid rule number `%s'", w)
		}
		p.cmd.number = int(n)
	case must:
		return xtables.BadParameter("-R requires a rule number")
	}
	return nil
}

// maxChainName is the length of a chain's name.
const maxChainName = 28

// checkChainName refuses what cannot name a chain.
func (p *commandParser) checkChainName(word []byte) error {
	switch {
	case beginsOption(word):
		return xtables.BadParameter("chain name not allowed to start with `%c'", word[0])
	case len(word) > maxChainName:
		return xtables.BadParameter("chain name `%s' too long (must be under %d chars)", word, maxChainName+1)
	case len(word) == 0 || xtables.IsVerdictName(string(word)) && !p.hidden[xtables.StandardTarget] || p.isTarget(string(word)):
		return xtables.BadParameter("chain name may not clash with target name")
	case bytes.ContainsAny(word, " \t\n\v\f\r"):
		return xtables.BadParameter("Invalid chain name `%s'", word)
	}
	return nil
}
