package differ

import (
	"fmt"
	"slices"
	"strings"

	"github.com/chainwalk/chainwalk/fakeipt"
)

// setsGen makes runs of ipset on one set of sets. It keeps in mind which it has made, so that most elements fit.
type setsGen struct {
	*textGen
	made map[string]*genSet
}

// genSet is a set as far as the generator knows it.
type genSet struct {
	kind   *setTypeHelp
	family string // "inet6", or IPv4
	// options are the words of those that it was made with.
	options []string
}

// extends says whether the set keeps with an element what an option of add is about.
func (s *genSet) extends(option string) bool {
	of := map[string]string{"packets": "counters", "bytes": "counters", "skbmark": "skbinfo", "skbprio": "skbinfo",
		"skbqueue": "skbinfo"}[option]
	return slices.Contains(s.options, option) || slices.Contains(s.options, of)
}

// setSession makes runs of ipset alone, with some rules that name the sets. What is left is looked at in the end.
func (g *textGen) setSession() []textStep {
	s := &setsGen{g, map[string]*genSet{}}
	var steps []textStep
	fake := newFakeRunner(g.dialect, nil)
	add := func(step textStep) {
		reason := harmful(&step)
		if reason == "" && sorts(&step) && elements(fake.kernel) > mostSorted {
			reason = "ipset -s takes minutes for thousands of elements"
		}
		if reason != "" {
			g.dropped[reason]++
			return
		}
		steps = append(steps, step)
		runFake(fake.kernel, step.Argv, step.Stdin)
	}
	for range 3 {
		add(textStep{Argv: append([]string{"ipset"}, s.create()...)})
	}
	for range 5 + g.r.IntN(46) {
		add(s.step())
	}
	for _, line := range []string{"list", "save", "list -o xml", "save -s"} {
		add(textStep{Argv: append([]string{"ipset"}, strings.Fields(line)...)})
	}
	return steps
}

// mostSorted is the number of elements of one set that the real tool sorts within a second.
const mostSorted = 1000

// elements is the number of elements that the sets of a fake have.
func elements(k *fakeipt.Kernel) int {
	return strings.Count(runFake(k, []string{"ipset", "save"}, "").Stdout, "\n")
}

func (g *setsGen) step() textStep {
	switch n := g.r.IntN(100); {
	case n < 66:
		return textStep{Argv: append([]string{"ipset"}, g.line()...)}
	case n < 82:
		s := textStep{Argv: append([]string{"ipset"}, g.spiced(g.oneOf("restore", "restore", "-R", "--restore", "rest"))...), Stdin: g.lines()}
		for g.chance(20) {
			s.Stdin = g.damage(s.Stdin)
		}
		return s
	case n < 95:
		s := textStep{Argv: []string{"ipset", "-"}, Stdin: g.lines()}
		for g.chance(20) {
			s.Stdin = g.damage(s.Stdin)
		}
		return s
	}
	return g.rule()
}

// rule is a run of iptables with a rule that names a set.
func (g *setsGen) rule() textStep {
	match := fmt.Sprintf("-m set --match-set %s %s -j ACCEPT", g.setName(), g.sides())
	if g.chance(30) {
		match = fmt.Sprintf("-j SET --add-set %s %s", g.setName(), g.sides())
	}
	line := g.oneOf("-A FORWARD "+match, "-A FORWARD "+match, "-D FORWARD "+match, "-D FORWARD 1", "-F FORWARD", "-S FORWARD")
	return textStep{Argv: append([]string{g.name("iptables")}, shellWords(line)...)}
}

func (g *setsGen) sides() string { return g.oneOf("src", "dst", "src,dst", "dst,dst", "src,src,dst") }

// lines is input of restore or of the shell.
func (g *setsGen) lines() string {
	var b strings.Builder
	if g.chance(5) {
		b.WriteString(g.many())
	}
	for range 1 + g.r.IntN(12) {
		if g.chance(6) {
			b.WriteString(g.oneOf("COMMIT", "# a comment", "", "   ", "quit", "-", "help", "version", "restore", "COMMIT ", "x", "q", "list -n",
				"save") + "\n")
			continue
		}
		words := g.line()
		for slices.ContainsFunc(words, isFileOption) {
			words = g.line()
		}
		b.WriteString(g.joined(words) + g.oneOf("\n", "\n", "\n", "\n", "\n", "\n", "\n", " \n", "\r\n", "\t\n", "\n\n"))
	}
	return b.String()
}

