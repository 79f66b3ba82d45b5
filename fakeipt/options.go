package fakeipt

import (
	"bytes"
	"errors"
	"math"
	"strings"

	"github.com/chainwalk/chainwalk/fakeipt/internal/libc"
)

// short acts on one base option.
func (p *argumentParser) short(letter byte, attached, word []byte) error {
	switch letter {
	case 'A', 'C', 'D', 'I', 'R', 'N', 'E', 'P':
		return p.commandWithChain(letter, attached)
	case 'L', 'S', 'F', 'Z', 'X':
		return p.commandWithOptionalChain(letter, attached)
	case 's', 'd', 'p', 'i', 'o', 'j', 'g', 'f', 'c':
		return p.ruleOption(letter, attached, word)
	case 'm':
		return p.matchOption(attached)
	}
	long := word[1] == '-'
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

// lettersAlone are the options without an argument that are about the command; '0' stands for --line-numbers.
const lettersAlone = "vnxh0V46"

// unknownLetter acts on a letter that is no option. If that makes the tool load the protocol's match, it goes on with
// the letters left as if they were of the word before. Otherwise it names the last word it is through with.
func (p *argumentParser) unknownLetter(attached, word []byte) error {
	switch loaded := p.loadProtocol(); {
	case loaded && attached != nil:
		p.at--
		p.again = true
		return p.short(attached[0], rest(attached), word)
	case loaded:
		p.at--
		p.again = true
		return nil
	case attached != nil:
		return badParameter("unknown option \"%s\"", p.wordBefore(p.at-2))
	}
	return badParameter("unknown option \"%s\"", p.wordBefore(p.at-1))
}

// wordBefore is the word with that index; the tool's own name and, in a restore, the table stand before the first.
func (p *argumentParser) wordBefore(i int) []byte {
	switch {
	case i >= 0:
		return p.words.words[i]
	case p.restore != "":
		return []byte(p.table)
	}
	return []byte(p.argv0)
}

func rest(s []byte) []byte {
	if len(s) > 1 {
		return s[1:]
	}
	return nil
}

// flagOption acts on an option that is about the command and not about a rule.
func (p *argumentParser) flagOption(letter byte, attached []byte) error {
	switch letter {
	case 't':
		return p.tableOption(attached)
	case 'v':
		if p.cmd.verbose++; p.cmd.verbose > 1 {
			return nil
		}
		return p.flagOnce('v')
	case 'n':
		p.cmd.numeric = true
		return p.flagOnce('n')
	case 'x':
		p.cmd.exact = true
		return p.flagOnce('x')
	case '0':
		p.cmd.lineNumbers = true
		return p.flagOnce('0')
	case 'V', 'h':
		// The tool does not look at what is behind these.
		return &farewell{help: letter == 'h', inverted: p.inv}
	case 'w', 'W':
		return p.waitOption(letter, attached)
	case 'M':
		_, err := p.argument("-M", attached)
		return err
	case '4', '6':
		return p.familyOption(letter)
	}
	return nil
}

// flagOnce notes a flag that only some commands take, and that may be given once.
func (p *argumentParser) flagOnce(letter byte) error {
	switch {
	case bytes.IndexByte(p.cmd.optionOrder, letter) >= 0:
		return badParameter("multiple -%c flags not allowed", letter)
	case p.inv:
		return badParameter("cannot have ! before -%c", letter)
	}
	p.cmd.optionOrder = append(p.cmd.optionOrder, letter)
	return nil
}

// farewell ends the tool with its version or its help.
type farewell struct{ help, inverted bool }

func (f *farewell) Error() string { return "the tool prints its version or its help and ends" }

func (p *argumentParser) tableOption(attached []byte) error {
	name, err := p.argument("-t", attached)
	if err != nil {
		return err
	}
	if p.inv {
		return badParameter("unexpected ! flag before --table")
	}
	if p.restore != "" {
		return badParameter("The -t option cannot be used in %s.\n", p.restore)
	}
	p.cmd.table = string(name)
	return nil
}

// familyOption is -4 or -6: a line of the other family is left out.
func (p *argumentParser) familyOption(letter byte) error {
	if (letter == '4') == (p.family == IPv4) {
		return nil
	}
	if p.restore == "" {
		return &problem{status: statusParameter, bare: true}
	}
	// The tool reads no further, and it carries out what it has read but for rules.
	p.cmd.ignore = p.cmd.op == 0 || p.cmd.isRuleCommand()
	return errOtherFamily
}

// errOtherFamily ends a line of restore input that is for the other family.
var errOtherFamily = errors.New("a line for the other family")

func (p *argumentParser) waitOption(letter byte, attached []byte) error {
	if p.restore != "" {
		return badParameter("You cannot use `-%c' from iptables-restore", letter)
	}
	arg, ok := p.optional(attached)
	if letter == 'W' {
		return p.waitInterval(arg, ok)
	}
	p.cmd.wait = true
	if ok {
		n, number := libc.ScanInteger(string(arg))
		if !number {
			return badParameter("wait seconds not numeric")
		}
		p.cmd.waitSeconds, p.cmd.wait = n, !isZero(arg)
	}
	return nil
}

// waitInterval is -W, which says nothing any more.
func (p *argumentParser) waitInterval(arg []byte, given bool) error {
	_, number := libc.ScanUnsigned(arg)
	switch {
	case !given:
		return badParameter("wait interval value required")
	case !number:
		return badParameter("wait interval not numeric")
	}
	p.call.warn("Ignoring deprecated --wait-interval option.\n")
	p.cmd.waitInterval = true
	return nil
}

// setCommand notes what is to be done; a command line has one of these.
func (p *argumentParser) setCommand(letter byte) error {
	if p.inv {
		return badParameter("unexpected '!' flag")
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
		return badParameter("Cannot use -%c with -%c", letter, op)
	}
	return nil
}

func (p *argumentParser) commandWithChain(letter byte, attached []byte) error {
	chain, err := p.argument("-"+string(letter), attached)
	if err != nil {
		return err
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
	case 'N':
		return p.checkChainName(chain, p.cmd.chain)
	case 'E':
		next, ok := p.second()
		if !ok {
			return badParameter("-E requires old-chain-name and new-chain-name")
		}
		p.cmd.newName = string(next)
	case 'P':
		next, ok := p.second()
		if !ok {
			return badParameter("-P requires a chain and a policy")
		}
		p.cmd.policy = string(next)
	}
	return nil
}

// chainName avoids a new string where the chain of the line before is meant again.
func (p *argumentParser) chainName(name []byte) string {
	if p.lastChain != string(name) {
		if p.chains != nil {
			p.lastChain = p.chains(name)
		} else {
			p.lastChain = string(name)
		}
	}
	return p.lastChain
}

func (p *argumentParser) commandWithOptionalChain(letter byte, attached []byte) error {
	if err := p.setCommand(letter); err != nil {
		return err
	}
	chain, ok := p.optional(attached)
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
		p.cmd.op, p.cmd.zero = 'Z', false
	}
	return nil
}

