package differ

import (
	"fmt"
	"strings"
)

// nfacctSession makes runs of nfacct alone, with some rules that name the objects.
func (g *textGen) nfacctSession() []textStep {
	var steps []textStep
	for range 5 + g.r.IntN(26) {
		s := g.nfacct()
		if g.chance(5) {
			line := g.oneOf("-A FORWARD", "-A FORWARD", "-D FORWARD") + " -m nfacct --nfacct-name " + g.oneOf("cw-one", "cw-two", "cw-quota")
			s = textStep{Argv: append([]string{g.name("iptables")}, strings.Fields(g.oneOf(line, line, "-F FORWARD"))...)}
		}
		if reason := harmful(&s); reason != "" {
			g.dropped[reason]++
			continue
		}
		steps = append(steps, s)
	}
	for _, line := range []string{"list", "list json", "list xml"} {
		steps = append(steps, textStep{Argv: append([]string{"nfacct"}, strings.Fields(line)...)})
	}
	return steps
}

// nfacct is a run of nfacct.
func (g *textGen) nfacct() textStep {
	words := g.nfacctWords()
	if g.chance(8) {
		words = (&setsGen{textGen: g}).damagedWords(words)
	}
	s := textStep{Argv: append([]string{"nfacct"}, words...)}
	if len(words) > 0 && words[0] != "" && strings.Index("restore", words[0]) == 0 {
		for range g.r.IntN(4) {
			s.Stdin += g.nfacctLine()
		}
		for g.chance(30) {
			s.Stdin = g.damage(s.Stdin)
		}
	}
	return s
}

// nfacctWords are the words of one run.
func (g *textGen) nfacctWords() []string {
	name := g.nfacctName()
	switch n := g.r.IntN(100); {
	case n < 30:
		words := []string{g.oneOf("add", "add", "add", "a", "ad"), name}
		if g.chance(50) {
			words = append(words, g.oneOf("byte", "packet", "byte", "packet", "bytes", "b", ""), g.nfacctNumber())
		}
		return words
	case n < 45:
		words := []string{g.oneOf("get", "get", "g", "ge"), name}
		for g.chance(35) {
			words = append(words, g.oneOf("reset", "json", "xml", "r", "j", "x", "nope", ""))
		}
		return words
	case n < 60:
		words := []string{g.oneOf("list", "list", "l", "li")}
		for g.chance(45) {
			words = append(words, g.oneOf("reset", "json", "xml", "r", "j", "x", "nope", "", "rese", "resets"))
		}
		return words
	case n < 72:
		return []string{g.oneOf("delete", "del", "d", "delet"), name}
	case n < 90:
		return []string{g.oneOf("restore", "restore", "rest", "r")}
	}
	return strings.Fields(g.oneOf("flush", "f", "version", "v", "help", "h", "nope", "", "flush x", "add", "get", "del", "restore x",
		"version x", "listx",
		"del cw-one x", "add cw-one byte", "add cw-one byte 1 2", "--help", "-V", "q"))
}

// nfacctName is the name of an object, mostly one of a few.
func (g *textGen) nfacctName() string {
	if g.chance(75) {
		return g.oneOf("cw-one", "cw-two", "cw-quota")
	}
	return g.oneOf(append(oddNames, "a b c", ";", "a;b", "} = x", "<&>", "%s%n", "reset", "byte", strings.Repeat("x", 63),
		strings.Repeat("x", 64))...)
}

// nfacctNumber is a quota or a counter.
func (g *textGen) nfacctNumber() string {
	return g.oneOf("0", "1", "500", "4294967296", "18446744073709551615", "18446744073709551616", "-1", "-5", "x", "5x", " 7", "+8", "0x10",
		"010", "", "1.5")
}

// nfacctLine is a line that restore reads, as list prints it, or nearly so.
func (g *textGen) nfacctLine() string {
	number := func() string {
		return g.oneOf("00000000000000000003", "00000000000000000000", "18446744073709551615", g.nfacctNumber())
	}
	quota := ""
	if g.chance(40) {
		quota = fmt.Sprintf(", quota = %s, mode = %s", number(), g.oneOf("byte", "packet", "byte,", "packet,", "x"))
		quota += g.oneOf("", ", overquota = no", ", overquota = yes", " ")
	}
	return fmt.Sprintf("{ pkts = %s, bytes = %s%s } = %s;", number(), number(), quota, g.nfacctName()) +
		g.oneOf("\n", "\n", "\n", "\n", "", " \n", "\n\n", "x\n")
}
