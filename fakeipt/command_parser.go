package fakeipt

import (
	"bytes"
	"errors"
	"strings"
	"sync"

	"github.com/chainwalk/chainwalk/fakeipt/xtables"
	"github.com/chainwalk/chainwalk/netfilter"
)

// commandParser makes commands of words, one after the other; its memory is used again.
type commandParser struct {
	caller
	family  netfilter.Family
	table   string // of a restore; a command sets it with -t
	restore string // the name of the restore tool, "" for a command

	args  argumentReader
	cmd   command
	inv   bool // the word before was "!"
	again bool // the option is to be read again

	protocol []byte // the word of -p

	extensions ruleExtensions
	addresses  addressReader
	devices    deviceReader
	verdicts   *[3]xtables.TargetVerdict // apart, since rules keep it

	lastChain string
	chains    func(name []byte) string // gives a chain's name as a string
	hidden    map[string]bool          // targets that restore input has declared chains of
	dump      *dumpText                // nil for tools
}

func newCommandParser(f netfilter.Family, c caller) *commandParser {
	p := &commandParser{caller: c, family: f}
	p.extensions = newRuleExtensions(f, &p.caller, &p.args)
	p.addresses, p.devices = newAddressReader(f), newDeviceReader()
	p.addresses.names = c.Names()
	p.verdicts = &[3]xtables.TargetVerdict{{Kind: xtables.VerdictAccept}, {Kind: xtables.VerdictDrop}, {Kind: xtables.VerdictReturn}}
	return p
}

// idleParsers are parsers that nobody uses, by family. Most commands are short, and a parser costs more than reading one.
type idleParsers struct {
	lock    sync.Mutex
	parsers [2][]*commandParser
}

// parser gives a parser for a family; done takes it back.
func (k *Kernel) parser(f netfilter.Family, c caller) *commandParser {
	k.idle.lock.Lock()
	defer k.idle.lock.Unlock()
	idle := &k.idle.parsers[indexOf(f)]
	last := len(*idle) - 1
	if last < 0 {
		return newCommandParser(f, c)
	}
	p := (*idle)[last]
	*idle = (*idle)[:last]
	p.caller = c
	p.addresses.names = c.Names()
	p.restore, p.chains, p.lastChain, p.hidden, p.dump = "", nil, "", nil, nil
	return p
}

// done takes a parser back. Nothing that it has read is needed any more but what it has made of that.
func (k *Kernel) done(p *commandParser) {
	p.caller, p.chains = caller{}, nil
	k.idle.lock.Lock()
	defer k.idle.lock.Unlock()
	idle := &k.idle.parsers[indexOf(p.family)]
	*idle = append(*idle, p)
}

// inTable makes the table the one of commands that do not say theirs. Messages name head before the first word.
func (p *commandParser) inTable(table, head string) { p.table, p.args.head = table, head }

// parse reads the words of p.args.
func (p *commandParser) parse() (*command, error) {
	p.begin()
	for {
		word, more := p.args.next()
		switch {
		case !more || string(word) == "--":
			return p.finished()
		case len(word) == 1 && word[0] == '!':
			if p.inv {
				return nil, xtables.BadParameter("multiple consecutive ! not allowed")
			}
			p.inv = true
			// The tool keeps nothing of the word, not even for messages.
			p.args.Words[p.args.at-1] = nil
			continue
		case len(word) < 2 || word[0] != '-':
			if p.unsupportedRevision(word) {
				continue
			}
			return nil, xtables.BadArgument(word)
		}
		err := p.option(word)
		if err == errOtherFamily {
			return &p.cmd, nil
		}
		if err != nil {
			return nil, err
		}
		p.inv = p.inv && p.again
		p.again = false
	}
}

// errOtherFamily ends a line of restore input that is for the other family.
var errOtherFamily = errors.New("a line for the other family")

// begin forgets the command before.
func (p *commandParser) begin() {
	p.cmd.clear()
	p.cmd.table, p.cmd.spec.dump, p.cmd.spec.noStandard = p.table, p.dump, p.hidden[xtables.StandardTarget]
	p.args.at, p.inv, p.again = 0, false, false
	p.extensions.begin()
}

// finished makes the checks of the whole command.
func (p *commandParser) finished() (*command, error) {
	if err := p.finish(); err != nil {
		return nil, err
	}
	return &p.cmd, nil
}