// ruleNumber reads the number behind a chain's name, if there is one.
func (p *argumentParser) ruleNumber(must bool) error {
	if p.at < len(p.words.words) {
		w := p.words.words[p.at]
		if len(w) > 0 && w[0] != '-' && w[0] != '!' {
			p.at++
			n, ok := libc.WholeNumber(w, math.MaxInt32)
			if !ok || n == 0 {
				return badParameter("Invalid rule number `%s'", w)
			}
			p.cmd.number = int(n)
			return nil
		}
	}
	if must {
		return badParameter("-R requires a rule number")
	}
	return nil
}

// maxChainName is the length of a chain's name.
const maxChainName = 28

// checkChainName refuses what cannot name a chain.
func (p *argumentParser) checkChainName(word []byte, name string) error {
	switch {
	case len(word) > 0 && (word[0] == '-' || word[0] == '!'):
		return badParameter("chain name not allowed to start with `%c'", word[0])
	case len(word) > maxChainName:
		return badParameter("chain name `%s' too long (must be under %d chars)", word, maxChainName+1)
	case name == "" || isVerdictName(name) || p.isTarget(name):
		return badParameter("chain name may not clash with target name")
	case bytes.ContainsAny(word, " \t\n\v\f\r"):
		return badParameter("Invalid chain name `%s'", word)
	}
	return nil
}

// once notes a base option, which may be given once.
func (p *argumentParser) once(g given, letter byte, invertible bool) error {
	if p.given&g != 0 {
		return badParameter("multiple -%c flags not allowed", letter)
	}
	p.given |= g
	if p.inv && !invertible {
		return badParameter("cannot have ! before -%c", letter)
	}
	return nil
}

