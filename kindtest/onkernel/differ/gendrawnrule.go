package differ

import (
	"slices"
	"strings"
)

// drawRule draws a rule in a place where it may stand.
func (s *wideSession) drawRule() drawnRule {
	table, chain := s.place()
	target := s.extension(true)
	withTarget := s.chance(45)
	if withTarget && s.chance(90) {
		table, chain = s.placeOf(target, table, chain)
	}
	match := s.extension(false)
	if !withTarget && s.chance(90) {
		table, chain = s.placeOf(match, table, chain)
	}
	if !withTarget {
		target = nil
	}
	return drawnRule{table, chain, s.rule(match, target)}
}

// ruleFor draws a rule for a place, which may not take it.
func (s *wideSession) ruleFor(table, chain string) []string {
	var target *toolExtension
	if s.chance(40) {
		target = s.extension(true)
	}
	match := s.extension(false)
	for range 4 { // tries for one that the place takes
		how := drawings[match.name]
		if len(how.at) == 0 || slices.ContainsFunc(how.at, func(at string) bool {
			return strings.HasPrefix(at,
				table) && strings.Contains(at, chain)
		}) {
			break
		}
		match = s.extension(false)
	}
	return s.rule(match, target)
}

// extension draws a match or a target, seldom one of the other family.
func (s *wideSession) extension(target bool) *toolExtension {
	all := toolExtensions()
	for {
		x := &all[s.r.IntN(len(all))]
		if x.target == target && (slices.Contains(x.families, s.w.family) || s.chance(3)) {
			return x
		}
	}
}

// placeOf draws a place where an extension may stand.
func (s *wideSession) placeOf(x *toolExtension, table, chain string) (string, string) {
	how := drawings[x.name]
	if len(how.at) == 0 {
		return table, chain
	}
	words := strings.Fields(s.oneOf(how.at...))
	if s.chance(25) {
		return words[0], s.oneOf(textChains[:3]...)
	}
	return words[0], s.oneOf(words[1:]...)
}

// rule draws the words of a rule with a match and a target, or without one of them.
func (s *wideSession) rule(match, target *toolExtension) []string {
	parts := s.ownOptions()
	before := ""
	if target != nil {
		if how := drawings[target.name]; len(how.before) > 0 {
			before = s.oneOf(how.before...)
		}
	}
	withMatch := target == nil && s.chance(85) || s.chance(30)
	if how := drawings[match.name]; withMatch && len(how.before) > 0 && before == "" && s.chance(93) {
		before = s.oneOf(how.before...)
	}
	parts = append(parts, strings.Fields(before))
	if withMatch {
		parts = append(parts, s.extensionWords(match))
	}
	for s.chance(14) {
		more := s.extension(false)
		if s.chance(25) {
			more = match // one of its kind again
		}
		parts = append(parts, s.extensionWords(more))
	}
	switch {
	case target != nil:
		parts = append(parts, s.extensionWords(target))
	case s.chance(65):
		parts = append(parts, []string{s.oneOf("-j", "-j", "-j", "-j", "-g", "--jump", "--goto"),
			s.oneOf("ACCEPT", "DROP", "RETURN", "A", "B", "ACCEPT", "QUEUE", s.chainName())})
	}
	if s.chance(10) {
		s.r.Shuffle(len(parts), func(i, j int) { parts[i], parts[j] = parts[j], parts[i] })
	}
	words := slices.Concat(parts...)
	if s.chance(6) {
		words = s.damageWords(words)
	}
	return words
}

// ownOptions draws options that are no extension's.
func (s *wideSession) ownOptions() [][]string {
	var parts [][]string
	for _, o := range []struct {
		percent int
		names   []string
		value   valueKind
	}{
		{12, []string{"-s", "-s", "--source", "--src"}, networks}, {12, []string{"-d", "-d", "--destination", "--dst"}, networks},
		{6, []string{"-i", "-i", "--in-interface"}, deviceWord}, {6, []string{"-o", "-o", "--out-interface"}, deviceWord},
		{7, []string{"-p", "--protocol", "--proto"}, protocolWord}, {2, []string{"-f", "--fragments"}, nil},
		{4, []string{"-c", "--set-counters"}, often(chained(behindBlank, longNumber, longNumber), chained(",", longNumber, longNumber), 20)},
	} {
		if !s.chance(o.percent) {
			continue
		}
		var words []string
		if s.chance(15) {
			words = append(words, "!")
		}
		option := s.oneOf(o.names...)
		if o.value == nil {
			parts = append(parts, append(words, option))
			continue
		}
		values := strings.Split(o.value(s.textGen), behindBlank)
		switch {
		case s.chance(5) && strings.HasPrefix(option, "--"):
			words = append(words, option+"="+values[0])
		case s.chance(4) && !strings.HasPrefix(option, "--"):
			words = append(words, option+values[0])
		default:
			words = append(words, option, values[0])
		}
		parts = append(parts, append(words, values[1:]...))
	}
	return parts
}

var networks = often(networkWord, listOf(networkWord, ",", 3), 8)
