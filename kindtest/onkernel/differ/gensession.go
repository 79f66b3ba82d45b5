package differ

import (
	"fmt"
	"slices"
	"strings"

	"github.com/chainwalk/chainwalk/kindtest/internal/toolrun"
)

// wideSession draws a sequence of runs on one state from all that the tools have: every option, legal and odd values, and commands about
// what was added before.
type wideSession struct {
	*textGen
	// shadow is a fake that has had the steps so far. What it has saved is asked about again.
	shadow *fakeRunner
	added  []drawnRule
	good   []drawnRule // of these what was taken
	steps  []textStep
	last   toolrun.Run // of the shadow
}

// drawnRule is a rule as it was typed, and where.
type drawnRule struct {
	table, chain string
	words        []string
}

// wide makes the runs of one namespace.
func (g *textGen) wide() []textStep {
	g.serial = 0
	g.sessions++
	s := &wideSession{textGen: g, shadow: newFakeRunner(g.dialect, machineEtc())}
	s.take(textStep{Argv: []string{"nfacct", "add", "cw-one"}})
	if g.ipset && g.chance(70) {
		s.take(textStep{Argv: []string{"ipset", "restore"}, Stdin: g.w.sets()})
	}
	length := 6 + g.r.IntN(9)
	if g.chance(12) {
		length = 50
	}
	for range length {
		s.next()
	}
	return s.steps
}

// take makes a run, unless it would do harm. A run that may change something is followed by a look at what is there.
func (s *wideSession) take(step textStep) {
	if reason := harmful(&step); reason != "" {
		s.dropped[reason]++
		return
	}
	s.steps = append(s.steps, step)
	// The shadow never fails: it runs in this process.
	s.last, _ = s.shadow.run(&step)
}

// changes makes a run and looks at what is there then.
func (s *wideSession) changes(step textStep) {
	s.take(step)
	s.take(textStep{Argv: []string{s.name("iptables-save"), "-c"}})
}

// next makes one of the runs.
func (s *wideSession) next() {
	switch n := s.r.IntN(100); {
	case n < 34:
		s.add()
	case n < 50:
		s.askAgain("-C")
	case n < 57:
		s.askAgain("-D")
	case n < 61:
		s.byNumber()
	case n < 72:
		s.changes(s.run(s.chainCommand()...))
	case n < 80:
		s.take(s.run(s.look()...))
	case n < 92:
		s.changes(s.restoreWide())
	default:
		s.take(s.step())
	}
}

// run is a run of iptables whose words have options about the run itself.
func (s *wideSession) run(words ...string) textStep {
	argv := append([]string{s.name("iptables")}, words...)
	if s.chance(12) {
		argv = slices.Insert(argv, 1+s.r.IntN(len(argv)), strings.Fields(s.oneOf(runOptions...))...)
	}
	if s.chance(8) {
		argv = append(argv[:1], s.damageWords(argv[1:])...)
	}
	return textStep{Argv: argv}
}

// runOptions are options that say how a command runs, or that few commands take.
var runOptions = []string{
	"-w", "-w 5", "-w5", "-w -W 100", "-W 100", "-W", "-w 0", "-w -1", "-w x", "--wait", "--wait=3", "--wait-interval 5", "-w 3 -W 5",
	"-v", "-v", "-v",
	"-vv", "-n", "-x", "--line-numbers", "-4", "-6", "-f", "--exact", "-V", "-h", "--verbose", "-t nat", "-c 1 2", "--", "!",
	"-w 99999999999", "-W 1.5",
	"--numeric", "--ipv4", "--ipv6", "-0",
}

// damageWords drops, doubles, swaps or replaces a word.
func (s *wideSession) damageWords(argv []string) []string {
	out := slices.Clone(argv)
	if len(out) == 0 {
		return out
	}
	i, k := s.r.IntN(len(out)), s.r.IntN(len(out))
	switch s.r.IntN(6) {
	case 0:
		return slices.Delete(out, i, i+1)
	case 1:
		return slices.Insert(out, i, out[i])
	case 2:
		out[i], out[k] = out[k], out[i]
	case 3:
		out[i] = oddText(s.textGen)
	case 4:
		return slices.Insert(out, i, shellWords(s.oneOf(textExtras...))...)
	default:
		out[i] = s.damageBytes(out[i])
	}
	return out
}

