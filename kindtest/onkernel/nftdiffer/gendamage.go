package nftdiffer

import (
	"regexp"
	"slices"
	"strings"
)

// tokens are the pieces of a text, which together are the text: words, texts in quotes, blanks, single signs.
var tokens = regexp.MustCompile(`"[^"]*"|[A-Za-z0-9_./:@$*\\+-]+|[ \t]+|(?s:.)`)

// jsonTokens are those of JSON.
var jsonTokens = regexp.MustCompile(`"(?:[^"\\]|\\.)*"|[A-Za-z0-9_.+-]+|[ \t]+|(?s:.)`)

// phrases are lines of recorded sessions as tokens: each line once. Words of one come into another.
type phrases struct{ text, json [][]string }

// waits are words that keep a run of the tool from ending, or let it read what nobody has written here.
var waits = regexp.MustCompile(`^(monitor|-i|--interactive|-[a-hj-z]*i[a-z]*)$`)

func phrasesOf(sessions [][]step) *phrases {
	p := &phrases{}
	known := map[string]bool{}
	for _, session := range sessions {
		for i := range session {
			for line := range strings.Lines(asText(&session[i])) {
				if line = strings.TrimSpace(line); line == "" || known[line] {
					continue
				}
				known[line] = true
				if isJSON(line) {
					p.json = append(p.json, jsonTokens.FindAllString(line, -1))
				} else {
					p.text = append(p.text, tokens.FindAllString(line, -1))
				}
			}
		}
	}
	return p
}

// asText is what a step says: its standard input, or its arguments.
func asText(s *step) string {
	if s.Stdin != "" {
		return s.Stdin
	}
	return strings.Join(s.Args, " ")
}

func isJSON(text string) bool { return strings.HasPrefix(text, "{") && strings.Contains(text, `"`) }

// The steps of a recorded session that one of the generator has at most: those that it begins with, and those before some step.
const (
	firstRecorded = 4
	lastRecorded  = 8
)

// damagedSession is a part of a recorded session in which most of the last runs are damaged.
func (g *gen) damagedSession() []step {
	g.ask("damage", "of a recorded session")
	session := g.recorded[g.n(len(g.recorded))]
	end := 1 + g.n(len(session))
	from := max(0, end-lastRecorded)
	steps := slices.Concat(session[:min(from, firstRecorded)], session[from:end])
	for i := len(steps) - (end - from); i < len(steps); i++ {
		if steps[i].File == "" && !g.in(4) {
			steps[i] = g.damagedStep(steps[i])
		}
	}
	return slices.DeleteFunc(steps, func(s step) bool {
		return slices.ContainsFunc(s.Args, waits.MatchString) || strings.Contains(asText(&s), "monitor")
	})
}

// damagedStep damages a line or two of a run, or its arguments.
func (g *gen) damagedStep(s step) step {
	if s.Stdin == "" {
		s.Args = g.damagedWords(s.Args)
		return s
	}
	lines := strings.SplitAfter(s.Stdin, "\n")
	for range 1 + g.n(2) {
		i := g.n(len(lines))
		switch g.n(12) {
		case 0:
			lines[i] = ""
		case 1:
			lines[i] += lines[i]
		case 2:
			k := g.n(len(lines))
			lines[i], lines[k] = lines[k], lines[i]
		default:
			line := strings.TrimSuffix(lines[i], "\n")
			lines[i] = g.damagedLine(line, isJSON(s.Stdin)) + lines[i][len(line):]
		}
	}
	s.Stdin = strings.Join(lines, "")
	return s
}

// damagedWords damages arguments as one line. Those that have blanks stay one argument.
func (g *gen) damagedWords(args []string) []string {
	if len(args) == 0 {
		return args
	}
	if i := g.n(len(args)); strings.Contains(args[i], " ") {
		args = slices.Clone(args)
		args[i] = g.damagedLine(args[i], isJSON(args[i]))
		return args
	}
	return strings.Fields(g.damagedLine(strings.Join(args, " "), false))
}

// damagedLine damages the tokens of a line: some of another line come in, or it loses, doubles, or exchanges some.
func (g *gen) damagedLine(line string, json bool) string {
	words, others := tokens.FindAllString(line, -1), g.phrases.text
	if json {
		words, others = jsonTokens.FindAllString(line, -1), g.phrases.json
	}
	if len(words) == 0 {
		return line
	}
	other := others[g.n(len(others))]
	i, k := g.word(words), g.word(other)
	switch g.n(10) {
	case 0:
		g.ask("damage", "a word less")
		words = slices.Delete(words, i, i+1)
	case 1:
		g.ask("damage", "a word twice")
		words = slices.Insert(words, i, words[i], " ")
	case 2:
		g.ask("damage", "two words exchanged")
		j := g.word(words)
		words[i], words[j] = words[j], words[i]
	case 3:
		g.ask("damage", "a line cut")
		words = words[:i]
	case 4:
		g.ask("damage", "a word of another line more")
		words = slices.Insert(words, i, other[k], " ")
	case 5:
		g.ask("damage", "the end of another line")
		words = slices.Concat(words[:i], other[k:])
	default:
		g.ask("damage", "a word of another line")
		words[i] = other[k]
	}
	return strings.Join(slices.DeleteFunc(words, waits.MatchString), "")
}

// word is the place of a token that is not blank, if it is easily found.
func (g *gen) word(words []string) int {
	i := g.n(len(words))
	for range 3 {
		if strings.TrimSpace(words[i]) != "" {
			break
		}
		i = g.n(len(words))
	}
	return i
}
