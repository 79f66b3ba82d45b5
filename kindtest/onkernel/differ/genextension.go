package differ

import (
	"strings"
)

// drawing says how the words of an extension are drawn.
type drawing struct {
	// before are words that most rules with the extension need before it, such as "-p tcp"; one of the lines is drawn.
	before []string
	// at are the tables and hooks that the kernel takes it in, as in "nat PREROUTING OUTPUT"; none: all. A "*" is every table.
	at []string
	// needs are options without which a rule is refused; one of those parted by "|" is enough.
	needs []string
	// values are the kinds of the options' values.
	values map[string]valueKind
	// more are options that the tools have beside the recorded ones: shorter names, and those that cannot be told from other words.
	more []string
}

// extensionWords draws an extension and its options, as words behind one another.
func (g *textGen) extensionWords(x *toolExtension) []string {
	how := drawings[x.name]
	load := "-m"
	if x.target {
		load = "-j"
	}
	out := []string{load, x.name}
	if g.chance(2) {
		out[0] = map[string]string{"-m": "--match", "-j": "--jump"}[load]
	}
	names := g.optionsOf(x, &how)
	for _, name := range names {
		out = append(out, g.optionWords(x, &how, name)...)
	}
	return out
}

// optionsOf draws which options are given: what is needed, some others, some twice.
func (g *textGen) optionsOf(x *toolExtension, how *drawing) []string {
	var names []string
	for _, need := range how.needs {
		if g.chance(94) {
			names = append(names, g.oneOf(strings.Split(need, "|")...))
		}
	}
	more := 3
	switch {
	case g.chance(6):
		more = 6
	case len(names) > 0:
		more = 2
	}
	for n := g.r.IntN(more + 1); n > 0 && len(x.options)+len(how.more) > 0; n-- {
		i := g.r.IntN(len(x.options) + len(how.more))
		if i < len(x.options) {
			names = append(names, x.options[i].name)
		} else {
			names = append(names, how.more[i-len(x.options)])
		}
	}
	if !g.chance(4) {
		names = withoutRepeats(names)
	}
	if g.chance(40) {
		g.r.Shuffle(len(names), func(i, j int) { names[i], names[j] = names[j], names[i] })
	}
	return names
}

// withoutRepeats leaves out what stands before already.
func withoutRepeats(names []string) []string {
	var out []string
	seen := map[string]bool{}
	for _, name := range names {
		if !seen[name] {
			out = append(out, name)
		}
		seen[name] = true
	}
	return out
}

// optionWords draws an option with its value.
func (g *textGen) optionWords(x *toolExtension, how *drawing, name string) []string {
	var out []string
	if g.chance(14) {
		out = append(out, "!")
	}
	option := "--" + name
	if len(name) > 4 && g.chance(2) {
		option = option[:len(option)-1-g.r.IntN(3)]
	}
	if x.isFlag(name) {
		out = append(out, option)
		if g.chance(1) {
			out = append(out, g.value(x, how, name))
		}
		return out
	}
	values := strings.Split(g.value(x, how, name), behindBlank)
	if g.chance(2) {
		values = append([]string{"!"}, values...)
	}
	if g.chance(4) {
		return append(append(out, option+"="+values[0]), values[1:]...)
	}
	return append(append(out, option), values...)
}

// behindBlank parts the words of a value that is several words.
const behindBlank = "\x00"

func (x *toolExtension) isFlag(name string) bool {
	for _, o := range x.options {
		if o.name == name {
			return o.flag
		}
	}
	return false
}

// value draws the value of an option. Of an option that no table has it is any word of the extension's library, or any number.
func (g *textGen) value(x *toolExtension, how *drawing, name string) string {
	kind := how.values[name]
	switch n := g.r.IntN(100); {
	case n < 4:
		return g.oneOf(append(x.words[:len(x.words):len(x.words)], "x")...)
	case n < 6:
		return oddText(g)
	case kind == nil:
		return either(wideNumber, textWord)(g)
	}
	return kind(g)
}
