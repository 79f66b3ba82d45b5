package fakeipt

import (
	"strings"

	"github.com/chainwalk/chainwalk/netfilter"
)

// longOptions are the long names of the options that are not an extension's. '0' stands for --line-numbers, which has
// no letter.
var longOptions = map[string]byte{
	"append": 'A', "check": 'C', "delete": 'D', "insert": 'I', "replace": 'R', "list": 'L', "list-rules": 'S',
	"flush": 'F', "zero": 'Z', "new-chain": 'N', "new": 'N', "delete-chain": 'X', "rename-chain": 'E', "policy": 'P',
	"source": 's', "src": 's', "destination": 'd', "dst": 'd', "protocol": 'p', "proto": 'p', "in-interface": 'i',
	"out-interface": 'o', "jump": 'j', "goto": 'g', "match": 'm', "table": 't', "numeric": 'n', "verbose": 'v',
	"exact": 'x', "fragments": 'f', "fragment": 'f', "line-numbers": '0', "set-counters": 'c', "wait": 'w',
	"wait-interval": 'W', "modprobe": 'M', "version": 'V', "help": 'h', "ipv4": '4', "ipv6": '6',
}

const (
	// lettersAlone are the options without an argument that are about the command.
	lettersAlone = "vnxh0V46"
	// lettersWithout are the options that take no argument behind "=".
	lettersWithout = "nvxf0V46"
)

// lacks says that the tool does not have the long name of an option.
func (p *commandParser) lacks(letter byte) bool {
	return letter == 'f' && p.family == netfilter.IPv6 && p.Dialect() == netfilter.Legacy
}

// abbreviation looks for the only long option that begins so. It gives the letter of a standard option; an extension's
// it acts on.
func (p *commandParser) abbreviation(name, value []byte) (letter byte, err error, ok bool) {
	if len(name) == 0 {
		return 0, nil, false
	}
	matches := 0
	for long, l := range longOptions {
		if strings.HasPrefix(long, string(name)) && l != letter && !p.lacks(l) {
			letter, matches = l, matches+1
		}
	}
	full, ofExtensions := p.extensions.abbreviated(string(name))
	if matches+ofExtensions != 1 {
		return 0, nil, false
	}
	if full == "" {
		return letter, nil, true
	}
	if _, more := p.args.peek(); !more && value == nil && p.extensions.wantsArgument([]byte(full)) &&
		p.extensions.loadProtocol(p.cmd.spec.proto.Number, p.protocol) {
		// The tool looks again now, and may find an option of the protocol's own match as well: a second time if the rule had named that match
		// before.
		full, ofExtensions = p.extensions.abbreviated(string(name))
		if ofExtensions+p.extensions.abbreviatedAgain(string(name)) != 1 {
			return 0, nil, false
		}
	}
	err, ok = p.extensionOption([]byte(full), value)
	return 0, err, ok
}