// many is input with more changes of one set than one message to the kernel has room for.
func (g *setsGen) many() string {
	name, command := g.setName(), g.oneOf("add", "add", "del")
	var b strings.Builder
	for range 40 + g.r.IntN(100) {
		b.WriteString(g.joined(append([]string{command}, g.changeOf(name, command)...)) + "\n")
	}
	return b.String()
}

// joined is a line of restore. Words with blanks stand in quotes.
func (g *setsGen) joined(words []string) string {
	quoted := make([]string, len(words))
	for i, w := range words {
		quoted[i] = w
		if w == "" || strings.ContainsAny(w, " \t\n") || g.chance(2) {
			quoted[i] = `"` + w + `"`
		}
	}
	return strings.Join(quoted, " ")
}

// line is the words of one command.
func (g *setsGen) line() []string {
	words := g.command()
	if g.chance(8) {
		words = g.damagedWords(words)
	}
	return words
}

// damagedWords drops, doubles, swaps, replaces or damages a word.
func (g *setsGen) damagedWords(words []string) []string {
	if len(words) == 0 {
		return words
	}
	words = append([]string{}, words...)
	n := g.r.IntN(len(words))
	switch g.r.IntN(6) {
	case 0:
		return append(words[:n], words[n+1:]...)
	case 1:
		return append(words[:n+1], words[n:]...)
	case 2:
		k := g.r.IntN(len(words))
		words[n], words[k] = words[k], words[n]
	case 3:
		words[n] = g.oneOf("", "0", "-1", "99999999999", "!", "-", "--", "x", ",", "1.2.3.4", "::1", ":", "/", "10.0.0.0/33", "-exist", "list",
			strings.Repeat("L", 32), strings.Repeat("q", 300), strings.Repeat("r", 1100))
	default:
		words[n] = g.damageBytes(words[n])
	}
	return words
}

// command is a command with its words.
func (g *setsGen) command() []string {
	switch n := g.r.IntN(100); {
	case n < 14:
		return g.create()
	case n < 50:
		return g.change(g.oneOf("add", "add", "add", "add", "add", "-A", "a", "ad", "--add"), "add")
	case n < 62:
		return g.change(g.oneOf("del", "del", "del", "-D", "d", "de", "--del"), "del")
	case n < 76:
		return g.change(g.oneOf("test", "test", "test", "-T", "t", "te", "--test"), "test")
	}
	switch name := g.setName(); g.r.IntN(10) {
	case 0:
		return g.spiced(g.oneOf("destroy", "x", "-X", "des", "--destroy"), name)
	case 1:
		return g.spiced(g.oneOf("flush", "-F", "f", "--flush", "flush"), name)
	case 2:
		return g.spiced(g.oneOf("swap", "w", "-W", "sw", "--swap"), name, g.setName())
	case 3:
		return g.spiced(g.oneOf("rename", "e", "-E", "ren", "--rename"), name, g.setName())
	case 4:
		return g.spiced(g.oneOf("destroy", "flush", "flush", "version", "-V", "-v", "--version", "quit", "q", "help "+name, "", "s", "l", "h",
			"r", "n"))
	case 5, 6:
		return g.spiced(g.oneOf("save", "-S", "s", "--save", "sa"), name)
	default:
		return g.spiced(g.oneOf("list", "-L", "l", "--list", "li"), g.oneOf("", name))
	}
}

// spiced is a command with words behind it and options of the tool in between. Of the words most that are empty are left out.
func (g *setsGen) spiced(command string, words ...string) []string {
	all := strings.Fields(command)
	for _, w := range words {
		if w != "" || g.chance(10) {
			all = append(all, w)
		}
	}
	for g.chance(14) {
		option := strings.Fields(g.oneOf(g.help.options...))
		if len(option) > 1 {
			option[1] = g.oneOf(strings.Split(option[1], "|")...)
		}
		if option[0] == "-f" {
			option = append(option, g.oneOf("/no/such/folder/x", "/no/such/file"))
		}
		if option[0] == "-r" {
			continue // the imitation says that it lacks this
		}
		if g.chance(30) {
			option[0] = g.oneOf("-exist", "--exist", "-quiet", "--quiet", "-sorted", "-terse", "-name", "--name", "-!", "--!", "-o", "-output")
		}
		at := g.r.IntN(len(all) + 1)
		all = append(all[:at:at], append(option, all[at:]...)...)
	}
	return all
}

