package fakeipt

import (
	"bytes"
	"fmt"
	"math"
	"syscall"

	"github.com/chainwalk/chainwalk/netfilter"
)

// ConnbytesMode is what -m connbytes looks at.
type ConnbytesMode uint8

// The modes.
const (
	ConnbytesPackets ConnbytesMode = iota
	ConnbytesBytes
	ConnbytesAverage // avgpkt: bytes of a packet
)

var connbytesModes = [...]string{"packets", "bytes", "avgpkt"}

// ConnbytesDir is the direction of a connection whose packets -m connbytes counts.
type ConnbytesDir uint8

// The directions.
const (
	ConnbytesOriginal ConnbytesDir = iota
	ConnbytesReply
	ConnbytesBoth
)

var connbytesDirs = [...]string{"original", "reply", "both"}

// MatchConnbytes is -m connbytes. The counter is at least From and at most To; or, if From is more than To, it is not
// from To to From.
type MatchConnbytes struct {
	From, To uint64
	Mode     ConnbytesMode
	Dir      ConnbytesDir
}

// Name is "connbytes".
func (*MatchConnbytes) Name() string { return "connbytes" }

func (m *MatchConnbytes) appendSave(dst []byte, _ netfilter.Family, _ netfilter.Dialect) []byte {
	return m.appendOptions(dst, "--", "--connbytes-mode ", "--connbytes-dir ")
}

func (m *MatchConnbytes) appendList(dst []byte, _ listStyle) []byte {
	return m.appendOptions(dst, "", "connbytes mode ", "connbytes direction ")
}

func (m *MatchConnbytes) appendOptions(dst []byte, dashes, mode, dir string) []byte {
	from, to, invert := m.From, m.To, m.From > m.To
	if invert {
		from, to = to, from
	}
	dst = fmt.Appendf(appendOption(dst, dashes, invert), "connbytes %d", from)
	if to != 0 && to != math.MaxUint64 {
		dst = fmt.Appendf(dst, ":%d", to)
	}
	return fmt.Appendf(dst, " %s%s %s%s", mode, connbytesModes[m.Mode], dir, connbytesDirs[m.Dir])
}

// check: the kernel begins to count the packets of connections, if it does not yet, and goes on when the rule is gone.
func (*MatchConnbytes) check(c *checkContext) syscall.Errno {
	c.namespace.ForceAccounting()
	return 0
}

var connbytesExtension = &extension{
	name: "connbytes",
	options: []optionSpec{
		{name: "connbytes", invert: true, mandatory: true}, {name: "connbytes-dir", mandatory: true},
		{name: "connbytes-mode", mandatory: true},
	},
	newMatch: func() matchParser { return &connbytesParser{} },
}

type connbytesParser struct {
	m     MatchConnbytes
	arena arena[MatchConnbytes]
}

func (p *connbytesParser) begin(netfilter.Family) { p.m = MatchConnbytes{} }

func (p *connbytesParser) option(o *optionCall) error {
	switch o.name {
	case "connbytes-dir":
		return oneOf(&p.m.Dir, connbytesDirs[:], o)
	case "connbytes-mode":
		return oneOf(&p.m.Mode, connbytesModes[:], o)
	}
	from, to, err := o.numbers(math.MaxUint64)
	if err != nil {
		return err
	}
	if bytes.IndexByte(o.arg, ':') < 0 {
		to = math.MaxUint64
	}
	if to < from {
		return badParameter("%d should be less than %d", from, to)
	}
	if o.invert {
		from, to = to, from
	}
	p.m.From, p.m.To = from, to
	return nil
}

// oneOf reads one of the words of an option.
func oneOf[T ~uint8](to *T, words []string, o *optionCall) error {
	for i, word := range words {
		if word == string(o.arg) {
			*to = T(i)
			return nil
		}
	}
	return badParameter("Unknown --%s `%s'", o.name, o.arg)
}

func (p *connbytesParser) finish(uint32) (Match, error) { return p.arena.intern(p.m), nil }
