package fakeipt

import (
	"bytes"
	"fmt"

	"github.com/chainwalk/chainwalk/internal/libc"
	"github.com/chainwalk/chainwalk/netfilter"
)

// MatchMAC is -m mac: the link-layer address that the packet came from.
type MatchMAC struct {
	Source [6]byte
	Invert bool
}

// Name is "mac".
func (*MatchMAC) Name() string { return "mac" }

func (m *MatchMAC) appendSave(dst []byte, _ netfilter.Family, _ netfilter.Dialect) []byte {
	return m.appendAddr(append(appendOption(dst, "--mac-source", m.Invert), ' '))
}

func (m *MatchMAC) appendList(dst []byte, _ listStyle) []byte {
	dst = append(dst, " MAC"...)
	if m.Invert {
		dst = append(dst, " !"...)
	}
	return m.appendAddr(append(dst, ' '))
}

func (m *MatchMAC) appendAddr(dst []byte) []byte {
	a := m.Source
	return fmt.Appendf(dst, "%02x:%02x:%02x:%02x:%02x:%02x", a[0], a[1], a[2], a[3], a[4], a[5])
}

func (*MatchMAC) allowedHooks(bool) hookMask { return hookPrerouting | hookInput | hookForward }

var macExtension = &extension{
	name:     "mac",
	options:  []optionSpec{{name: "mac-source", invert: true, mandatory: true}},
	newMatch: func() matchParser { return &macParser{} },
}

type macParser struct {
	m     MatchMAC
	arena arena[MatchMAC]
}

func (p *macParser) begin(netfilter.Family) { p.m = MatchMAC{} }

func (p *macParser) option(o *optionCall) (err error) {
	p.m.Invert = o.invert
	p.m.Source, err = parseMAC(o.arg)
	return err
}

// parseMAC reads six hexadecimal numbers with colons between them, each of them as strtoul does: with a sign or a blank before it, or
// none at all, but of no more than two letters.
func parseMAC(s []byte) (mac [6]byte, err error) {
	for i := range mac {
		word, rest, more := bytes.Cut(s, []byte(":"))
		n, left := libc.CutHex(word)
		if len(left) > 0 || len(word) > 2 || more != (i < len(mac)-1) {
			return mac, badParameter("Invalid MAC address specified.")
		}
		mac[i], s = byte(n), rest
	}
	return mac, nil
}

func (p *macParser) finish(uint32) (Match, error) { return p.arena.intern(p.m), nil }
