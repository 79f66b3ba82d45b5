package story

import "strconv"

// color is the number of a terminal's text attribute (ECMA-48, SGR).
type color int

const (
	plain  color = 0
	bold   color = 1
	dim    color = 2
	red    color = 31
	green  color = 32
	yellow color = 33
	cyan   color = 36
)

// color writes text in a colour, if the terminal has any.
func (t *textWriter) color(c color, text string) string {
	if !t.paint || c == plain || text == "" {
		return text
	}
	return "\x1b[" + strconv.Itoa(int(c)) + "m" + text + "\x1b[0m"
}

// color is that of a kind of line.
func (k Kind) color() color {
	switch k {
	case Rewrite, Marked:
		return yellow
	case Conntrack, Route:
		return cyan
	case Missed, Policy, Return:
		return dim
	case Opaque:
		return red
	}
	return plain
}

// verdict writes how an outcome ends in the colour of its end.
func (t *textWriter) verdict(o *Outcome, text string) string {
	c := green
	if o.Passages[0].Out == "" {
		c = red
	}
	return t.color(c, text)
}
