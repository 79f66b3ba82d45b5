package match

import (
	"syscall"

	"github.com/chainwalk/chainwalk/fakeipt/xtables"
	"github.com/chainwalk/chainwalk/internal/libc"
	"github.com/chainwalk/chainwalk/netfilter"
)

// AH is -m ah: the authentication header of IPsec.
type AH struct {
	SPI xtables.NumberRange
	// The length of the header and whether its reserved field is 0 are asked of IPv6 packets only. A Length of 0 that is not inverted
	// is any.
	Length   xtables.HeaderLength
	Reserved bool
}

// Name is "ah".
func (*AH) Name() string { return "ah" }

// asksLength says that the length counts.
func (m *AH) asksLength() bool { return m.Length != xtables.HeaderLength{} }

func (m *AH) AppendSave(dst []byte, _ netfilter.Family, _ netfilter.Dialect) []byte {
	dst = m.SPI.AppendSave(dst, "--ahspi")
	if m.asksLength() {
		dst = m.Length.AppendSave(dst, "--ahlen")
	}
	return xtables.AppendFlags(dst, " --", xtables.WordIf("ahres", m.Reserved))
}

func (m *AH) AppendList(dst []byte, _ xtables.ListStyle) []byte {
	dst = m.SPI.AppendList(append(dst, " ah "...), "spi")
	if m.asksLength() {
		dst = m.Length.AppendList(dst)
	}
	return xtables.AppendFlags(dst, " ", xtables.WordIf("reserved", m.Reserved))
}

func (*AH) Check(c *xtables.CheckContext) syscall.Errno {
	if c.Family == netfilter.IPv6 {
		return 0
	}
	return c.WantProto(libc.ProtoAH)
}

var (
	ahExtension  = &xtables.Extension{Name: "ah", OnlyIn: netfilter.IPv4, Options: ahOptions[:1], NewMatch: newAHMatch}
	ah6Extension = &xtables.Extension{Name: "ah", OnlyIn: netfilter.IPv6, Options: ahOptions, NewMatch: newAHMatch}
)

var ahOptions = []xtables.Option{{Name: "ahspi", Invert: true}, {Name: "ahlen", Invert: true}, {Name: "ahres", Flag: true}}

var newAHMatch = xtables.MatchOf(xtables.ValueParser[AH]{
	Start: func(netfilter.Family) AH { return AH{SPI: xtables.AnyNumber} },
	Read:  (*AH).read,
})

func (m *AH) read(o *xtables.OptionCall) (err error) {
	switch o.Name {
	case "ahspi":
		m.SPI, err = o.NumberRange()
	case "ahlen":
		m.Length, err = o.HeaderLength()
	case "ahres":
		m.Reserved = true
	}
	return err
}