// option acts on one option word and its arguments.
func (p *commandParser) option(word []byte) error {
	if word[1] != '-' {
		return p.short(word[1], rest(word[1:]), word)
	}
	name, value, hasValue := bytes.Cut(word[2:], []byte("="))
	if !hasValue {
		value = nil
	}
	if letter, ok := longOptions[string(name)]; ok && !p.lacks(letter) && !p.extensions.takes(name) {
		if strings.IndexByte(ownLetters, letter) < 0 && p.foreignOption(name, word) {
			// No command stands within a rule.
			return nil
		}
		return p.long(letter, value, word)
	}
	if err, ok := p.extensionOption(name, value); ok {
		return err
	}
	if letter, err, ok := p.abbreviation(name, value); ok {
		if letter == 0 {
			return err
		}
		return p.long(letter, value, word)
	}
	return p.unknown(name, value, word)
}

// long is a standard option by its long name.
func (p *commandParser) long(letter byte, value, word []byte) error {
	if value != nil && strings.IndexByte(lettersWithout, letter) >= 0 {
		return unknownOption(word)
	}
	return p.short(letter, value, word)
}

// short acts on one standard option.
func (p *commandParser) short(letter byte, attached, word []byte) error {
	switch letter {
	case 'A', 'C', 'D', 'I', 'R', 'N', 'E', 'P':
		word := p.args.at - 1
		err := p.commandWithChain(letter, attached)
		p.dump.command(word, p.args.at)
		return err
	case 'L', 'S', 'F', 'Z', 'X':
		return p.commandWithOptionalChain(letter, attached)
	case 's', 'd', 'p', 'i', 'o', 'j', 'g', 'c':
		return p.ruleOption(letter, attached, word)
	case 'm':
		return p.matchOption(attached)
	case 'b':
		// The tools have it among their letters, and nobody to read it.
		return xtables.BadParameter("Unknown arg \"(null)\"")
	}
	long := word[1] == '-'
	if letter == 'f' {
		if err := p.fragmentOption(); err != nil || attached == nil || long {
			return err
		}
		p.inv = false
		return p.short(attached[0], rest(attached), word)
	}
	if letter == '0' && !long {
		return p.unknownLetter(attached, word)
	}
	if attached != nil && !long && strings.IndexByte(lettersAlone, letter) >= 0 {
		// Letters may stand together behind one dash.
		if err := p.flagOption(letter, nil); err != nil {
			return err
		}
		return p.short(attached[0], rest(attached), word)
	}
	if strings.IndexByte(lettersAlone+"tWwM", letter) < 0 {
		return p.unknownLetter(attached, word)
	}
	return p.flagOption(letter, attached)
}

// rest is what stands behind the first letter, nil if there is nothing.
func rest(letters []byte) []byte {
	if len(letters) > 1 {
		return letters[1:]
	}
	return nil
}

// extensionOption gives the option to the extension that was loaded last and has it.
func (p *commandParser) extensionOption(name, value []byte) (error, bool) {
	l, id := p.extensions.owner(name)
	if l == nil {
		return nil, false
	}
	return p.extensions.give(l, id, value, p.inv, p.cmd.spec.proto), true
}

// unknown tries the protocol's own match before it gives the option up.
func (p *commandParser) unknown(name, value, word []byte) error {
	if p.foreignOption(name, word) {
		return nil
	}
	if p.extensions.loadProtocol(p.cmd.spec.proto.Number, p.protocol) {
		if err, ok := p.extensionOption(name, value); ok {
			return err
		}
		if _, err, ok := p.abbreviation(name, value); ok {
			return err
		}
	}
	return unknownOption(word)
}

// unknownLetter acts on a letter that is no option. If that makes the tool load the protocol's match, it goes on with
// the letters left as if they were of the word before. Otherwise it names the last word it is through with.
func (p *commandParser) unknownLetter(attached, word []byte) error {
	switch loaded := p.extensions.loadProtocol(p.cmd.spec.proto.Number, p.protocol); {
	case loaded && attached != nil:
		p.args.at--
		p.again = true
		return p.short(attached[0], rest(attached), word)
	case loaded:
		p.args.at--
		p.again = true
		return nil
	case attached != nil:
		return unknownOption(p.args.back(1))
	}
	return unknownOption(p.args.back(0))
}

func unknownOption(word []byte) error { return xtables.BadParameter("unknown option \"%s\"", word) }
