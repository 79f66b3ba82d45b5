package fakeipt

import (
	"syscall"

	"github.com/chainwalk/chainwalk/internal/libc"
	"github.com/chainwalk/chainwalk/netfilter"
)

// MatchAH is -m ah: the authentication header of IPsec.
type MatchAH struct {
	SPI NumberRange
	// The length of the header and whether its reserved field is 0 are asked of IPv6 packets only. A Length of 0 that is not inverted
	// is any.
	Length   HeaderLength
	Reserved bool
}

// Name is "ah".
func (*MatchAH) Name() string { return "ah" }

// asksLength says that the length counts.
func (m *MatchAH) asksLength() bool { return m.Length != HeaderLength{} }

func (m *MatchAH) appendSave(dst []byte, _ netfilter.Family, _ netfilter.Dialect) []byte {
	dst = m.SPI.appendSave(dst, "--ahspi")
	if m.asksLength() {
		dst = m.Length.appendSave(dst, "--ahlen")
	}
	return appendFlags(dst, " --", flagWord{"ahres", m.Reserved})
}

func (m *MatchAH) appendList(dst []byte, _ listStyle) []byte {
	dst = m.SPI.appendList(append(dst, " ah "...), "spi")
	if m.asksLength() {
		dst = m.Length.appendList(dst)
	}
	return appendFlags(dst, " ", flagWord{"reserved", m.Reserved})
}

func (*MatchAH) check(c *checkContext) syscall.Errno {
	if c.family == netfilter.IPv6 {
		return 0
	}
	return c.wantProto(libc.ProtoAH)
}

var (
	ahExtension  = &extension{name: "ah", onlyIn: netfilter.IPv4, options: ahOptions[:1], newMatch: newAHMatch}
	ah6Extension = &extension{name: "ah", onlyIn: netfilter.IPv6, options: ahOptions, newMatch: newAHMatch}
)

var ahOptions = []optionSpec{{name: "ahspi", invert: true}, {name: "ahlen", invert: true}, {name: "ahres", flag: true}}

var newAHMatch = matchOf(valueParser[MatchAH]{start: func(netfilter.Family) MatchAH { return MatchAH{SPI: anyNumber} }, read: (*MatchAH).read})

func (m *MatchAH) read(o *optionCall) (err error) {
	switch o.name {
	case "ahspi":
		m.SPI, err = o.numberRange()
	case "ahlen":
		m.Length, err = o.headerLength()
	case "ahres":
		m.Reserved = true
	}
	return err
}
