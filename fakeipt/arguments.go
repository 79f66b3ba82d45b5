package fakeipt

import (
	"bytes"
	"strings"
)

// command is what the words of one iptables command, or one line of restore input, say.
type command struct {
	op         byte // 'A', 'C', 'D', ... ; 0: none
	chain      string
	chainGiven bool
	newName    string
	policy     string
	number     int // rule number, 0: none
	spec       ruleSpec

	table                               string
	verbose                             int
	numeric, exact, lineNumbers, ignore bool
	zero                                bool // -Z beside -L or -S
	wait, waitInterval                  bool
	waitSeconds                         int
	optionOrder                         []byte // the options of the kind that some commands do not take
}

// ruleSpec is a rule as it is spelled.
type ruleSpec struct {
	srcText, dstText []byte // what -s and -d say
	srcInv, dstInv   bool
	srcs, dsts       []*AddrMatch
	in, out          *IfaceMatch
	proto            ProtoMatch
	fragment         FragmentMatch
	matches          []Match
	target           Target // an extension or a verdict
	jump             []byte // the word of -j or -g
	isGoto           bool
	counters         bool
	packets, bytes   uint64
}

// given is a set of base options that a command has.
type given uint16

const (
	givenSrc given = 1 << iota
	givenDst
	givenProto
	givenJump
	givenIn
	givenOut
	givenFragment
	givenCounters
)

// argumentParser reads commands one after the other; its memory is used again.
type argumentParser struct {
	family  Family
	dialect Dialect
	table   string // of a restore; a command sets it with -t
	restore string // the name of the restore tool, "" for a command
	argv0   string

	words wordList
	at    int // next word
	cmd   command
	given given
	inv   bool // the word before was "!"

	loaded     []loadedExtension // in the order they were loaded, the target among them
	protoTried bool
	again      bool // the option is to be read again
	protoName  string
	free       map[*extension]*parserPool
	call       optionCall

	lastChain            string
	chains               func(name []byte) string // gives a chain's name as a string
	addrs, invertedAddrs map[string]*AddrMatch
	addrSlab             slab[AddrMatch]
	ifaces               map[string]*IfaceMatch
	verdicts             *[3]Verdict // apart, since rules keep it
}

// loadedExtension is a match or the target of the rule that is being read.
type loadedExtension struct {
	ext    *extension
	match  matchParser
	target targetParser
	seen   uint32
}

// parserPool keeps the parsers of an extension for the next rule.
type parserPool struct {
	matches []matchParser
	used    int
	target  targetParser
}

func newArgumentParser(f Family, d Dialect) *argumentParser {
	p := &argumentParser{family: f, dialect: d, free: map[*extension]*parserPool{},
		addrs: map[string]*AddrMatch{}, invertedAddrs: map[string]*AddrMatch{}, ifaces: map[string]*IfaceMatch{}}
	p.call.family, p.call.next = f, p.second
	p.verdicts = &[3]Verdict{{VerdictAccept}, {VerdictDrop}, {VerdictReturn}}
	return p
}