// add appends or inserts a rule, and looks at it now and then.
func (s *wideSession) add() {
	r := s.drawRule()
	words := []string{"-t", r.table, s.oneOf("-A", "-A", "-A", "-A", "-I", "--append", "--insert"), r.chain}
	if strings.HasPrefix(words[2], "-I") || words[2] == "--insert" {
		if s.chance(40) {
			words = append(words, numberTo(4)(s.textGen))
		}
	}
	if r.table == "filter" && s.chance(50) {
		words = words[2:]
	}
	words = append(words, r.words...)
	s.take(s.run(words...))
	s.added = append(s.added, r)
	if s.last.Status == 0 {
		s.good = append(s.good, r)
	}
	s.take(textStep{Argv: []string{s.name("iptables-save"), "-c"}})
	if s.chance(35) {
		s.take(textStep{Argv: append([]string{s.name("iptables"), "-t", r.table}, strings.Fields(s.oneOf("-S "+r.chain, "-L "+r.chain+" -n",
			"-nvL "+r.chain, "-L "+r.chain+" -v", "-nxvL "+r.chain+" --line-numbers", "-vS "+r.chain))...)})
	}
}

// askAgain checks or deletes a rule of before: as it was typed, as it is saved, or with a change.
func (s *wideSession) askAgain(command string) {
	r, ok := s.known()
	if !ok {
		s.add()
		return
	}
	if s.chance(30) {
		r.words = s.changedRule(r.words)
	}
	words := append([]string{"-t", r.table, command, r.chain}, r.words...)
	if command == "-D" {
		s.changes(s.run(words...))
		return
	}
	s.take(s.run(words...))
}

// known is a rule that was added, as it was typed or as it is saved.
func (s *wideSession) known() (drawnRule, bool) {
	if len(s.added) == 0 {
		return drawnRule{}, false
	}
	r := s.added[s.r.IntN(len(s.added))]
	if s.chance(60) {
		r = s.added[len(s.added)-1]
	}
	if s.chance(50) {
		return r, true
	}
	saved, _ := s.shadow.run(&textStep{Argv: []string{s.name("iptables"), "-t", r.table, "-S", r.chain}})
	lines := slices.DeleteFunc(strings.Split(saved.Stdout, "\n"), func(line string) bool {
		return !strings.HasPrefix(line,
			"-A "+r.chain+" ")
	})
	if len(lines) == 0 {
		return r, true
	}
	return drawnRule{r.table, r.chain, savedWords(lines[s.r.IntN(len(lines))])[2:]}, true
}

// savedWords are the words of a line of iptables-save, in which quotes keep words together and a backslash the next letter.
func savedWords(line string) []string {
	var words []string
	var word strings.Builder
	quoted, begun := false, false
	for i := 0; i < len(line); i++ {
		switch c := line[i]; {
		case c == '\\' && quoted && i+1 < len(line):
			i++
			word.WriteByte(line[i])
		case c == '"':
			quoted, begun = !quoted, true
		case c == ' ' && !quoted:
			if begun {
				words = append(words, word.String())
			}
			word.Reset()
			begun = false
		default:
			word.WriteByte(c)
			begun = true
		}
	}
	if begun {
		words = append(words, word.String())
	}
	return words
}

// changedRule has another value of one option, or one option more or less.
func (s *wideSession) changedRule(words []string) []string {
	out := slices.Clone(words)
	if len(out) == 0 {
		return out
	}
	i := s.r.IntN(len(out))
	switch n := s.r.IntN(100); {
	case n < 25:
		return slices.Insert(out, i, "!")
	case n < 40:
		return slices.Delete(out, i, i+1)
	case n < 52:
		return append(out, s.extensionWords(s.extension(false))...)
	case i > 0 && strings.HasPrefix(out[i-1], "--"):
		name := strings.TrimPrefix(out[i-1], "--")
		for _, x := range toolExtensions() {
			if kind := drawings[x.name].values[name]; kind != nil && slices.Contains(words, x.name) {
				out[i] = strings.Split(kind(s.textGen), behindBlank)[0]
			}
		}
		return out
	}
	out[i] = either(wideNumber, plainName, addressWord)(s.textGen)
	return out
}

