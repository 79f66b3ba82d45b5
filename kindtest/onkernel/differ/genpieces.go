package differ

import (
	"strings"

	"github.com/chainwalk/chainwalk/netfilter"
)

// piece is one kind of match or target. The generator picks pieces by weight.
type piece struct {
	name   string
	weight int
	// tables and hooks are where it is legal, separated by blanks; empty is everywhere.
	tables, hooks string
	// proto is the protocol that the rule must name for it: tcp, udp, sctp, icmp, or "ports" for the first three.
	proto  string
	family netfilter.Family // 0: both
	make   func(g *gen) string
}

// some makes a piece that is one of a few texts.
func some(texts ...string) func(*gen) string {
	return func(g *gen) string { return g.oneOf(texts...) }
}

// allPieces are both kinds with the kind's name.
func allPieces() map[string]piece {
	all := map[string]piece{}
	for _, p := range matchPieces {
		all["match "+p.name] = p
	}
	for _, p := range targetPieces {
		all["target "+p.name] = p
	}
	all["match random"] = randomPiece
	return all
}

// fits says whether the piece may stand in a rule of the table in the chain.
func (p *piece) fits(g *gen, table string, c *ruleChain, proto string) bool {
	if g.off[p.name] || p.family != 0 && p.family != g.w.family || p.tables != "" && !strings.Contains(" "+p.tables+" ", " "+table+" ") {
		return false
	}
	for _, h := range c.hooks {
		if p.hooks != "" && !strings.Contains(" "+p.hooks+" ", " "+h+" ") {
			return false
		}
	}
	switch p.proto {
	case "", proto:
		return true
	case "ports":
		return proto == "tcp" || proto == "udp" || proto == "sctp"
	case "tcp syn":
		return proto == "tcp"
	}
	return false
}

// text makes the piece's words.
func (p *piece) text(g *gen) string {
	text := p.make(g)
	if p.proto == "tcp syn" {
		text = "-m tcp --tcp-flags SYN,RST SYN " + text
	}
	return strings.TrimSpace(text)
}
