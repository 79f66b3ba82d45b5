package nftdiffer

import (
	"fmt"
	"strings"
)

// statement makes a statement that is neither a match nor a verdict.
func (g *gen) statement(t *genTable) string {
	for {
		text := g.anyStatement(t)
		if t.family == "bridge" && (strings.HasPrefix(text, "reject") || strings.HasPrefix(text, "ct ")) {
			continue // a kernel without nft_reject_bridge and nf_conntrack_bridge takes neither, and ours does
		}
		return text
	}
}

func (g *gen) anyStatement(t *genTable) string {
	switch g.n(16) {
	case 0, 1, 2:
		return g.ask("statement", "counter") + g.one("", "", fmt.Sprintf(" packets %d bytes %d", g.n(100), g.n(1000)))
	case 3:
		g.ask("statement", "limit")
		return g.limit()
	case 4:
		g.ask("statement", "quota")
		return g.quota()
	case 5:
		return g.log()
	case 6:
		return g.reject()
	case 7, 8:
		return g.nat(t)
	case 9, 10:
		return g.setMark(t)
	case 11:
		return g.update(t)
	case 12:
		kind := g.one("counter", "quota", "limit")
		return g.ask("statement", kind+" name") + " " + g.object(t, kind)
	case 13:
		return g.mangle(t)
	case 14:
		return g.rare(t)
	}
	return g.ask("statement", "counter")
}

func (g *gen) log() string {
	text := g.ask("statement", "log")
	if g.in(2) {
		text += ` prefix "` + g.one("p", "prefix:", "a-b") + `"`
	}
	switch g.n(4) {
	case 0:
		return text + " level " + g.one("emerg", "alert", "crit", "err", "warn", "notice", "info", "debug")
	case 1:
		return text + fmt.Sprintf(" group %d", g.n(10)) + g.one("", " snaplen 80") + g.one("", " queue-threshold 5")
	case 2:
		return text + " flags " + g.one("all", "skuid", "ether", "tcp sequence", "tcp options", "ip options", "tcp sequence,options")
	}
	return text
}

func (g *gen) reject() string {
	text := g.ask("statement", "reject")
	switch g.n(6) {
	case 0:
		return text + " with tcp reset"
	case 1:
		return text + " with icmp " + g.one("", "type ") +
			g.one("port-unreachable", "host-unreachable", "admin-prohibited", "net-prohibited", "3")
	case 2:
		return text + " with icmpv6 " + g.one("", "type ") + g.one("no-route", "admin-prohibited", "addr-unreachable", "port-unreachable")
	case 3:
		return text + " with icmpx " + g.one("", "type ") + g.one("no-route", "admin-prohibited", "host-unreachable", "port-unreachable")
	}
	return text
}

// address is an address of the table's family.
func (g *gen) address(t *genTable) string {
	if t.family == "ip6" {
		return g.value(addr6)
	}
	return g.value(addr4)
}

func (g *gen) nat(t *genTable) string {
	kind := g.ask("statement", g.one("dnat", "snat", "masquerade", "redirect"))
	flags := g.one("", "", "", " random", " fully-random", " persistent", " fully-random,persistent")
	family := ""
	if t.family == "inet" && !g.in(4) {
		family = " ip"
	}
	switch kind {
	case "masquerade":
		return kind + g.one("", "", " to :1024-65535", " to :5") + flags
	case "redirect":
		return kind + g.one("", " to :80", " to :8080", " to :1-5") + flags
	}
	switch g.n(8) {
	case 0:
		return kind + family + " to " + g.address(t) + ":" + fmt.Sprint(g.n(65536)) + flags
	case 1:
		return kind + family + " to " + g.rangeOf(addr4) + flags
	case 2:
		return kind + family + " to " + g.mapTo(t, addr4) + flags
	case 3:
		return fmt.Sprintf("meta l4proto tcp %s ip addr . port to numgen %s mod 2 map { 0 : %s . 80 , 1 : %s . 81 }",
			kind, g.one("random", "inc"), g.value(addr4), g.value(addr4))
	case 4:
		return "meta l4proto tcp " + kind + family + " to " + g.value(addr4) + ":" + g.rangeOf(port) + flags
	case 5:
		if len(t.sets) > 0 {
			s := &t.sets[g.n(len(t.sets))]
			return kind + family + " to " + s.key + " map @" + s.name
		}
	}
	return kind + family + " to " + g.address(t) + flags
}

func (g *gen) setMark(t *genTable) string {
	text := g.setsMark(t)
	if t.family == "bridge" {
		text = strings.ReplaceAll(text, "ct mark", "meta mark") // see key
	}
	return text
}

func (g *gen) setsMark(t *genTable) string {
	what := g.ask("statement", g.one("meta mark set", "mark set", "ct mark set", "meta mark set"))
	switch g.n(7) {
	case 0:
		return what + " " + g.one("meta mark", "ct mark", "mark") + " " + g.one("and", "or", "xor", "&", "|", "^") + " " + g.value(mark)
	case 1:
		return what + " " + g.one("meta mark", "ct mark")
	case 2:
		return what + " " + g.one("meta mark", "ct mark") + " and " + g.value(mark) + " or " + g.value(mark)
	case 3:
		return what + " " + g.mapTo(t, mark)
	case 4:
		return what + " " + g.one("meta mark", "ct mark") + " " + g.one("<<", ">>") + " " + fmt.Sprint(g.n(32))
	}
	return what + " " + g.value(mark)
}

func (g *gen) update(t *genTable) string {
	verb := g.ask("statement", g.one("add", "update", "delete"))
	if len(t.sets) == 0 {
		return verb + " @none { ip saddr }"
	}
	s := &t.sets[g.n(len(t.sets))]
	data := ""
	if s.data == "mark" {
		data = " : " + g.value(mark)
	}
	return verb + " @" + s.name + " { " + s.key + g.one("", "", " timeout 30s", " counter", " limit rate 5/second") + data + " }"
}

func (g *gen) mangle(t *genTable) string {
	k := g.key(t)
	g.ask("statement", "set payload")
	return k.text + " set " + g.value(k.kind)
}

// rare draws statements that few rules have.
func (g *gen) rare(t *genTable) string {
	text := g.one("notrack", "dup to 1.1.1.1", "fwd to lo", "ct count 5", "ct count over 10", "last",
		"tproxy to :8080", "tproxy to 1.1.1.1:80", "synproxy mss 1460 wscale 7", "meta nftrace set 1", "meta priority set 1:5",
		"meta pkttype set host",
		"ct zone set 5", "ct label set 3", "ct event set new,related", "ct helper set \"ftp\"", "flow add @f", "tcp option maxseg size set 1400",
		"tcp option maxseg size set rt mtu", "reset tcp option timestamp", "jump { counter ; }", "@th,16,16 80", "@nh,0,8 0x45",
		"meta iifname \"x\"",
		"ip daddr set 1.1.1.1", "ip ttl set 5")
	return g.ask("statement", text)
}