// ruleOption acts on an option about the rule.
func (p *argumentParser) ruleOption(letter byte, attached, word []byte) error {
	if letter == 'f' {
		return p.fragmentOption()
	}
	if letter == 'c' {
		return p.countersOption(attached)
	}
	arg, err := p.wordArgument(word, attached)
	if err != nil {
		return err
	}
	if attached != nil && strings.IndexByte("sdpjio", letter) >= 0 {
		// The tool reads the whole word here, or the one before if it has gone back.
		if arg = word; p.again {
			arg = p.wordBefore(p.at - 1)
		}
	}
	spec := &p.cmd.spec
	switch letter {
	case 's':
		spec.srcText, spec.srcInv = arg, p.inv
		return p.once(givenSrc, 's', true)
	case 'd':
		spec.dstText, spec.dstInv = arg, p.inv
		return p.once(givenDst, 'd', true)
	case 'p':
		return p.protocolOption(arg)
	case 'i':
		return p.ifaceOption(givenIn, 'i', arg, &spec.in)
	case 'o':
		return p.ifaceOption(givenOut, 'o', arg, &spec.out)
	}
	return p.jumpOption(letter, arg)
}

func (p *argumentParser) fragmentOption() error {
	if p.family == IPv6 {
		return badParameter("`-f' is not supported in IPv6, use -m frag instead")
	}
	p.cmd.spec.fragment = FragmentOnly
	if p.inv {
		p.cmd.spec.fragment = FragmentNot
	}
	return p.once(givenFragment, 'f', true)
}

func (p *argumentParser) countersOption(attached []byte) error {
	packets, err := p.argument("-c", attached)
	if err != nil {
		return err
	}
	if err := p.once(givenCounters, 'c', false); err != nil {
		return err
	}
	var bytesText []byte
	if i := bytes.IndexByte(packets, ','); i > 0 {
		packets, bytesText = packets[:i], packets[i+1:]
	} else if word, ok := p.second(); ok {
		bytesText = word
	} else {
		return badParameter("-c requires packet and byte counter")
	}
	spec := &p.cmd.spec
	var ok bool
	if spec.packets, ok = libc.ScanUnsigned(packets); !ok {
		return badParameter("-c packet counter not numeric")
	}
	if spec.bytes, ok = libc.ScanUnsigned(bytesText); !ok {
		return badParameter("-c byte counter not numeric")
	}
	// The nft tools forget the counters of IPv6 rules.
	spec.counters = p.dialect == Legacy || p.family == IPv4 || p.call.program == nil
	return nil
}

func (p *argumentParser) protocolOption(arg []byte) error {
	if err := p.once(givenProto, 'p', true); err != nil {
		return err
	}
	spec := &p.cmd.spec
	switch string(arg) {
	case "tcp":
		spec.proto.Number, p.protoName = libc.ProtoTCP, "tcp"
	case "udp":
		spec.proto.Number, p.protoName = libc.ProtoUDP, "udp"
	default:
		number, err := parseProtocol(libc.Lower(arg))
		if err != nil {
			return err
		}
		if number == 0 && p.inv {
			return badParameter("rule would never match protocol")
		}
		spec.proto.Number, p.protoName = number, libc.ProtocolName(number)
	}
	spec.proto.Invert = p.inv
	if p.family == IPv6 && !p.inv && isExtensionHeader(spec.proto.Number) {
		p.call.warn("Warning: never matched protocol: %s. use extension match instead.\n", libc.Lower(arg))
	}
	return nil
}

// maxIfaceName is the length of a device's name.
const maxIfaceName = 15

func (p *argumentParser) ifaceOption(g given, letter byte, arg []byte, to **IfaceMatch) error {
	if err := p.once(g, letter, true); err != nil {
		return err
	}
	if len(arg) == 0 {
		return badParameter("Empty interface is likely to be undesired")
	}
	if len(arg) > maxIfaceName {
		return badParameter("interface name `%s' must be shorter than IFNAMSIZ (%d)", arg, maxIfaceName)
	}
	if bytes.ContainsAny(arg, "/ ") {
		p.call.warn("Warning: weird character in interface `%s' ('/' and ' ' are not allowed by the kernel).\n", arg)
	}
	key := arg
	if p.inv {
		key = append([]byte{'!'}, arg...)
	}
	m := p.ifaces[string(key)]
	if m == nil {
		name, prefix := bytes.CutSuffix(arg, []byte("+"))
		m = &IfaceMatch{Name: string(name), Prefix: prefix, Invert: p.inv}
		p.ifaces[string(key)] = m
	}
	*to = m
	return nil
}

