package parse

import (
	"slices"
	"strings"

	"github.com/chainwalk/chainwalk/fakenft/syntax"
)

// stream is a text as tokens, of which the next one can be looked at, and the mistakes that were found in it.
//
// After a mistake, bad is set: peek gives tokBad, which fits nowhere, nothing is taken and nothing said, until all functions up to a block
// have returned; the block recovers behind the next separator.
type stream struct {
	scanner
	cur      lexeme // the next one, if have
	have     bool
	last     syntax.Loc // of the lexeme that was taken last
	bad      bool
	over     bool // nothing more is read
	leaving  bool // the innermost block ends with the mistake
	found    int  // mistakes that it recovered from
	mistakes []*syntax.Mistake
	depth    int // of nft's stack, about
}

// begin goes to the beginning of a text.
func (p *stream) begin(in *syntax.Input, text string) {
	p.source = source{in: in, text: text, line: 1}
	p.have = false
}

// peek is the next token. It reads it, so it must be asked only where nft looks ahead.
func (p *stream) peek() token {
	if p.bad {
		return tokBad
	}
	if !p.have {
		p.scanner.next(&p.cur)
		p.have = true
	}
	return p.cur.tok
}

// take takes the next lexeme, which must have been looked at.
func (p *stream) take() {
	p.last = p.cur.loc
	p.have = false
}

// accept takes the next lexeme if it is of a kind.
func (p *stream) accept(t token) bool {
	if p.peek() != t {
		return false
	}
	p.take()
	return true
}

// expect takes the next lexeme, which must be of a kind. Others are what would have fitted too; nil if these are too many to say.
func (p *stream) expect(t token, others ...token) bool {
	if p.peek() == t {
		p.take()
		return true
	}
	p.unexpected(append(others, t)...)
	return false
}

// unexpected says that the next lexeme fits not, and what would have, if those are not more than four.
func (p *stream) unexpected(expected ...token) {
	if p.bad {
		return
	}
	var b strings.Builder
	b.WriteString("syntax error, unexpected ")
	b.WriteString(tokenNames[p.peek()])
	if len(expected) <= 4 {
		slices.Sort(expected)
		for i, t := range expected {
			if i == 0 {
				b.WriteString(", expecting ")
			} else {
				b.WriteString(" or ")
			}
			b.WriteString(tokenNames[t])
		}
	}
	p.wrong(b.String(), p.cur.loc)
}

// wrong reports a mistake. Nothing is read until a block recovers.
func (p *stream) wrong(text string, at ...syntax.Loc) {
	if p.bad {
		return
	}
	p.mistakes = append(p.mistakes, syntax.Wrong(text, at...))
	p.bad = true
}

// mostDepth is how much nft's parser can have on its stack (YYMAXDEPTH of bison).
const mostDepth = 9995

// inside does something that takes room on nft's stack. Beyond its size nft reads nothing more.
func (p *stream) inside(room int, f func() syntax.Expr) syntax.Expr {
	if p.bad {
		return nil
	}
	p.depth += room
	defer func() { p.depth -= room }()
	if p.depth >= mostDepth {
		p.wrong("memory exhausted", p.here())
		p.mistakes[len(p.mistakes)-1].Last = true
		p.over = true
		return nil
	}
	return f()
}

// close closes a scope.
func (p *stream) close(s scope) {
	if !p.bad {
		p.scopes.pop(s)
	}
}

// recover goes on behind the next separator. It says whether there is more to read.
func (p *stream) recover() bool {
	if p.over {
		return false
	}
	p.bad = false
	for {
		switch p.peek() {
		case tokNewline, tokSemicolon:
			p.take()
			p.found++
			if p.found == mostMistakes {
				return p.stop()
			}
			return true
		case tokEOF:
			p.mistakes[len(p.mistakes)-1].Last = true
			return p.stop()
		default:
			p.take()
		}
	}
}

// stop ends reading.
func (p *stream) stop() bool {
	p.over, p.bad = true, true
	return false
}

// separator takes a newline or semicolon, which must come now.
func (p *stream) separator(others ...token) {
	switch p.peek() {
	case tokNewline, tokSemicolon:
		p.take()
	case tokBad:
	default:
		p.unexpected(append(others, tokNewline, tokSemicolon)...)
	}
}

// here is the place of the next lexeme.
func (p *stream) here() syntax.Loc {
	p.peek()
	return p.cur.loc
}

// nowhere is the place of something that is empty: the end of what came before it.
func (p *stream) nowhere() syntax.Loc {
	l := p.last
	l.First = l.Last
	return l
}

// since is the place from a beginning to the lexeme that was taken last.
func (p *stream) since(from syntax.Loc) syntax.Loc { return from.To(p.last) }

// number takes a number.
func (p *stream) number(others ...token) uint64 {
	if p.expect(tokNumber, others...) {
		return p.cur.number
	}
	return 0
}

// identifier takes a name, which is neither a keyword nor quoted.
func (p *stream) identifier(others ...token) string {
	if p.expect(tokString, others...) {
		return p.cur.text
	}
	return ""
}

// str takes a name or a quoted string, or one with an asterisk.
func (p *stream) str(others ...token) string {
	switch p.peek() {
	case tokString, tokQuotedString, tokAsteriskString:
		p.take()
		return p.cur.text
	}
	p.unexpected(append(others, tokString, tokQuotedString, tokAsteriskString)...)
	return ""
}

const longestComment = 128

// comment takes "comment" and its text.
func (p *stream) comment() (string, syntax.Loc) {
	from := p.here()
	p.take()
	text := p.str()
	if len(text) > longestComment {
		p.wrong("comment too long, 128 characters maximum allowed", p.last)
	}
	return text, p.since(from)
}

// again says that something stands twice that may stand once.
func (p *stream) again(at syntax.Loc) {
	p.wrong("You can only specify this once. This statement is duplicated.", at)
}

// keep does something unless there was a mistake.
func (p *stream) keep(f func()) {
	if !p.bad {
		f()
	}
}
