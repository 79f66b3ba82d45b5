package fakeipt

import (
	"bytes"
	"math"
	"strconv"
	"syscall"

	"github.com/chainwalk/chainwalk/internal/libc"
	"github.com/chainwalk/chainwalk/netfilter"
)

// MatchMH is -m mh (IPv6 only): the type of a message of mobile IP (RFC 6275).
type MatchMH struct {
	Min, Max uint8
	Invert   bool
}

// mhTypeNames are the names of the types from 0, each with a short one.
var mhTypeNames = [...][2]string{
	{"binding-refresh-request", "brr"}, {"home-test-init", "hoti"}, {"careof-test-init", "coti"}, {"home-test", "hot"},
	{"careof-test", "cot"}, {"binding-update", "bu"}, {"binding-acknowledgement", "ba"}, {"binding-error", "be"},
}

// Name is "mh".
func (*MatchMH) Name() string { return "mh" }

func (m *MatchMH) appendSave(dst []byte, _ netfilter.Family, _ netfilter.Dialect) []byte {
	if m.Min == 0 && m.Max == math.MaxUint8 {
		return dst
	}
	return m.appendRange(append(appendOption(dst, "--mh-type", m.Invert), ' '), true)
}

func (m *MatchMH) appendList(dst []byte, style listStyle) []byte {
	dst = append(dst, " mh"...)
	if m.Min == 0 && m.Max == math.MaxUint8 && !m.Invert {
		return dst
	}
	return m.appendRange(append(append(dst, ' '), bang(m.Invert)...), style.numeric)
}

func (m *MatchMH) appendRange(dst []byte, numeric bool) []byte {
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

func (*MatchMH) check(c *checkContext) syscall.Errno { return c.wantProto(libc.ProtoMH) }

var mhExtension = &extension{
	name:    "mh",
	onlyIn:  netfilter.IPv6,
	options: []optionSpec{{name: "mh-type", invert: true}},
	newMatch: matchOf(valueParser[MatchMH]{
		start: func(netfilter.Family) MatchMH { return MatchMH{Max: math.MaxUint8} },
		read:  (*MatchMH).read,
	}),
}

func (m *MatchMH) read(o *optionCall) (err error) {
	m.Invert = o.invert
	first, second, colon := bytes.Cut(o.arg, []byte(":"))
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
		return badParameter("Invalid MH type range (min > max)")
	}
	return nil
}

// parseMHType reads a name, the first one that begins so, or a number.
func parseMHType(word []byte) (uint8, error) {
	found := -1
	for number, names := range mhTypeNames {
		for _, name := range names {
			if beginsLike(name, word) && (found < 0 || len(word) == len(name)) {
				found = number
			}
		}
	}
	if found >= 0 {
		return uint8(found), nil
	}
	n, ok := libc.WholeNumber(word, math.MaxUint8)
	if !ok {
		return 0, badParameter("Invalid MH type `%s'", word)
	}
	return uint8(n), nil
}
