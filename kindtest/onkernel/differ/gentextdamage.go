package differ

import "strings"

// damage changes input of restore in one place.
func (g *textGen) damage(text string) string {
	lines := strings.SplitAfter(text, "\n")
	n := g.r.IntN(len(lines))
	switch g.r.IntN(8) {
	case 0:
		lines[n] = ""
	case 1:
		lines[n] += lines[n]
	case 2:
		k := g.r.IntN(len(lines))
		lines[n], lines[k] = lines[k], lines[n]
	case 3:
		return strings.TrimSuffix(text, "\n")
	case 4, 5:
		lines[n] = g.damageTokens(strings.TrimSuffix(lines[n], "\n")) + "\n"
	default:
		return g.damageBytes(text)
	}
	return strings.Join(lines, "")
}

// damageTokens drops, doubles, swaps or replaces a word.
func (g *textGen) damageTokens(line string) string {
	words := strings.Fields(line)
	if len(words) == 0 {
		return g.oneOf(textExtras...)
	}
	n := g.r.IntN(len(words))
	switch g.r.IntN(6) {
	case 0:
		words[n] = ""
	case 1:
		words[n] += " " + words[n]
	case 2:
		k := g.r.IntN(len(words))
		words[n], words[k] = words[k], words[n]
	case 3:
		words[n] = g.oneOf(textExtras...)
	case 4:
		words[n] = g.oneOf("", "0", "-1", "99999999999", "!", "-", "--", "x", ",", "1.2.3.4", "::1", "[0:0]", "[1:2", ":", "/", "10.0.0.0/33",
			strings.Repeat("L", 29), strings.Repeat("q", 300)) + g.oneOf("", words[n])
	default:
		words[n] = g.damageBytes(words[n])
	}
	return strings.Join(words, " ")
}

// damageBytes changes, inserts or drops a byte.
func (g *textGen) damageBytes(text string) string {
	if text == "" {
		return text
	}
	n := g.r.IntN(len(text))
	special := "!\"'\\ \t-:,/[]*#@\n+=.~0aZ\x01\x7f\xc3"
	b := string(special[g.r.IntN(len(special))])
	switch g.r.IntN(3) {
	case 0:
		return text[:n] + b + text[n:]
	case 1:
		return text[:n] + text[n+1:]
	}
	return text[:n] + b + text[n+1:]
}
