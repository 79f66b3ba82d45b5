package match

import (
	"fmt"
	"math"
	"strings"
	"syscall"

	"github.com/chainwalk/chainwalk/fakeipt/xtables"
	"github.com/chainwalk/chainwalk/internal/libc"
	"github.com/chainwalk/chainwalk/netfilter"
)

// U32 is -m u32: numbers of 32 bits in the packet, counted from the beginning of its IP header.
type U32 struct {
	Tests  []U32Test // all of them hold
	Invert bool
}

// U32Test is a number that is found by steps, and the ranges of which one has it.
type U32Test struct {
	Start  uint32 // where the first number is read
	Steps  []U32Step
	Values []xtables.NumberRange
}

// U32Step changes the number that was found, or reads another one.
type U32Step struct {
	Op     U32Op
	Number uint32
}

// U32Op is what a step does.
type U32Op uint8

// The steps, with the kernel's values. U32At moves the beginning by the number that was found, and reads the number at the step's.
const (
	U32And U32Op = iota
	U32LeftShift
	U32RightShift
	U32At
)

var u32Operators = [...]string{"&", "<<", ">>", "@"}

// maxU32 is how many tests a rule can have, how many numbers the place of one, and how many values.
const maxU32 = 10

// Name is "u32".
func (*U32) Name() string { return "u32" }

func (m *U32) AppendSave(dst []byte, _ netfilter.Family, _ netfilter.Dialect) []byte {
	return m.appendTests(append(xtables.AppendOption(dst, "--u32", m.Invert), ' '))
}

func (m *U32) AppendList(dst []byte, _ xtables.ListStyle) []byte {
	return m.appendTests(append(xtables.AppendFlags(append(dst, " u32"...), " ", xtables.WordIf("!", m.Invert)), ' '))
}

func (m *U32) appendTests(dst []byte) []byte {
	separator := `"`
	for _, t := range m.Tests {
		dst = xtables.AppendHex(append(dst, separator...), t.Start)
		for _, s := range t.Steps {
			dst = xtables.AppendHex(append(dst, u32Operators[s.Op]...), s.Number)
		}
		separator = "="
		for _, v := range t.Values {
			dst = xtables.AppendHex(append(dst, separator...), v.Min)
			if v.Min != v.Max {
				dst = xtables.AppendHex(append(dst, ':'), v.Max)
			}
			separator = ","
		}
		separator = "&&"
	}
	return append(dst, '"')
}

func (m *U32) Check(*xtables.CheckContext) syscall.Errno {
	for _, t := range m.Tests {
		for _, s := range t.Steps {
			if (s.Op == U32LeftShift || s.Op == U32RightShift) && s.Number >= 32 {
				return syscall.EINVAL
			}
		}
	}
	return 0
}

var u32Extension = &xtables.Extension{
	Name:     "u32",
	Options:  []xtables.Option{{Name: "u32", Invert: true, Mandatory: true}},
	NewMatch: func() xtables.MatchParser { return &u32Parser{} },
}

type u32Parser struct {
	m U32
}

func (p *u32Parser) Begin(netfilter.Family) { p.m = U32{} }

func (p *u32Parser) Option(o *xtables.OptionCall) (err error) {
	p.m.Invert = o.Invert
	r := u32Reader{text: o.Arg}
	for more := true; more && err == nil; {
		var t U32Test
		if t, err = r.location(); err != nil {
			break
		}
		if t.Values, err = r.values(); err != nil {
			break
		}
		p.m.Tests = append(p.m.Tests, t)
		more, err = r.and(len(p.m.Tests), len(t.Values) == 0)
	}
	return err
}

func (p *u32Parser) Finish(uint32) (xtables.Match, error) {
	m := p.m
	return &m, nil
}

// u32Reader reads the tests of an option.
type u32Reader struct {
	text []byte
	at   int
}

// next is the next byte that is no blank, 0 at the end.
func (r *u32Reader) next() byte {
	for r.at < len(r.text) && strings.IndexByte(" \t\n\v\f\r", r.text[r.at]) >= 0 {
		r.at++
	}
	if r.at == len(r.text) {
		return 0
	}
	return r.text[r.at]
}

func (r *u32Reader) errorAt(format string, args ...any) error {
	return xtables.BadParameter("u32: at char %d: %s", r.at, fmt.Sprintf(format, args...))
}

func (r *u32Reader) number() (uint32, error) {
	n, rest, ok := libc.CutNumber(r.text[r.at:])
	if !ok || n > math.MaxUint32 {
		return 0, r.errorAt("not a number or out of range")
	}
	r.at = len(r.text) - len(rest)
	return uint32(n), nil
}

// location reads up to "=".
func (r *u32Reader) location() (t U32Test, err error) {
	for count := 0; ; {
		var op U32Op
		switch c := r.next(); {
		case c == 0:
			return t, xtables.BadParameter("u32: abrupt end of input after location specifier")
		case c == '=' && count == 0:
			return t, r.errorAt("location spec missing")
		case c == '=':
			r.at++
			return t, nil
		case count > 0:
			if op, err = r.operator(); err != nil {
				return t, err
			}
		}
		n, err := r.number()
		if err != nil {
			return t, err
		}
		if count++; count > maxU32 {
			return t, r.errorAt("too many operators")
		}
		if count == 1 {
			t.Start = n
		} else {
			t.Steps = append(t.Steps, U32Step{op, n})
		}
	}
}

func (r *u32Reader) operator() (U32Op, error) {
	c := r.text[r.at]
	for op, name := range u32Operators {
		if c != name[0] {
			continue
		}
		if r.at++; len(name) == 2 {
			if r.at == len(r.text) || r.text[r.at] != c {
				return 0, r.errorAt("a second '%c' was expected", c)
			}
			r.at++
		}
		return U32Op(op), nil
	}
	return 0, r.errorAt("operator expected")
}

// values reads up to "&&" or the end.
func (r *u32Reader) values() (values []xtables.NumberRange, err error) {
	for {
		c := r.next()
		switch {
		case c == 0 && len(values) == 0:
			return nil, xtables.BadParameter("u32: test ended with no value specified")
		case c == 0 || c == '&':
			return values, nil
		case len(values) > 0 && c != ',':
			return nil, r.errorAt("expected \",\" or \"&&\"")
		case len(values) > 0:
			r.at++
		}
		var v xtables.NumberRange
		if v.Min, err = r.number(); err != nil {
			return nil, err
		}
		if v.Max = v.Min; r.next() == ':' {
			r.at++
			if v.Max, err = r.number(); err != nil {
				return nil, err
			}
		}
		if values = append(values, v); len(values) > maxU32 {
			return nil, r.errorAt("too many \",\"s")
		}
	}
}

// and reads "&&" behind so many tests, of which the last one must have values.
func (r *u32Reader) and(tests int, noValues bool) (more bool, err error) {
	if more = r.at < len(r.text); more {
		if r.at++; r.at == len(r.text) || r.text[r.at] != '&' {
			return true, r.errorAt("a second '&' was expected")
		}
		if noValues {
			return true, r.errorAt("value spec missing")
		}
	}
	if tests > maxU32 {
		return more, r.errorAt("too many \"&&\"s")
	}
	if more {
		r.at++
	}
	return more, nil
}