// create makes a set, with options in any order, some of them twice.
func (g *setsGen) create() []string {
	kind := &g.help.types[g.r.IntN(len(g.help.types))]
	name, form := g.setName(), kind.forms["create"]
	family := g.oneOf("", "", "inet", "inet6")
	var options []string
	for _, part := range form.parts {
		if word, value, found := strings.Cut(part, " "); found && !g.chance(4) { // "range IP/CIDR|FROM-TO"
			options = append(options, word+" "+g.rangeOf(value))
		}
	}
	hash := false
	// What the kernel draws decides which elements a set has that is full, if it has more than one region of buckets or forceadd. It comes to
	// more regions where a bucket is full, which takes small ones.
	drawn := g.chance(15)
	for _, o := range form.options {
		word, _, _ := strings.Cut(o, " ")
		switch {
		case word == "family":
			hash = true
			if family != "" {
				options = append(options, "family "+g.oneOf(family, family, family, family, "x", "any"))
			}
		case word == "initval":
			if drawn {
				options = append(options, "maxelem 100")
			} else {
				options = append(options, "initval "+g.oneOf("0x1234", "0x1234", "0x1234", "0x1234", "0", "1", "4294967295", "4294967296"))
			}
		case drawn && (word == "hashsize" || word == "maxelem" || word == "forceadd" || word == "bucketsize"):
		case g.chance(15):
			options = append(options, g.option(o, family))
		}
	}
	if g.chance(3) {
		options = append(options, g.oneOf("probes 3", "resize 50", "gc 10", "from 10.0.0.1", "to 10.0.0.9", "network 10.0.0.0/30", "size 4", "-6",
			"-4", "markmask 5", "nomatch", "range 1-5", "--timeout 500", "from 1", "to 9"))
	}
	if len(options) > 0 && g.chance(5) {
		options = append(options, g.oneOf(options...))
	}
	g.r.Shuffle(len(options), func(i, j int) { options[i], options[j] = options[j], options[i] })
	typeName := kind.name
	if g.chance(5) {
		typeName = g.oneOf("iphash", "nethash", "ipporthash", "ipmap", "macipmap", "portmap", "setlist", "netifacehash", "hash:nope",
			strings.Repeat("t", 32))
	}
	if g.made[name] == nil && hash == (family != "" || hash) {
		g.made[name] = &genSet{kind, family, strings.Fields(strings.Join(options, " "))}
	}
	words := g.spiced(g.oneOf("create", "create", "create", "-N", "new", "n", "c", "cr", "--create", "--new"), name, typeName)
	return append(words, strings.Fields(strings.Join(options, " "))...)
}

// change is add, del or test.
func (g *setsGen) change(word, command string) []string {
	words := g.changeOf(g.setName(), command)
	return append(g.spiced(word, words[:2]...), words[2:]...)
}

// changeOf is what stands behind add, del or test.
func (g *setsGen) changeOf(name, command string) []string {
	s := g.made[name]
	if s == nil || g.chance(3) {
		s = &genSet{kind: &g.help.types[g.r.IntN(len(g.help.types))], family: g.oneOf("", "inet6")}
	}
	form := s.kind.forms[command]
	var parts []string
	for _, p := range form.parts {
		parts = append(parts, g.part(p, s.family, strings.Contains(s.kind.name, "net")))
	}
	words := []string{name, strings.Join(parts, ",")}
	for _, o := range form.options {
		word, _, _ := strings.Cut(o, " ")
		if g.chance(6) || s.extends(word) && g.chance(35) {
			words = append(words, g.optionWords(o, s.family)...)
		}
	}
	if g.chance(3) {
		words = append(words,
			strings.Fields(g.oneOf("nomatch", "timeout 300", "comment x", "before cwa", "after cwb", "wildcard", "packets 3", "nonesuch"))...)
	}
	return words
}

// setName is the name of a set, mostly one of a few.
func (g *setsGen) setName() string {
	if g.chance(90) {
		return g.oneOf("cwa", "cwb", "cwc", "cwd", "cwe")
	}
	return g.oneOf(oddNames...)
}

// oddNames are names that are hard to spell, or too long.
var oddNames = []string{"", "-", "--", "a b", `q"x`, "tab\tx", "\xc3\xbcml", "\xff\x01", `back\slash`, "{b}", "new\nline", "all", "list",
	"a,b", ",a",
	"#x", "'s'", strings.Repeat("n", 31), strings.Repeat("n", 32), strings.Repeat("\xc3", 31), ":", "-x", "COMMIT"}