func (p *argumentParser) jumpOption(letter byte, arg []byte) error {
	if err := p.once(givenJump, 'j', false); err != nil {
		return err
	}
	switch {
	case len(arg) == 0:
		return badParameter("Invalid target name (too short)")
	case len(arg) > maxChainName:
		return badParameter("Invalid target name `%s' (%d chars max)", arg, maxChainName)
	case bytes.ContainsAny(arg, " \t\n\v\f\r"):
		return badParameter("Invalid target name `%s'", arg)
	}
	spec := &p.cmd.spec
	spec.jump, spec.isGoto = arg, letter == 'g'
	if spec.isGoto {
		return nil
	}
	if kind, ok := findVerdict(arg); ok {
		spec.target = &p.verdicts[kind]
		return nil
	}
	if string(arg) == queueName {
		spec.target = &TargetQueue{}
		return nil
	}
	if ext := targetExtensions[string(arg)]; ext != nil {
		p.loadTarget(ext)
	}
	return nil
}

func (p *argumentParser) matchOption(attached []byte) error {
	name, err := p.argument("-m", attached)
	if err != nil {
		return err
	}
	switch {
	case p.inv:
		return badParameter("unexpected ! flag before --match")
	case len(name) > maxChainName:
		return badParameter("Invalid match name \"%s\" (%d chars max)", name, maxChainName)
	}
	ext := findMatch(name, p.family)
	if ext == nil {
		if n := string(name); n == "icmpv6" || n == "ipv6-icmp" {
			// Other names of the match, under which the tool looks for it.
			name = []byte("icmp6")
		}
		return badParameter("Couldn't load match `%s':No such file or directory\n", name)
	}
	p.load(ext)
	return nil
}

// finish makes the checks of the whole command.
func (p *argumentParser) finish(more bool) error {
	c := &p.cmd
	if c.waitInterval && !c.wait {
		return badParameter("--wait-interval only makes sense with --wait\n")
	}
	if c.table == "nat" && (c.policy == "DROP" || string(c.spec.jump) == "DROP") {
		return badParameter("\nThe \"nat\" table is not intended for filtering, the use of DROP is therefore inhibited.\n\n")
	}
	if err := p.finishExtensions(); err != nil {
		return err
	}
	if more {
		return badParameter("unknown arguments found on commandline")
	}
	if c.op == 0 {
		return badParameter("no command specified")
	}
	if p.inv {
		return badParameter("nothing appropriate following !")
	}
	if err := p.addresses(); err != nil {
		return err
	}
	if err := p.optionsOfCommand(); err != nil {
		return err
	}
	if c.chainGiven && len(c.chain) > maxChainName {
		return badParameter("chain name `%s' too long (must be under %d chars)", c.chain, maxChainName+1)
	}
	if err := p.devicesOfChain(); err != nil {
		return err
	}
	if p.dialect == NFT && c.isRuleCommand() {
		return c.spec.protocolGiven()
	}
	return nil
}

// finishExtensions makes the matches, in the order they were loaded, and then the target.
func (p *argumentParser) finishExtensions() error {
	spec := &p.cmd.spec
	for i := range p.loaded {
		l := &p.loaded[i]
		if l.match == nil {
			continue
		}
		// The tools check what the options say together before they look for missing ones.
		m, err := l.match.finish(l.seen)
		if err == nil {
			err = l.ext.after(l.seen)
		}
		if err != nil {
			return err
		}
		spec.matches = append(spec.matches, m)
	}
	for i := range p.loaded {
		l := &p.loaded[i]
		if l.target == nil {
			continue
		}
		t, err := l.target.finish(l.seen)
		if err == nil {
			err = l.ext.after(l.seen)
		}
		if err != nil {
			return err
		}
		spec.target = t
	}
	return nil
}

