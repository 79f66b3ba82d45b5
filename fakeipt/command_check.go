package fakeipt

import (
	"github.com/chainwalk/chainwalk/fakeipt/match"
	"github.com/chainwalk/chainwalk/fakeipt/xtables"
	"github.com/chainwalk/chainwalk/internal/libc"
	"github.com/chainwalk/chainwalk/netfilter"
)

// finish makes the checks of the whole command.
func (p *commandParser) finish() error {
	c := &p.cmd
	if c.table == "nat" && (c.policy == "DROP" || string(c.spec.jump) == "DROP") {
		return xtables.BadParameter("\nThe \"nat\" table is not intended for filtering, the use of DROP is therefore inhibited.\n\n")
	}
	if c.waitInterval && !c.wait {
		return xtables.BadParameter("--wait-interval only makes sense with --wait\n")
	}
	if err := p.extensions.finish(&c.spec); err != nil {
		return err
	}
	if _, more := p.args.peek(); more {
		return xtables.BadParameter("unknown arguments found on commandline")
	}
	if c.op == 0 {
		return xtables.BadParameter("no command specified")
	}
	if p.inv {
		return xtables.BadParameter("nothing appropriate following !")
	}
	if err := p.readAddresses(); err != nil {
		return err
	}
	if err := c.checkOptions(); err != nil {
		return err
	}
	if c.chainGiven && len(c.chain) > maxChainName {
		return xtables.BadParameter("chain name `%s' too long (must be under %d chars)", c.chain, maxChainName+1)
	}
	if err := c.checkDevices(); err != nil {
		return err
	}
	if p.Dialect() == netfilter.NFT && c.isRuleCommand() {
		return c.spec.protocolGiven()
	}
	return nil
}

// readAddresses reads what -s and -d say.
func (p *commandParser) readAddresses() error {
	spec := &p.cmd.spec
	var err error
	if spec.srcs, err = p.addresses.list(spec.srcs, spec.srcText, spec.srcInv); err != nil {
		return err
	}
	if spec.dsts, err = p.addresses.list(spec.dsts, spec.dstText, spec.dstInv); err != nil {
		return err
	}
	if len(spec.srcs) > 1 || len(spec.dsts) > 1 {
		if spec.srcInv || spec.dstInv {
			return xtables.BadParameter("! not allowed with multiple source or destination IP addresses")
		}
		if p.cmd.op == 'R' {
			return xtables.BadParameter("Replacement rule does not specify a unique address")
		}
	}
	return nil
}

// checkOptions refuses options that the command does not take, in the order of the tool.
func (c *command) checkOptions() error {
	for _, letter := range []byte("nsdpjvxio0cf") {
		if c.given.has(letter) && !c.takes(letter) {
			return xtables.BadParameter("Illegal option `-%c' with this command", letter)
		}
	}
	return nil
}

// checkDevices refuses a device that a built-in chain cannot know.
func (c *command) checkDevices() error {
	switch c.chain {
	case "PREROUTING", "INPUT":
		if c.given.has('o') {
			return xtables.BadParameter("Can't use -o with %s\n", c.chain)
		}
	case "POSTROUTING", "OUTPUT":
		if c.given.has('i') {
			return xtables.BadParameter("Can't use -i with %s\n", c.chain)
		}
	}
	return nil
}

// protocolGiven refuses ports without their protocol, which the nft tools see themselves.
func (spec *ruleSpec) protocolGiven() error {
	for _, m := range spec.matches {
		switch m := m.(type) {
		case *match.TCP:
			if m.NativeInNFT() && spec.proto.Number != libc.ProtoTCP {
				return xtables.BadParameter("TCP match requires '-p tcp'")
			}
		case *match.UDP:
			if m.NativeInNFT() && spec.proto.Number != libc.ProtoUDP {
				return xtables.BadParameter("UDP match requires '-p udp'")
			}
		}
	}
	return nil
}
