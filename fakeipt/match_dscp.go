package fakeipt

import (
	"fmt"
	"strings"

	"github.com/chainwalk/chainwalk/netfilter"
)

// maxDSCP is the greatest code point.
const maxDSCP = 63

// MatchDSCP is -m dscp: the code point of the packet's service, which is the upper six bits of what -m tos looks at.
type MatchDSCP struct {
	Value  uint8
	Invert bool
}

// Name is "dscp".
func (*MatchDSCP) Name() string { return "dscp" }

func (m *MatchDSCP) appendSave(dst []byte, _ netfilter.Family, _ netfilter.Dialect) []byte {
	return fmt.Appendf(appendOption(dst, "--dscp", m.Invert), " 0x%02x", m.Value)
}

func (m *MatchDSCP) appendList(dst []byte, _ listStyle) []byte {
	return fmt.Appendf(dst, " DSCP match %s0x%02x", bang(m.Invert), m.Value)
}

// dscpClasses are the names of code points (RFC 2474, RFC 2597, RFC 3246).
var dscpClasses = [...]struct {
	name  string
	value uint8
}{
	{"CS0", 0x00}, {"CS1", 0x08}, {"CS2", 0x10}, {"CS3", 0x18}, {"CS4", 0x20}, {"CS5", 0x28}, {"CS6", 0x30}, {"CS7", 0x38}, {"BE", 0x00},
	{"AF11", 0x0a}, {"AF12", 0x0c}, {"AF13", 0x0e}, {"AF21", 0x12}, {"AF22", 0x14}, {"AF23", 0x16}, {"AF31", 0x1a}, {"AF32", 0x1c},
	{"AF33", 0x1e}, {"AF41", 0x22}, {"AF42", 0x24}, {"AF43", 0x26}, {"EF", 0x2e},
}

// dscp reads a code point, or where class is set a name of one, behind which the tools do not look.
func (o *optionCall) dscp(class bool) (uint8, error) {
	if !class {
		n, err := o.number(0, maxDSCP)
		return uint8(n), err
	}
	for _, c := range dscpClasses {
		if len(o.arg) >= len(c.name) && strings.EqualFold(c.name, string(o.arg[:len(c.name)])) {
			return c.value, nil
		}
	}
	return 0, badParameter("Invalid DSCP value `%s'", o.arg)
}

var dscpExtension = &extension{
	name:     "dscp",
	options:  []optionSpec{{name: "dscp", invert: true, excludes: 2}, {name: "dscp-class", invert: true, excludes: 1}},
	newMatch: matchOf(valueParser[MatchDSCP]{read: (*MatchDSCP).read, whole: (*MatchDSCP).whole}),
}

func (m *MatchDSCP) read(o *optionCall) (err error) {
	m.Value, err = o.dscp(o.name == "dscp-class")
	m.Invert = o.invert
	return err
}

func (*MatchDSCP) whole(seen uint32) error {
	if seen == 0 {
		return badParameter("DSCP match: Parameter --dscp is required")
	}
	return nil
}
