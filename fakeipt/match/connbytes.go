package match

import (
	"bytes"
	"fmt"
	"math"
	"syscall"

	"github.com/chainwalk/chainwalk/fakeipt/xtables"
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

// Connbytes is -m connbytes. The counter is at least From and at most To; or, if From is more than To, it is not
// from To to From.
type Connbytes struct {
	From, To uint64
	Mode     ConnbytesMode
	Dir      ConnbytesDir
}

// Name is "connbytes".
func (*Connbytes) Name() string { return "connbytes" }

func (m *Connbytes) AppendSave(dst []byte, _ netfilter.Family, _ netfilter.Dialect) []byte {
	return m.appendOptions(dst, "--", "--connbytes-mode ", "--connbytes-dir ")
}

func (m *Connbytes) AppendList(dst []byte, _ xtables.ListStyle) []byte {
	return m.appendOptions(dst, "", "connbytes mode ", "connbytes direction ")
}

func (m *Connbytes) appendOptions(dst []byte, dashes, mode, dir string) []byte {
	from, to, invert := m.From, m.To, m.From > m.To
	if invert {
		from, to = to, from
	}
	dst = fmt.Appendf(xtables.AppendOption(dst, dashes, invert), "connbytes %d", from)
	if to != 0 && to != math.MaxUint64 {
		dst = fmt.Appendf(dst, ":%d", to)
	}
	return fmt.Appendf(dst, " %s%s %s%s", mode, connbytesModes[m.Mode], dir, connbytesDirs[m.Dir])
}

// Check: the kernel begins to count the packets of connections, if it does not yet, and goes on when the rule is gone.
func (*Connbytes) Check(c *xtables.CheckContext) syscall.Errno {
	c.Namespace.ForceAccounting()
	return 0
}

var connbytesExtension = &xtables.Extension{
	Name: "connbytes",
	Options: []xtables.Option{
		{Name: "connbytes", Invert: true, Mandatory: true}, {Name: "connbytes-dir", Mandatory: true},
		{Name: "connbytes-mode", Mandatory: true},
	},
	NewMatch: func() xtables.MatchParser { return &connbytesParser{} },
}

type connbytesParser struct {
	m     Connbytes
	arena xtables.Arena[Connbytes]
}

func (p *connbytesParser) Begin(netfilter.Family) { p.m = Connbytes{} }

func (p *connbytesParser) Option(o *xtables.OptionCall) error {
	switch o.Name {
	case "connbytes-dir":
		return oneOf(&p.m.Dir, connbytesDirs[:], o)
	case "connbytes-mode":
		return oneOf(&p.m.Mode, connbytesModes[:], o)
	}
	from, to, err := o.Numbers(math.MaxUint64)
	if err != nil {
		return err
	}
	if bytes.IndexByte(o.Arg, ':') < 0 {
		to = math.MaxUint64
	}
	if to < from {
		return xtables.BadParameter("%d should be less than %d", from, to)
	}
	if o.Invert {
		from, to = to, from
	}
	p.m.From, p.m.To = from, to
	return nil
}

// oneOf reads one of the words of an option.
func oneOf[T ~uint8](to *T, words []string, o *xtables.OptionCall) error {
	for i, word := range words {
		if word == string(o.Arg) {
			*to = T(i)
			return nil
		}
	}
	return xtables.BadParameter("Unknown --%s `%s'", o.Name, o.Arg)
}

func (p *connbytesParser) Finish(uint32) (xtables.Match, error) { return p.arena.Intern(p.m), nil }
