package xtables

import (
	"fmt"
	"math"
	"strings"

	"github.com/chainwalk/chainwalk/internal/libc"
)

// DSCP reads a code point, or where class is set a name of one, behind which the tools do not look.
func (o *OptionCall) DSCP(class bool) (uint8, error) {
	if !class {
		n, err := o.Number(0, maxDSCP)
		return uint8(n), err
	}
	for _, c := range dscpClasses {
		if len(o.Arg) >= len(c.name) && strings.EqualFold(c.name, string(o.Arg[:len(c.name)])) {
			return c.value, nil
		}
	}
	return 0, BadParameter("Invalid DSCP value `%s'", o.Arg)
}

// TOS reads "VALUE[/MASK]" or a name.
func (o *OptionCall) TOS() (value, mask uint8, err error) {
	v, rest, ok := libc.CutNumber(o.Arg)
	if !ok || v > math.MaxUint8 {
		for _, n := range tosNames {
			if strings.EqualFold(n.name, string(o.Arg)) {
				return n.value, tosNamed, nil
			}
		}
		return 0, 0, BadParameter("Symbolic name \"%s\" is unknown", o.Arg)
	}
	m := uint64(math.MaxUint8)
	if len(rest) > 0 && rest[0] == '/' {
		m, rest, ok = libc.CutNumber(rest[1:])
	}
	if !ok || m > math.MaxUint8 || len(rest) > 0 {
		return 0, 0, BadParameter("Illegal value: \"%s\"", o.Arg)
	}
	return uint8(v), uint8(m), nil
}

// AppendTOS appends a value of -m tos and its mask.
func AppendTOS(dst []byte, value, mask uint8) []byte {
	return fmt.Appendf(dst, "0x%02x/0x%02x", value, mask)
}

// tosNamed is the mask of the values that have names: those of RFC 1349, without the bit above them.
const tosNamed = 0x3f

var tosNames = [...]struct {
	name  string
	value uint8
}{{"Minimize-Delay", 0x10}, {"Maximize-Throughput", 0x08}, {"Maximize-Reliability", 0x04}, {"Minimize-Cost", 0x02}, {"Normal-Service", 0}}

// TOSName is the name of a value, "" if it has none.
func TOSName(value, mask uint8) string {
	for _, n := range tosNames {
		if n.value == value && mask == tosNamed {
			return n.name
		}
	}
	return ""
}

// MaxECT is the greatest value of the two bits of the IP header that tell of congestion.
const MaxECT = 3

// maxDSCP is the greatest code point.
const maxDSCP = 63

// dscpClasses are the names of code points (RFC 2474, RFC 2597, RFC 3246).
var dscpClasses = [...]struct {
	name  string
	value uint8
}{
	{"CS0", 0x00}, {"CS1", 0x08}, {"CS2", 0x10}, {"CS3", 0x18}, {"CS4", 0x20}, {"CS5", 0x28}, {"CS6", 0x30}, {"CS7", 0x38}, {"BE", 0x00},
	{"AF11", 0x0a}, {"AF12", 0x0c}, {"AF13", 0x0e}, {"AF21", 0x12}, {"AF22", 0x14}, {"AF23", 0x16}, {"AF31", 0x1a}, {"AF32", 0x1c},
	{"AF33", 0x1e}, {"AF41", 0x22}, {"AF42", 0x24}, {"AF43", 0x26}, {"EF", 0x2e},
}
