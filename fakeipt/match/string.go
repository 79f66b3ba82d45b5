package match

import (
	"bytes"
	"fmt"
	"math"
	"strings"
	"syscall"

	"github.com/chainwalk/chainwalk/fakeipt/xtables"
	"github.com/chainwalk/chainwalk/internal/libc"
	"github.com/chainwalk/chainwalk/netfilter"
)

// String is -m string: the packet has the pattern between two places, counted from the beginning of its IP header.
type String struct {
	Pattern    string // bytes
	Algo       string // bm or kmp
	From, To   uint16 // the pattern begins at From or behind, and at To or before
	IgnoreCase bool
	Invert     bool
}

const (
	maxStringPattern = 128
	maxStringAlgo    = 15
)

// Name is "string".
func (*String) Name() string { return "string" }

func (m *String) AppendSave(dst []byte, _ netfilter.Family, _ netfilter.Dialect) []byte {
	option := "--string"
	if m.inHex() {
		option = "--hex-string"
	}
	dst = m.appendPattern(append(xtables.AppendOption(dst, option, m.Invert), ' '))
	return m.appendOptions(append(append(dst, " --algo "...), m.Algo...), " --from", " --to", " --icase")
}

func (m *String) AppendList(dst []byte, _ xtables.ListStyle) []byte {
	dst = append(append(append(dst, " STRING match "...), xtables.Bang(m.Invert)...), ' ')
	return m.appendOptions(append(append(m.appendPattern(dst), " ALGO name "...), m.Algo...), " FROM", " TO", " ICASE")
}

func (m *String) appendOptions(dst []byte, from, to, icase string) []byte {
	if m.From != 0 {
		dst = fmt.Appendf(dst, "%s %d", from, m.From)
	}
	if m.To != math.MaxUint16 {
		dst = fmt.Appendf(dst, "%s %d", to, m.To)
	}
	if m.IgnoreCase {
		dst = append(dst, icase...)
	}
	return dst
}

// inHex says that the pattern is printed by numbers: it ends in a backslash, or has bytes that are not printed.
func (m *String) inHex() bool {
	unprinted := strings.ContainsFunc(m.Pattern, func(r rune) bool { return r < ' ' || r > '~' })
	return unprinted || strings.HasSuffix(m.Pattern, "\\")
}

func (m *String) appendPattern(dst []byte) []byte {
	if m.inHex() {
		return fmt.Appendf(dst, "\"|%x|\"", m.Pattern)
	}
	dst = append(dst, '"')
	for i := range len(m.Pattern) {
		if c := m.Pattern[i]; c == '"' || c == '\\' {
			dst = append(dst, '\\')
		}
		dst = append(dst, m.Pattern[i])
	}
	return append(dst, '"')
}

func (m *String) Check(*xtables.CheckContext) syscall.Errno {
	switch {
	case m.From > m.To || m.Pattern == "":
		return syscall.EINVAL
	case m.Algo == "bm" || m.Algo == "kmp":
		return 0
	case m.Algo == "fsm":
		return syscall.EINVAL // its patterns are no text
	}
	return syscall.ENOENT
}

var stringExtension = &xtables.Extension{
	Name: "string",
	Options: []xtables.Option{
		{Name: "from"}, {Name: "to"}, {Name: "algo", Mandatory: true}, {Name: "string", Invert: true, Excludes: 1 << stringHex},
		{Name: "hex-string", Invert: true, Excludes: 1 << stringText}, {Name: "icase", Flag: true},
	},
	NewMatch: xtables.MatchOf(xtables.ValueParser[String]{
		Start: func(netfilter.Family) String { return String{To: math.MaxUint16} },
		Read:  (*String).read,
		Whole: (*String).whole,
	}),
}

// The places of options in stringExtension.
const (
	stringText = 3
	stringHex  = 4
)

func (m *String) read(o *xtables.OptionCall) error {
	switch o.Name {
	case "string":
		if len(o.Arg) > maxStringPattern {
			return xtables.BadParameter("STRING too long \"%s\"", o.Arg)
		}
		m.Pattern, m.Invert = string(o.Arg), o.Invert
		return nil
	case "hex-string":
		pattern, err := parseHexString(o.Arg)
		m.Pattern, m.Invert = string(pattern), o.Invert
		return err
	case "algo":
		m.Algo = string(o.Arg[:min(len(o.Arg), maxStringAlgo)])
		return nil
	case "icase":
		m.IgnoreCase = true
		return nil
	}
	n, err := o.Number(0, math.MaxUint16)
	if o.Name == "from" {
		m.From = uint16(n)
	} else {
		m.To = uint16(n)
	}
	return err
}

func (*String) whole(seen uint32) error {
	if seen&(1<<stringText|1<<stringHex) == 0 {
		return xtables.BadParameter("STRING match: You must specify `--string' or `--hex-string'")
	}
	return nil
}

// parseHexString reads a pattern with bytes as hexadecimal numbers between bars, as the tools do: the character behind a bar is
// no bar, and a backslash before one only counts outside of the numbers.
func parseHexString(s []byte) (pattern []byte, err error) {
	if len(s) == 0 {
		return nil, xtables.BadParameter("STRING must contain at least one char")
	}
	hex := false
	for i := 0; i < len(s); {
		if len(pattern) == maxStringPattern {
			return nil, xtables.BadParameter("STRING too long \"%s\"", s)
		}
		literal := false
		switch {
		case s[i] == '\\' && hex:
			return nil, xtables.BadParameter("Cannot include literals in hex data")
		case s[i] == '\\':
			literal = true
		case s[i] == '|':
			hex = !hex
			for hex && bytes.HasPrefix(s[i+1:], []byte(" ")) {
				i++
			}
			if i++; i == len(s) {
				return pattern, nil
			}
		}
		switch {
		case literal && i+1 == len(s):
			return nil, xtables.BadParameter("Bad literal placement at end of string")
		case literal:
			pattern, i = append(pattern, s[i+1]), i+2
		case hex:
			b, err := parseHexByte(s[i:])
			if err != nil {
				return nil, err
			}
			pattern = append(pattern, b)
			if i += 2; s[i] == ' ' {
				i++
			}
		default:
			pattern, i = append(pattern, s[i]), i+1
		}
	}
	return pattern, nil
}

// parseHexByte reads two digits, behind which something else has to stand.
func parseHexByte(s []byte) (byte, error) {
	switch len(s) {
	case 1:
		return 0, xtables.BadParameter("Odd number of hex digits")
	case 2:
		return 0, xtables.BadParameter("Invalid hex block")
	}
	for _, c := range s[:2] {
		if libc.Digit(c) > 15 {
			return 0, xtables.BadParameter("Invalid hex char '%s'", []byte{c})
		}
	}
	return byte(libc.Digit(s[0])<<4 | libc.Digit(s[1])), nil
}
