package match

import (
	"bytes"
	"strconv"

	"github.com/chainwalk/chainwalk/fakeipt/xtables"
	"github.com/chainwalk/chainwalk/internal/libc"
	"github.com/chainwalk/chainwalk/netfilter"
)

// IPv6Opts is -m hbh, and with Destination set -m dst (IPv6 only): the header with options for every router, or for the destination.
type IPv6Opts struct {
	Destination bool
	HasLength   bool
	Length      xtables.HeaderLength

	options [maxIPv6Options]ipv6Option
	count   uint8
}

// maxIPv6Options is how many options a rule can name.
const maxIPv6Options = 16

// ipv6Option is an option in such a header.
type ipv6Option struct {
	Type uint8
	// Length is that of the option's value, in bytes; anyOptionLength is any.
	Length uint8
}

// anyOptionLength is the length of an option of which the rule says none.
const anyOptionLength = 255

// anyLength says whether the option may have any length.
func (o ipv6Option) anyLength() bool { return o.Length == anyOptionLength }

// given returns the options that the header must begin with, in this order.
func (m *IPv6Opts) given() []ipv6Option { return m.options[:m.count] }

// Name is "hbh" or "dst".
func (m *IPv6Opts) Name() string {
	if m.Destination {
		return "dst"
	}
	return "hbh"
}

func (m *IPv6Opts) AppendSave(dst []byte, _ netfilter.Family, _ netfilter.Dialect) []byte {
	option := "--" + m.Name()
	if m.HasLength {
		dst = m.Length.AppendSave(dst, option+"-len")
	}
	if m.count > 0 {
		dst = m.appendOptions(append(append(append(dst, ' '), option...), "-opts "...))
	}
	return dst
}

func (m *IPv6Opts) AppendList(dst []byte, _ xtables.ListStyle) []byte {
	dst = append(append(dst, ' '), m.Name()...)
	if m.HasLength {
		dst = m.Length.AppendList(append(dst, ' '))
	}
	if m.count > 0 {
		dst = m.appendOptions(append(dst, " opts "...))
	}
	return dst
}

func (m *IPv6Opts) appendOptions(dst []byte) []byte {
	for i, o := range m.given() {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = strconv.AppendUint(dst, uint64(o.Type), 10)
		if !o.anyLength() {
			dst = strconv.AppendUint(append(dst, ':'), uint64(o.Length), 10)
		}
	}
	return dst
}

var (
	hbhExtension = &xtables.Extension{
		Name: "hbh", OnlyIn: netfilter.IPv6, NewMatch: newIPv6OptsMatch(false),
		Options: []xtables.Option{{Name: "hbh-len", Invert: true}, {Name: "hbh-opts"}},
	}
	dstExtension = &xtables.Extension{
		Name: "dst", OnlyIn: netfilter.IPv6, NewMatch: newIPv6OptsMatch(true),
		Options: []xtables.Option{{Name: "dst-len", Invert: true}, {Name: "dst-opts"}},
	}
)

func newIPv6OptsMatch(destination bool) func() xtables.MatchParser {
	return xtables.MatchOf(xtables.ValueParser[IPv6Opts]{
		Start: func(netfilter.Family) IPv6Opts { return IPv6Opts{Destination: destination} },
		Read:  (*IPv6Opts).read,
	})
}

func (m *IPv6Opts) read(o *xtables.OptionCall) (err error) {
	if o.Name == m.Name()+"-len" {
		m.HasLength = true
		m.Length, err = o.HeaderLength()
		return err
	}
	list := bytes.Split(o.Arg, []byte(","))
	for i := range min(len(list), maxIPv6Options) {
		if i == maxIPv6Options-1 && bytes.IndexByte(list[i], ':') >= 0 {
			return xtables.BadParameter("too many ports specified")
		}
		if m.options[i], err = m.parseOption(list[i]); err != nil {
			return err
		}
	}
	if len(list) > maxIPv6Options {
		return xtables.BadParameter("too many addresses specified")
	}
	m.count = uint8(len(list))
	return nil
}

// parseOption reads "TYPE[:LENGTH]", of which the tools keep 8 bits each.
func (m *IPv6Opts) parseOption(word []byte) (option ipv6Option, err error) {
	first, second, colon := bytes.Cut(word, []byte(":"))
	option.Length = anyOptionLength
	if option.Type, err = m.parseByte("opt", first); err != nil || !colon {
		return option, err
	}
	if option.Type == 0 {
		if m.Destination {
			return option, xtables.BadParameter("PAD0 hasn't got length")
		}
		return option, xtables.BadParameter("PAD0 has not got length")
	}
	option.Length, err = m.parseByte("length", second)
	return option, err
}

// parseByte reads a number as C's strtoul does and keeps the lowest 8 bits.
func (m *IPv6Opts) parseByte(what string, word []byte) (uint8, error) {
	digits, negative := bytes.CutPrefix(word, []byte("-"))
	n, rest, ok := libc.CutNumber(digits)
	switch {
	case !ok && n == 0:
		return 0, xtables.BadParameter("%s: no valid digits in %s `%s'", m.Name(), what, word)
	case !ok:
		return 0, xtables.BadParameter("%s `%s' specified too big: would overflow", what, word)
	case len(rest) > 0:
		return 0, xtables.BadParameter("%s: error parsing %s `%s'", m.Name(), what, word)
	case negative:
		n = -n
	}
	return uint8(n), nil
}
