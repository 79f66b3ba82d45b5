package differ

import (
	"fmt"
	"math/rand/v2"
	"sort"
	"strings"

	"github.com/chainwalk/chainwalk/netfilter"
)

// leftOut is a piece of rules that the generator does not use, and the words with which fakeipt or packetsim refuses it.
type leftOut struct {
	Piece  string `json:"piece"`
	Reason string `json:"reason"`
}

// probes is how many variants of a piece are tried: all that a piece can make, nearly always.
const probes = 40

// probe tries each piece alone on the fake and turns those off that it refuses. A piece that turns out right on the fake but wrong is not
// found here.
func (g *gen) probe(d netfilter.Dialect) []leftOut {
	g.off = map[string]bool{}
	var left []leftOut
	for name, p := range allPieces() {
		if p.family != 0 && p.family != g.w.family {
			continue
		}
		if reason := g.refusal(&p, d); reason != "" {
			g.off[p.name] = true
			left = append(left, leftOut{name, reason})
		}
	}
	sort.Slice(left, func(i, k int) bool { return left[i].Piece < left[k].Piece })
	return left
}

// refusal is why the fake does not take the piece, "" if it does.
func (g *gen) refusal(p *piece, d netfilter.Dialect) string {
	one := &gen{r: rand.New(rand.NewPCG(1, 1)), w: g.w}
	for range probes {
		c := one.probeCase(p, d)
		fake, run, _ := newFake(c, g.w.family)
		if run.Status != 0 {
			return "fakeipt: " + strings.SplitN(run.Stderr, "\n", 2)[0]
		}
		h, err := newHost(fake)
		if err != nil {
			return err.Error()
		}
		j := &judging{c: c, host: h}
		for i := range c.Sends {
			from, sent, err := j.plain(&c.Sends[i])
			if err != nil {
				return err.Error()
			}
			complete(&sent)
			if _, err := h.Step(input(from, sent), newGuide(nil, 0)); err != nil {
				return "packetsim: " + refusalReason(err)
			}
		}
	}
	return ""
}

// probeCase is a ruleset with the piece in a rule, and packets that meet it in every hook.
func (g *gen) probeCase(p *piece, d netfilter.Dialect) *walkCase {
	proto := strings.Fields(p.proto + " ")
	word := "tcp"
	if len(proto) > 0 && proto[0] != "ports" {
		word = proto[0]
	}
	table, hook := "filter", "FORWARD"
	if p.tables != "" {
		table = strings.Fields(p.tables)[0]
	}
	hook = firstHook(table, p.hooks, hook)
	rules := fmt.Sprintf("*%s\n-A %s -p %s %s\nCOMMIT\n", table, hook, protoWord(word, g.w.family), p.text(g))
	if p.proto == "" && strings.HasPrefix(p.name, "ct ") || p.name == "ctproto" {
		rules = fmt.Sprintf("*%s\n-A %s %s\nCOMMIT\n", table, hook, p.text(g))
	}
	c := &walkCase{Dialect: d, Family: int(g.w.family), Rules: rules, NFAcct: accounts}
	if g.usesSets {
		c.Sets = g.w.sets()
	}
	for _, from := range []string{clientPlace, serverPlace, nodePlace} {
		text := fmt.Sprintf("%s %s > %s", word, g.w.clients[0], g.w.services[0])
		switch {
		case word == "esp" || word == "ah":
			text = strings.Replace(text, word, map[string]string{"esp": "50", "ah": "51"}[word], 1) + " spi 5"
		case word == "icmp":
			text = strings.Replace(text, "icmp", map[netfilter.Family]string{netfilter.IPv4: "icmp", netfilter.IPv6: "icmpv6"}[g.w.family], 1)
		case g.w.family == netfilter.IPv6:
			text = fmt.Sprintf("%s [%s]:40001 > [%s]:80", word, g.w.clients[0], g.w.services[0])
		default:
			text = fmt.Sprintf("%s %s:40001 > %s:80", word, g.w.clients[0], g.w.services[0])
		}
		c.Sends = append(c.Sends, send{From: from, Packet: text})
	}
	return c
}

// firstHook is a built-in chain of the table where the piece is legal.
func firstHook(table, legal, fallback string) string {
	for _, t := range tableHooks {
		if t.table != table {
			continue
		}
		for _, h := range t.hooks {
			if legal == "" && (h == fallback || fallback == "") || strings.Contains(" "+legal+" ", " "+h+" ") {
				return h
			}
		}
		if legal == "" {
			return t.hooks[0]
		}
		for _, h := range strings.Fields(legal) {
			for _, k := range t.hooks {
				if h == k {
					return h
				}
			}
		}
	}
	return fallback
}
