package differ

import (
	"slices"
	"strings"

	"github.com/chainwalk/chainwalk/kindtest/internal/toolrun"
)

// sweptOption is an option of an extension.
type sweptOption struct {
	x    *toolExtension
	name string
}

// sweptOptions are the options of the extensions that a family has, which the sweeps take one after the other.
func (g *textGen) sweptOptions() []sweptOption {
	var all []sweptOption
	for i := range toolExtensions() {
		x := &toolExtensions()[i]
		if !slices.Contains(x.families, g.w.family) {
			continue
		}
		for _, o := range x.options {
			all = append(all, sweptOption{x, o.name})
		}
		for _, name := range drawings[x.name].more {
			all = append(all, sweptOption{x, name})
		}
	}
	return all
}

// sweptValues is the number of values that a sweep gives an option.
const sweptValues = 10

// sweep makes the runs of one namespace: rules that differ in the value of one option. What is taken is saved, and checked or deleted by
// the same words.
func (g *textGen) sweep() []textStep {
	g.serial = 0
	g.sessions++
	s := &wideSession{textGen: g, shadow: newFakeRunner(g.dialect, machineEtc())}
	s.take(textStep{Argv: []string{"nfacct", "add", "cw-one"}})
	if g.ipset {
		s.take(textStep{Argv: []string{"ipset", "restore"}, Stdin: g.w.sets()})
	}
	all := g.sweptOptions()
	if g.swept == 0 {
		g.swept = g.r.IntN(len(all))
	}
	g.swept++
	o := all[g.swept%len(all)]
	for range sweptValues {
		s.sweepOne(o)
	}
	return s.steps
}

// sweepOne adds a rule with one value of the option, and asks about it.
func (s *wideSession) sweepOne(o sweptOption) {
	how := drawings[o.x.name]
	table, chain := s.place()
	table, chain = s.placeOf(o.x, table, chain)
	var words []string
	if len(how.before) > 0 {
		words = strings.Fields(how.before[0])
	}
	load := "-m"
	if o.x.target {
		load = "-j"
	}
	words = append(words, load, o.x.name)
	for _, need := range how.needs {
		if names := strings.Split(need, "|"); !slices.Contains(names, o.name) {
			words = append(words, s.optionWords(o.x, &how, names[0])...)
		}
	}
	if s.chance(15) {
		words = append(words, "!")
	}
	words = append(words, "--"+o.name)
	if !o.x.isFlag(o.name) {
		words = append(words, s.sweptValue(o, &how)...)
	}
	at := []string{"-t", table, "-A", chain}
	s.take(s.run(append(at, words...)...))
	if s.last.Status != 0 {
		return
	}
	s.take(textStep{Argv: []string{s.name("iptables-save")}})
	s.take(s.run(append([]string{"-t", table, s.oneOf("-C", "-D", "-C"), chain}, words...)...))
	if s.chance(30) {
		s.take(textStep{Argv: []string{s.name("iptables"), "-t", table, s.oneOf("-vnL", "-vL", "-S"), chain}})
	}
	if s.chance(20) {
		saved, _ := s.shadow.run(&textStep{Argv: []string{s.name("iptables-save")}})
		s.changes(textStep{Argv: []string{s.name("iptables-restore")}, Stdin: toolrun.WithoutDates(saved.Stdout)})
	}
}

// sweptValue is one that the option is made for, or a number or word that has tripped a tool elsewhere.
func (s *wideSession) sweptValue(o sweptOption, how *drawing) []string {
	switch n := s.r.IntN(10); {
	case n < 5:
		return strings.Split(s.value(o.x, how, o.name), behindBlank)
	case n < 7:
		return []string{s.oneOf(oddNumbers...)}
	case n < 8 && len(o.x.words) > 0:
		return []string{s.oneOf(o.x.words...)}
	case n < 9:
		return []string{s.damageBytes(strings.Split(s.value(o.x, how, o.name), behindBlank)[0])}
	}
	return []string{oddText(s.textGen)}
}
