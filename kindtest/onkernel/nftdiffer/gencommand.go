package nftdiffer

import (
	"fmt"
	"strings"
)

// command makes a command about something, without the end of its line.
func (g *gen) command() string {
	t := g.table()
	of := t.family + " " + t.name
	switch g.n(30) {
	case 0:
		return g.ask("command", "add table") + " " + of
	case 1, 2, 3:
		return g.addChain(t)
	case 4, 5, 6:
		return g.addSet(t)
	case 7, 8, 9:
		return g.elements(t)
	case 10:
		return g.addObject(t)
	case 11:
		return g.deletion(t)
	case 12:
		return g.ask("command", "flush chain") + " " + of + " " + g.chain(t)
	case 13:
		kind := g.one("set", "map", "table")
		if kind == "table" {
			return g.ask("command", "flush table") + " " + of
		}
		return g.ask("command", "flush "+kind) + " " + of + " " + g.setName(t)
	case 14:
		return g.ask("command", "rename chain") + " " + of + " " + g.chain(t) + " " + g.one("renamed", "c", "d")
	case 15:
		return fmt.Sprintf("%s %s %s %s %d %s", g.ask("command", "insert rule"), of, g.chain(t), g.one("handle", "position", "index"),
			1+g.n(9), g.rule(t))
	case 16:
		return fmt.Sprintf("%s %s %s handle %d %s", g.ask("command", "replace rule"), of, g.chain(t), 1+g.n(15), g.rule(t))
	case 17:
		return g.ask("command", "insert rule") + " " + of + " " + g.chain(t) + " " + g.rule(t)
	case 18:
		kind := g.one("counter", "quota")
		return g.ask("command", "reset "+kind) + " " + of + " " + g.object(t, kind)
	}
	return g.ask("command", "add rule") + " " + of + " " + g.chain(t) + " " + g.rule(t)
}

func (g *gen) deletion(t *genTable) string {
	of := t.family + " " + t.name
	switch g.n(6) {
	case 0:
		return g.ask("command", "delete chain") + " " + of + " " + g.chain(t)
	case 1:
		return g.ask("command", "delete "+g.one("set", "map")) + " " + of + " " + g.setName(t)
	case 2:
		kind := g.one("counter", "quota", "limit")
		return g.ask("command", "delete "+kind) + " " + of + " " + g.object(t, kind)
	case 3:
		if g.in(4) {
			return g.ask("command", "delete table") + " " + of
		}
	}
	return fmt.Sprintf("%s %s %s handle %d", g.ask("command", "delete rule"), of, g.chain(t), 1+g.n(15))
}

func (g *gen) addChain(t *genTable) string {
	name := g.one("c", "d", "base", "base2", "nat-pre", "nat-post", "fwd", "x/y-z", "new")
	verb := g.ask("command", g.one("add", "add", "add", "create")+" chain")
	t.chains = append(t.chains, name)
	head := fmt.Sprintf("%s %s %s %s", verb, t.family, t.name, name)
	if g.in(3) {
		return head
	}
	return head + " { " + g.hooking(t) + " }"
}

// hooking is what makes a chain a base chain.
func (g *gen) hooking(t *genTable) string {
	kind, hook, priority := "filter", g.one("prerouting", "input", "forward", "output", "postrouting"), fmt.Sprint(g.n(400)-200)
	device := ""
	switch {
	case g.in(5):
		kind = "nat"
	case g.in(12):
		kind, hook = "route", g.one("output", "output", "input")
	case t.family == "netdev":
		hook, device = g.one("ingress", "egress"), " device lo"
	}
	if g.in(2) {
		priority = g.one("filter", "raw", "mangle", "dstnat", "srcnat", "security", "out")
		if g.in(2) {
			priority += g.one(" + ", " - ", "+", "-") + fmt.Sprint(g.n(15))
		}
	}
	g.ask("hook", kind+" "+hook)
	text := fmt.Sprintf("type %s hook %s%s priority %s ;", kind, hook, device, priority)
	if g.in(3) {
		text += " policy " + g.one("accept", "drop") + " ;"
	}
	if g.in(10) {
		text += ` comment "a_comment" ;`
	}
	return text
}

// addObject makes a counter, quota or limit.
func (g *gen) addObject(t *genTable) string {
	kind := g.one("counter", "quota", "limit")
	name := g.one("o1", "o2", "o3")
	if t.objects != nil {
		t.objects[kind] = append(t.objects[kind], name)
	}
	head := fmt.Sprintf("%s %s %s %s", g.ask("command", "add "+kind), t.family, t.name, name)
	switch kind {
	case "counter":
		if g.in(2) {
			return fmt.Sprintf("%s { packets %d bytes %d ; }", head, g.n(1000), g.n(100000))
		}
		return head
	case "quota":
		return head + " { " + strings.TrimPrefix(g.quota(), "quota ") + " ; }"
	}
	return head + " { " + strings.TrimPrefix(g.limit(), "limit ") + " ; }"
}

func (g *gen) quota() string {
	return "quota " + g.one("", "over ", "until ") + fmt.Sprint(g.n(2000)) + " " + g.one("bytes", "kbytes", "mbytes") +
		g.one("", "", fmt.Sprintf(" used %d %s", g.n(50), g.one("bytes", "kbytes", "mbytes")))
}

func (g *gen) limit() string {
	over := g.one("", "", "over ")
	if g.in(3) {
		return fmt.Sprintf("limit rate %s%d %s/%s%s", over, g.n(3000), g.one("bytes", "kbytes", "mbytes"),
			g.one("second", "minute", "hour", "day", "week"), g.one("", fmt.Sprintf(" burst %d %s", g.n(3000), g.one("bytes", "kbytes", "mbytes"))))
	}
	return fmt.Sprintf("limit rate %s%d/%s%s", over, g.n(1000), g.one("second", "minute", "hour", "day", "week"),
		g.one("", fmt.Sprintf(" burst %d packets", g.n(20))))
}

// block makes a table as a block.
func (g *gen) block() string {
	g.ask("command", "block")
	t := g.table()
	var b strings.Builder
	fmt.Fprintf(&b, "table %s %s {\n", t.family, t.name)
	for range g.n(3) {
		lines := strings.SplitN(g.addSet(t), " ", 5)
		name, body, _ := strings.Cut(lines[4], " ")
		body = strings.TrimSuffix(strings.TrimPrefix(body, "{ "), " }")
		fmt.Fprintf(&b, "\t%s %s {\n", lines[1], name)
		for part := range strings.SplitSeq(body, " ; ") {
			fmt.Fprintf(&b, "\t\t%s\n", strings.TrimSuffix(part, " ;"))
		}
		b.WriteString("\t}\n")
	}
	for range 1 + g.n(2) {
		fmt.Fprintf(&b, "\tchain %s {\n", g.one("c", "d", "blockchain", "another"))
		if g.in(3) {
			fmt.Fprintf(&b, "\t\t%s\n", strings.TrimSuffix(g.hooking(t), ";"))
		}
		for range g.n(4) {
			fmt.Fprintf(&b, "\t\t%s\n", g.rule(t))
		}
		b.WriteString("\t}\n")
	}
	b.WriteString("}")
	return b.String()
}