// byNumber deletes or replaces a rule by its number.
func (s *wideSession) byNumber() {
	r := s.drawRule()
	if len(s.added) > 0 {
		was := s.added[s.r.IntN(len(s.added))]
		r.table, r.chain = was.table, was.chain
	}
	n := numberTo(3)(s.textGen)
	if s.chance(50) {
		s.changes(s.run("-t", r.table, "-D", r.chain, n))
		return
	}
	s.changes(s.run(append([]string{"-t", r.table, s.oneOf("-R", "-R", "--replace"), r.chain, n}, r.words...)...))
}

// place draws a table and a chain of it.
func (s *wideSession) place() (table, chain string) {
	t := tableHooks[s.r.IntN(len(tableHooks))]
	return t.table, s.oneOf(append(textChains[:3:3], t.hooks...)...)
}

// chainName draws a name of a chain, now and then an odd one.
func (s *wideSession) chainName() string {
	_, chain := s.place()
	if s.chance(12) {
		return oddText(s.textGen)
	}
	return s.oneOf(chain, chain, "A", "B", "C", strings.Repeat("c", 28), strings.Repeat("d", 29), "MARK", "ACCEPT", "a b", "-x", "standard")
}

// chainCommand is a command about chains.
func (s *wideSession) chainCommand() []string {
	table, chain := s.place()
	if s.chance(20) {
		chain = s.chainName()
	}
	words := []string{"-t", table}
	switch s.r.IntN(12) {
	case 0, 1, 2:
		return append(words, s.oneOf("-N", "-N", "--new-chain", "--new"), s.chainName())
	case 3, 4:
		return append(words, s.oneOf("-E", "--rename-chain"), chain, s.chainName())
	case 5:
		return append(words, "-X", chain)
	case 6:
		return append(words, s.oneOf("-X", "-F", "-Z", "--flush", "--zero"))
	case 7:
		return append(words, "-F", chain)
	case 8, 9:
		if s.chance(50) {
			return append(words, "-Z", chain, numberTo(3)(s.textGen))
		}
		return append(words, s.oneOf("-Z", "--zero"), chain)
	}
	words = append(words, "-P", chain, s.oneOf("ACCEPT", "DROP", "DROP", "RETURN", "QUEUE", "accept", "REJECT", "A", ""))
	if s.chance(15) {
		words = append(words, "-c", longNumber(s.textGen), longNumber(s.textGen))
	}
	return words
}

// look is a command that lists.
func (s *wideSession) look() []string {
	table, chain := s.place()
	if s.chance(10) {
		chain = s.chainName()
	}
	words := []string{"-t", table}
	if s.chance(10) {
		words[1] = s.oneOf("nope", "", "FILTER", "fil", "broute", "security")
	}
	more := strings.Fields(s.oneOf("-S", "-S CHAIN", "-S CHAIN N", "-L -n", "-L CHAIN -n", "-L CHAIN N -n", "-nvL", "-nvL CHAIN",
		"-L CHAIN N -nv",
		"-nL CHAIN --line-numbers", "-nxvL CHAIN", "-L CHAIN", "-vS", "-S CHAIN N -v", "-Z -L -n", "-L -Z CHAIN", "-S -Z", "-L -S",
		"--list-rules CHAIN",
		"--list CHAIN --numeric", "-S CHAIN -n", "-L -n -t raw", "-L CHAIN -Z -n", "-Z CHAIN -L -n", "-Z CHAIN N -L"))
	for i, w := range more {
		switch w {
		case "CHAIN":
			more[i] = chain
		case "N":
			more[i] = numberTo(3)(s.textGen)
		}
	}
	return append(words, more...)
}