// isRuleCommand says that the command is about a rule that is spelled out.
func (c *command) isRuleCommand() bool {
	switch c.op {
	case 'A', 'C', 'I', 'R':
		return true
	case 'D':
		return c.number == 0
	}
	return false
}

// addresses reads what -s and -d say.
func (p *argumentParser) addresses() error {
	spec := &p.cmd.spec
	var err error
	if spec.srcs, err = p.hosts(spec.srcs, spec.srcText, spec.srcInv); err != nil {
		return err
	}
	if spec.dsts, err = p.hosts(spec.dsts, spec.dstText, spec.dstInv); err != nil {
		return err
	}
	if len(spec.srcs) > 1 || len(spec.dsts) > 1 {
		if spec.srcInv || spec.dstInv {
			return badParameter("! not allowed with multiple source or destination IP addresses")
		}
		if p.cmd.op == 'R' {
			return badParameter("Replacement rule does not specify a unique address")
		}
	}
	return nil
}

// hosts reads a list of addresses; no list is one that matches anything.
func (p *argumentParser) hosts(list []*AddrMatch, text []byte, invert bool) ([]*AddrMatch, error) {
	if text == nil {
		return append(list, nil), nil
	}
	for text != nil {
		word, next, comma := bytes.Cut(text, []byte(","))
		m, err := p.host(bytes.TrimLeft(word, " "), invert)
		if err != nil {
			return nil, err
		}
		list = append(list, m)
		if text = next; !comma {
			text = nil
		}
	}
	return list, nil
}

// maxHostName is the length of an address with its mask.
const maxHostName = 255

// host reads one address; equal words give the same pointer.
func (p *argumentParser) host(word []byte, invert bool) (*AddrMatch, error) {
	known := p.addrs
	if invert {
		known = p.invertedAddrs
	}
	if m, ok := known[string(word)]; ok {
		return m, nil
	}
	if len(word) > maxHostName {
		return nil, badParameter("Hostname too long")
	}
	m, err := parseHostMask(word, p.family)
	if err != nil {
		return nil, err
	}
	m.Addr, m.Invert = maskAddr(m.Addr, m.Mask), invert
	var result *AddrMatch
	if invert || m.Mask != p.family.facts().zero {
		result = p.addrSlab.alloc()
		*result = m
	}
	known[string(word)] = result
	return result, nil
}

// optionsOfCommand refuses base options that the command does not take, in the order of the tool.
func (p *argumentParser) optionsOfCommand() error {
	c := &p.cmd
	allowed := commandFlags[c.op]
	switch {
	case c.op == 'A' || c.op == 'I' || c.op == 'R':
		allowed += ruleLetters
	case c.isRuleCommand():
		allowed += strings.TrimSuffix(ruleLetters, "c")
	case c.op == 'P':
		allowed += "c"
	}
	for _, letter := range []byte("nsdpjvxio0cf") {
		if p.isGiven(letter) && strings.IndexByte(allowed, letter) < 0 {
			return badParameter("Illegal option `-%c' with this command", letter)
		}
	}
	return nil
}

// ruleLetters are the options about rules in the order of the given bits.
const ruleLetters = "sdpjiofc"

// isGiven says whether a base option that only some commands take was given.
func (p *argumentParser) isGiven(letter byte) bool {
	if i := strings.IndexByte(ruleLetters, letter); i >= 0 {
		return p.given&(1<<i) != 0
	}
	return bytes.IndexByte(p.cmd.optionOrder, letter) >= 0
}

// commandFlags are the flags among -n -v -x --line-numbers that each command takes.
var commandFlags = map[byte]string{'A': "v", 'C': "v", 'D': "v", 'I': "v", 'R': "v", 'L': "nvx0", 'S': "v",
	'F': "v", 'Z': "v", 'N': "v", 'X': "v", 'E': "v", 'P': "v"}

// devicesOfChain refuses a device that a built-in chain cannot know.
func (p *argumentParser) devicesOfChain() error {
	if p.given&(givenIn|givenOut) == 0 {
		return nil
	}
	switch p.cmd.chain {
	case "PREROUTING", "INPUT":
		if p.given&givenOut != 0 {
			return badParameter("Can't use -o with %s\n", p.cmd.chain)
		}
	case "POSTROUTING", "OUTPUT":
		if p.given&givenIn != 0 {
			return badParameter("Can't use -i with %s\n", p.cmd.chain)
		}
	}
	return nil
}