// parse reads the words of p.words.
func (p *argumentParser) parse() (*command, error) {
	p.begin()
	for p.at < len(p.words.words) {
		word := p.words.words[p.at]
		p.at++
		switch {
		case string(word) == "--":
			return p.finished(p.at < len(p.words.words))
		case len(word) == 1 && word[0] == '!':
			if p.inv {
				return nil, badParameter("multiple consecutive ! not allowed")
			}
			p.inv = true
			// The tool keeps nothing of the word, not even for messages.
			p.words.words[p.at-1] = nil
			continue
		case len(word) < 2 || word[0] != '-':
			return nil, badArgument(word)
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
	return p.finished(false)
}

// finished makes the checks of the whole command; more says that words are left behind "--".
func (p *argumentParser) finished(more bool) (*command, error) {
	if err := p.finish(more); err != nil {
		return nil, err
	}
	return &p.cmd, nil
}

// column is the place of the word that was read last.
func (p *argumentParser) column() (int, string) {
	i := min(p.at, len(p.words.words)) - 1
	if i < 0 {
		return 0, ""
	}
	return p.words.columns[i], string(p.words.words[i])
}

// begin forgets the command before.
func (p *argumentParser) begin() {
	matches, srcs, dsts, order := p.cmd.spec.matches[:0], p.cmd.spec.srcs[:0], p.cmd.spec.dsts[:0], p.cmd.optionOrder[:0]
	p.cmd = command{table: p.table, optionOrder: order}
	p.cmd.spec.matches, p.cmd.spec.srcs, p.cmd.spec.dsts = matches, srcs, dsts
	p.at, p.given, p.inv, p.protoTried, p.protoName, p.again = 0, 0, false, false, "", false
	for i := range p.loaded {
		p.free[p.loaded[i].ext].used = 0
	}
	p.loaded = p.loaded[:0]
}

// argument returns the next word, or the rest of this one.
func (p *argumentParser) argument(option string, attached []byte) ([]byte, error) {
	if attached != nil {
		return attached, nil
	}
	if p.at >= len(p.words.words) {
		return nil, badParameter("option \"%s\" requires an argument", option)
	}
	p.at++
	return p.words.words[p.at-1], nil
}

// wordArgument is argument for the option that is that word.
func (p *argumentParser) wordArgument(option, attached []byte) ([]byte, error) {
	if attached == nil && p.at < len(p.words.words) {
		p.at++
		return p.words.words[p.at-1], nil
	}
	return p.argument(string(option), attached)
}

// optional returns the next word unless it is an option or a "!".
func (p *argumentParser) optional(attached []byte) ([]byte, bool) {
	if attached != nil {
		return attached, true
	}
	if p.at >= len(p.words.words) {
		return nil, false
	}
	w := p.words.words[p.at]
	if len(w) > 0 && (w[0] == '-' || w[0] == '!') {
		return nil, false
	}
	p.at++
	return w, true
}

// option reads one option word and its arguments.
func (p *argumentParser) option(word []byte) error {
	if word[1] != '-' {
		var attached []byte
		if len(word) > 2 {
			attached = word[2:]
		}
		return p.short(word[1], attached, word)
	}
	name, value, hasValue := bytes.Cut(word[2:], []byte("="))
	if !hasValue {
		value = nil
	}
	if letter, ok := longOptions[string(name)]; ok && !p.lacks(letter) {
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

// long is a base option by its long name.
func (p *argumentParser) long(letter byte, value, word []byte) error {
	if value != nil && strings.IndexByte(lettersWithout, letter) >= 0 {
		return badParameter("unknown option \"%s\"", word)
	}
	return p.short(letter, value, word)
}

// lettersWithout are the options that take no argument.
const lettersWithout = "nvxf0V46"

// unknown tries the protocol's own match before it gives the option up.
func (p *argumentParser) unknown(name, value, word []byte) error {
	if p.loadProtocol() {
		if err, ok := p.extensionOption(name, value); ok {
			return err
		}
		if _, err, ok := p.abbreviation(name, value); ok {
			return err
		}
	}
	return badParameter("unknown option \"%s\"", word)
}

// loadProtocol loads the protocol's own match once.
func (p *argumentParser) loadProtocol() bool {
	if p.protoName == "" || p.protoTried {
		return false
	}
	p.protoTried = true
	ext := findMatch([]byte(p.protoName), p.family)
	if ext != nil {
		p.load(ext)
	}
	return ext != nil
}

// longOptions are the long names of the options that are not an extension's.
var longOptions = map[string]byte{
	"append": 'A', "check": 'C', "delete": 'D', "insert": 'I', "replace": 'R', "list": 'L', "list-rules": 'S',
	"flush": 'F', "zero": 'Z', "new-chain": 'N', "new": 'N', "delete-chain": 'X', "rename-chain": 'E', "policy": 'P',
	"source": 's', "src": 's', "destination": 'd', "dst": 'd', "protocol": 'p', "proto": 'p', "in-interface": 'i',
	"out-interface": 'o', "jump": 'j', "goto": 'g', "match": 'm', "table": 't', "numeric": 'n', "verbose": 'v',
	"exact": 'x', "fragments": 'f', "fragment": 'f', "line-numbers": '0', "set-counters": 'c', "wait": 'w',
	"wait-interval": 'W', "modprobe": 'M', "version": 'V', "help": 'h', "ipv4": '4', "ipv6": '6',
}

// lacks says that the tool does not have the long name of an option.
func (p *argumentParser) lacks(letter byte) bool {
	return letter == 'f' && p.family == IPv6 && p.dialect == Legacy
}

// abbreviation looks for the only long option that begins so.
func (p *argumentParser) abbreviation(name, value []byte) (letter byte, err error, ok bool) {
	if len(name) == 0 {
		return 0, nil, false
	}
	matches := 0
	for long, l := range longOptions {
		if strings.HasPrefix(long, string(name)) && l != letter && !p.lacks(l) {
			letter, matches = l, matches+1
		}
	}
	full := ""
	for i := range p.loaded {
		for _, spec := range p.loaded[i].ext.options {
			if strings.HasPrefix(spec.name, string(name)) && spec.name != full {
				full, matches = spec.name, matches+1
			}
		}
	}
	if matches != 1 {
		return 0, nil, false
	}
	if full == "" {
		return letter, nil, true
	}
	err, ok = p.extensionOption([]byte(full), value)
	return 0, err, ok
}

// extensionOption gives the option to the extension that was loaded last and has it.
func (p *argumentParser) extensionOption(name, value []byte) (error, bool) {
	for i := len(p.loaded) - 1; i >= 0; i-- {
		l := &p.loaded[i]
		id := l.ext.find(name)
		if id < 0 {
			continue
		}
		return p.giveOption(l, id, value), true
	}
	return nil, false
}

func (p *argumentParser) giveOption(l *loadedExtension, id int, value []byte) error {
	spec := &l.ext.options[id]
	call := &p.call
	call.name, call.invert, call.arg, call.proto = spec.name, p.inv, value, p.cmd.spec.proto
	if spec.flag && value != nil {
		return badParameter("unknown option \"%s\"", p.words.words[p.at-1])
	}
	if !spec.flag && value == nil {
		if p.at >= len(p.words.words) {
			return badParameter("option \"%s\" requires an argument", p.words.words[p.at-1])
		}
		call.arg = p.words.words[p.at]
		p.at++
	}
	if err := l.ext.before(id, p.inv, l.seen); err != nil {
		return err
	}
	l.seen |= 1 << id
	if l.match != nil {
		return l.match.option(call)
	}
	return l.target.option(call)
}

// second is a further argument of an option, for the few that have one.
func (p *argumentParser) second() ([]byte, bool) {
	if p.at >= len(p.words.words) {
		return nil, false
	}
	w := p.words.words[p.at]
	if len(w) > 0 && (w[0] == '-' || w[0] == '!') {
		return nil, false
	}
	p.at++
	return w, true
}

// load adds a match to the rule.
func (p *argumentParser) load(ext *extension) {
	pool := p.pool(ext)
	if pool.used == len(pool.matches) {
		pool.matches = append(pool.matches, ext.newMatch())
	}
	m := pool.matches[pool.used]
	pool.used++
	m.begin(p.family)
	p.loaded = append(p.loaded, loadedExtension{ext: ext, match: m})
}

func (p *argumentParser) pool(ext *extension) *parserPool {
	pool := p.free[ext]
	if pool == nil {
		pool = &parserPool{}
		p.free[ext] = pool
	}
	return pool
}

// loadTarget makes an extension the rule's target.
func (p *argumentParser) loadTarget(ext *extension) {
	pool := p.pool(ext)
	if pool.target == nil {
		pool.target = ext.newTarget()
	}
	pool.target.begin(p.family)
	p.loaded = append(p.loaded, loadedExtension{ext: ext, target: pool.target})
}
