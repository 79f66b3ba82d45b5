package fakeipt

import (
	"bytes"
	"strings"

	"github.com/chainwalk/chainwalk/fakeipt/match"
	"github.com/chainwalk/chainwalk/fakeipt/target"
	"github.com/chainwalk/chainwalk/fakeipt/xtables"
	"github.com/chainwalk/chainwalk/internal/libc"
	"github.com/chainwalk/chainwalk/netfilter"
)

// ruleOption acts on an option about the rule.
func (p *commandParser) ruleOption(letter byte, attached, word []byte) error {
	if letter == 'c' {
		return p.countersOption(attached)
	}
	arg, ok := p.args.argument(attached)
	if !ok {
		return p.args.noArgument()
	}
	if (letter == 'i' || letter == 'o') && len(arg) == 0 {
		return errEmptyDevice
	}
	if attached != nil && strings.IndexByte("sdpjio", letter) >= 0 {
		// The tool reads the whole word here, or the one before if it has gone back.
		if arg = word; p.again {
			arg = p.args.back(0)
		}
	}
	spec := &p.cmd.spec
	switch letter {
	case 's':
		spec.srcText, spec.srcInv = arg, p.inv
		return p.once('s', true)
	case 'd':
		spec.dstText, spec.dstInv = arg, p.inv
		return p.once('d', true)
	case 'p':
		return p.protocolOption(arg)
	case 'i':
		return p.deviceOption('i', arg, &spec.in)
	case 'o':
		return p.deviceOption('o', arg, &spec.out)
	}
	return p.jumpOption(letter, arg)
}

// once notes an option that may be given once.
func (p *commandParser) once(letter byte, invertible bool) error {
	if p.cmd.given.has(letter) {
		return xtables.BadParameter("multiple -%c flags not allowed", letter)
	}
	p.cmd.given.add(letter)
	if p.inv && !invertible {
		return xtables.BadParameter("cannot have ! before -%c", letter)
	}
	return nil
}

func (p *commandParser) fragmentOption() error {
	if p.family == netfilter.IPv6 {
		return xtables.BadParameter("`-f' is not supported in IPv6, use -m frag instead")
	}
	p.cmd.spec.fragment = xtables.FragmentOnly
	if p.inv {
		p.cmd.spec.fragment = xtables.FragmentNot
	}
	return p.once('f', true)
}

func (p *commandParser) countersOption(attached []byte) error {
	packets, ok := p.args.argument(attached)
	if !ok {
		return p.args.noArgument()
	}
	if err := p.once('c', false); err != nil {
		return err
	}
	var bytesText []byte
	if i := bytes.IndexByte(packets, ','); i > 0 {
		packets, bytesText = packets[:i], packets[i+1:]
	} else if word, ok := p.args.further(); ok {
		bytesText = word
	} else {
		return xtables.BadParameter("-c requires packet and byte counter")
	}
	spec := &p.cmd.spec
	if spec.packets, ok = libc.ScanUnsigned(packets); !ok {
		return xtables.BadParameter("-c packet counter not numeric")
	}
	if spec.bytes, ok = libc.ScanUnsigned(bytesText); !ok {
		return xtables.BadParameter("-c byte counter not numeric")
	}
	// The nft tools forget the counters of IPv6 rules.
	spec.counters = p.Dialect() == netfilter.Legacy || p.family == netfilter.IPv4 || p.run == nil
	return nil
}

func (p *commandParser) protocolOption(arg []byte) error {
	if err := p.once('p', true); err != nil {
		return err
	}
	spec := &p.cmd.spec
	p.protocol = arg
	switch string(arg) {
	case "tcp":
		spec.proto.Number = libc.ProtoTCP
	case "udp":
		spec.proto.Number = libc.ProtoUDP
	default:
		number, err := xtables.ParseProtocol(libc.Lower(arg))
		if err != nil {
			return err
		}
		if number == 0 && p.inv {
			return xtables.BadParameter("rule would never match protocol")
		}
		spec.proto.Number = number
	}
	spec.proto.Invert = p.inv
	spec.proto.All = spec.proto.Number == 0 && p.family == netfilter.IPv6 && p.Dialect() == netfilter.Legacy
	if p.family == netfilter.IPv6 && !p.inv && xtables.IsExtensionHeader(spec.proto.Number) {
		p.Warn("Warning: never matched protocol: %s. use extension match instead.\n", libc.Lower(arg))
	}
	return nil
}

func (p *commandParser) deviceOption(letter byte, arg []byte, to **xtables.IfaceMatch) (err error) {
	if err := p.once(letter, true); err != nil {
		return err
	}
	if *to, err = p.devices.read(arg, p.inv); err == nil {
		xtables.WarnOfDevice(p, arg)
	}
	return err
}

func (p *commandParser) jumpOption(letter byte, arg []byte) error {
	if err := p.once('j', false); err != nil {
		return err
	}
	switch {
	case len(arg) == 0:
		return xtables.BadParameter("Invalid target name (too short)")
	case len(arg) > maxChainName:
		return xtables.BadParameter("Invalid target name `%s' (%d chars max)", arg, maxChainName)
	case bytes.ContainsAny(arg, " \t\n\v\f\r"):
		return xtables.BadParameter("Invalid target name `%s'", arg)
	}
	spec := &p.cmd.spec
	spec.jump, spec.isGoto = arg, letter == 'g'
	if spec.isGoto {
		return nil
	}
	// To the nft tools all verdicts are of the target "standard".
	if kind, ok := xtables.FindVerdict(arg); ok && !p.verdictsHidden() {
		spec.target = &p.verdicts[kind]
		return nil
	}
	if string(arg) == xtables.QueueName && !p.verdictsHidden() {
		spec.target = &xtables.Queue{}
		return nil
	}
	if ext := target.Find(arg, p.family); ext != nil && !p.hidden[string(arg)] && !p.elsewhere(ext) {
		p.warnOfGone(ext)
		p.extensions.loadTarget(ext)
	}
	return nil
}

func (p *commandParser) matchOption(attached []byte) error {
	name, ok := p.args.argument(attached)
	if !ok {
		return p.args.noArgument()
	}
	switch {
	case p.inv:
		return xtables.BadParameter("unexpected ! flag before --match")
	case len(name) > maxChainName:
		return xtables.BadParameter("Invalid match name \"%s\" (%d chars max)", name, maxChainName)
	}
	ext := match.Find(name, p.family)
	if ext == nil || p.elsewhere(ext) {
		if p.opaqueMatch(name) {
			return nil
		}
		if n := string(name); n == "icmpv6" || n == "ipv6-icmp" {
			// Other names of the match, under which the tool looks for it.
			name = []byte("icmp6")
		}
		return xtables.BadParameter("Couldn't load match `%s':No such file or directory\n", name)
	}
	p.warnOfGone(ext)
	p.extensions.loadMatch(ext)
	return nil
}

// elsewhere says that another machine has a rule with an extension of which nothing is kept here.
func (p *commandParser) elsewhere(ext *xtables.Extension) bool { return ext.Gone && p.run == nil }
