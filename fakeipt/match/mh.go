package match

import (
	"bytes"
	"math"
	"strconv"
	"syscall"

	"github.com/chainwalk/chainwalk/fakeipt/xtables"
	"github.com/chainwalk/chainwalk/internal/libc"
	"github.com/chainwalk/chainwalk/netfilter"
)

// MH is -m mh (IPv6 only): the type of a message of mobile IP (RFC 6275).
type MH struct {
	Min, Max uint8
	Invert   bool
}

// mhTypeNames are the names of the types from 0, each with a short one.
var mhTypeNames = [...][2]string{
	{"binding-refresh-request", "brr"}, {"home-test-init", "hoti"}, {"careof-test-init", "coti"}, {"home-test", "hot"},
	{"careof-test", "cot"}, {"binding-update", "bu"}, {"binding-acknowledgement", "ba"}, {"binding-error", "be"},
}

// Name is "mh".
func (*MH) Name() string { return "mh" }

func (m *MH) AppendSave(dst []byte, _ netfilter.Family, _ netfilter.Dialect) []byte {
	if m.Min == 0 && m.Max == math.MaxUint8 {
		return dst
	}
	return m.appendRange(append(xtables.AppendOption(dst, "--mh-type", m.Invert), ' '), true)
}

func (m *MH) AppendList(dst []byte, style xtables.ListStyle) []byte {
	dst = append(dst, " mh"...)
	if m.Min == 0 && m.Max == math.MaxUint8 && !m.Invert {
		return dst
	}
	return m.appendRange(append(append(dst, ' '), xtables.Bang(m.Invert)...), style.Numeric)
}

func (m *MH) appendRange(dst []byte, numeric bool) []byte {
	dst = appendMHType(dst, m.Min, numeric)
	if m.Min != m.Max {
		dst = appendMHType(append(dst, ':'), m.Max, numeric)
	}
	return dst
}

func appendMHType(dst []byte, number uint8, numeric bool) []byte {
	if int(number) < len(mhTypeNames) && !numeric {
		return append(dst, mhTypeNames[number][0]...)
	}
	return strconv.AppendUint(dst, uint64(number), 10)
}

func (*MH) Check(c *xtables.CheckContext) syscall.Errno { return c.WantProto(libc.ProtoMH) }

var mhExtension = &xtables.Extension{
	Name:    "mh",
	OnlyIn:  netfilter.IPv6,
	Options: []xtables.Option{{Name: "mh-type", Invert: true}},
	NewMatch: xtables.MatchOf(xtables.ValueParser[MH]{
		Start: func(netfilter.Family) MH { return MH{Max: math.MaxUint8} },
		Read:  (*MH).read,
	}),
}

func (m *MH) read(o *xtables.OptionCall) (err error) {
	m.Invert = o.Invert
	first, second, colon := bytes.Cut(o.Arg, []byte(":"))
	if !colon {
		m.Min, err = parseMHType(first)
		m.Max = m.Min
		return err
	}
	if len(first) > 0 {
		if m.Min, err = parseMHType(first); err != nil {
			return err
		}
	}
	if len(second) > 0 {
		if m.Max, err = parseMHType(second); err != nil {
			return err
		}
	}
	if m.Min > m.Max {
		return xtables.BadParameter("Invalid MH type range (min > max)")
	}
	return nil
}

// parseMHType reads a name, the first one that begins so, or a number.
func parseMHType(word []byte) (uint8, error) {
	found := -1
	for number, names := range mhTypeNames {
		for _, name := range names {
			if xtables.BeginsLike(name, word) && (found < 0 || len(word) == len(name)) {
				found = number
			}
		}
	}
	if found >= 0 {
		return uint8(found), nil
	}
	n, ok := libc.WholeNumber(word, math.MaxUint8)
	if !ok {
		return 0, xtables.BadParameter("Invalid MH type `%s'", word)
	}
	return uint8(n), nil
}
