package parse

import (
	"github.com/chainwalk/chainwalk/fakenft/syntax"
	"github.com/chainwalk/chainwalk/netfilter/nftables"
)

// handleParser takes families, and the names and handles of tables and of what is in them.
type handleParser struct{ *stream }

// explicitFamily takes the name of a family, if one comes.
func (p *handleParser) explicitFamily() (nftables.Family, bool) {
	var f nftables.Family
	switch p.peek() {
	case tokIp:
		p.take()
		p.close(scopeIP)
		return nftables.IPv4, true
	case tokIp6:
		p.take()
		p.close(scopeIP6)
		return nftables.IPv6, true
	case tokArp:
		p.take()
		p.close(scopeARP)
		return nftables.ARP, true
	case tokInet:
		f = nftables.Inet
	case tokBridge:
		f = nftables.Bridge
	case tokNetdev:
		f = nftables.Netdev
	default:
		return 0, false
	}
	p.take()
	return f, true
}

// family takes a family; without one it is that of IPv4.
func (p *handleParser) family(h *syntax.Handle) {
	h.Family, h.FamilyGiven = p.explicitFamily()
	if !h.FamilyGiven {
		h.Family = nftables.IPv4
	}
}

// rulesetSpec takes a family; without one it is all of them, 0.
func (p *handleParser) rulesetSpec(h *syntax.Handle) { h.Family, h.FamilyGiven = p.explicitFamily() }

func (p *handleParser) tableSpec(h *syntax.Handle) {
	p.family(h)
	h.Table, h.TableLoc = p.identifier(), p.last
}

func (p *handleParser) chainSpec(h *syntax.Handle) {
	p.tableSpec(h)
	h.Chain, h.ChainLoc = p.identifier(), p.last
}

// nameSpec takes a table and the name of a set, a flowtable or an object.
func (p *handleParser) nameSpec(h *syntax.Handle) {
	p.tableSpec(h)
	h.Name, h.NameLoc = p.identifier(), p.last
}

// nameOrHandle takes the same or a handle. It says whether it was the name.
func (p *handleParser) nameOrHandle(h *syntax.Handle) bool {
	p.tableSpec(h)
	if p.peek() == tokHandle {
		p.handle(h)
		return false
	}
	h.Name, h.NameLoc = p.identifier(tokHandle), p.last
	return true
}

// handle takes "handle" and a number.
func (p *handleParser) handle(h *syntax.Handle) {
	p.expect(tokHandle)
	h.Number = p.number()
	h.NumberLoc = p.last
}

func (p *handleParser) ruleHandle(h *syntax.Handle) {
	p.chainSpec(h)
	p.handle(h)
}