// restoreWide is a run of iptables-restore with rules of all kinds.
func (s *wideSession) restoreWide() textStep {
	step := textStep{Argv: []string{s.name("iptables-restore")}}
	for range s.r.IntN(4) {
		words := savedWords(s.oneOf("-n", "-n", "-n", "--noflush", "-c", "--counters", "-t", "--test", "-v", "-w", "-w 5", "-w5",
			"-T filter", "-T nat",
			"--table=mangle", `-T ""`, "-T nope", "-T", "-V", "-h", "-W 100", "-W 100 -w", "--wait=3", "-nc", "-x", "-nv", "-w x",
			"--nof", "-b", "--table", "-T filter -T nat",
			"--", "-6", "-4", "word", "-tn"))
		step.Argv = append(step.Argv, words...)
	}
	if s.chance(25) {
		saved, _ := s.shadow.run(&textStep{Argv: []string{s.name("iptables-save"), "-c"}})
		step.Stdin = toolrun.WithoutDates(saved.Stdout)
	} else {
		step.Stdin = s.restoreTables()
	}
	for s.chance(12) {
		step.Stdin = s.damage(step.Stdin)
	}
	return step
}

// restoreTables are one or two tables of restore input.
func (s *wideSession) restoreTables() string {
	var b strings.Builder
	for range 1 + s.r.IntN(2) {
		s.restoreTable(&b)
	}
	return b.String()
}

// restoreTable is a table of restore input.
func (s *wideSession) restoreTable(b *strings.Builder) {
	table := tableHooks[s.r.IntN(len(tableHooks))]
	b.WriteString("*" + table.table + "\n")
	for _, h := range table.hooks {
		if s.chance(30) {
			fmt.Fprintf(b, ":%s %s %s\n", h, s.oneOf("ACCEPT", "ACCEPT", "DROP", "-"), s.counts())
		}
	}
	for _, c := range append(textChains[:3:3], s.chainName()) {
		if s.chance(50) {
			fmt.Fprintf(b, ":%s - %s\n", s.quoted(c), s.counts())
		}
	}
	for range s.r.IntN(6) {
		b.WriteString(s.restoreLine(table.table, table.hooks) + "\n")
	}
	if s.chance(95) {
		b.WriteString("COMMIT\n")
	}
}

// counts are counters in brackets.
func (s *wideSession) counts() string {
	if s.chance(20) {
		return "[" + longNumber(s.textGen) + ":" + longNumber(s.textGen) + "]"
	}
	return "[0:0]"
}

// restoreLine is a command in restore input.
func (s *wideSession) restoreLine(table string, hooks []string) string {
	chain := s.oneOf(append(textChains[:3:3], hooks...)...)
	if s.chance(25) {
		if s.chance(50) {
			return s.quotedWords(s.chainCommand()[2:])
		}
		return s.ruleLine(table, hooks)
	}
	var r []string
	if good := slices.DeleteFunc(slices.Clone(s.good), func(r drawnRule) bool { return r.table != table }); len(good) > 0 && s.chance(70) {
		known := good[s.r.IntN(len(good))]
		chain, r = known.chain, known.words
	} else {
		r = s.ruleFor(table, chain)
	}
	words := []string{s.oneOf("-A", "-A", "-A", "-I", "-D", "-C", "-R"), chain}
	if words[0] == "-R" || words[0] == "-I" && s.chance(30) {
		words = append(words, numberTo(3)(s.textGen))
	}
	line := s.quotedWords(append(words, r...))
	if s.chance(12) {
		line = s.counts() + " " + line
	}
	return line
}

// quotedWords are words as a line of restore input.
func (s *wideSession) quotedWords(words []string) string {
	out := make([]string, len(words))
	for i, w := range words {
		out[i] = s.quoted(w)
	}
	return strings.Join(out, " ")
}

// quoted is a word of restore input as iptables-save writes one, and now and then as it stands.
func (s *wideSession) quoted(word string) string {
	if word != "" && !strings.ContainsAny(word, " \t\n\"'\\") || s.chance(5) {
		return word
	}
	return `"` + strings.NewReplacer(`"`, `\"`, `\`, `\\`, `'`, `\'`).Replace(word) + `"`
}
