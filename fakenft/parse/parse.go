package parse

import (
	"slices"
	"strings"

	"github.com/chainwalk/chainwalk/fakenft/syntax"
)

// Files is where the files of "include" are.
type Files interface {
	// Glob lists the names that a pattern matches, in order. A name without wildcards is its own match if it is there.
	Glob(pattern string) ([]string, error)
	// Read is what a file holds. Errors of package os make nft's messages.
	Read(name string) ([]byte, error)
}

// Options are what a parser is told beside the text.
type Options struct {
	// Files are for "include"; nil: there are none.
	Files Files
	// IncludePaths are searched for names that begin neither with "/" nor with ".", in order.
	IncludePaths []string
	// Defines are those of the command line: names and values ("-D name=value").
	Defines [][2]string
}

// mostMistakes is how many mistakes nft looks for before it gives up.
const mostMistakes = 10

// Text reads commands. If there are mistakes, it returns the commands that it could read, and blocks without their wrong parts: nft 1.0.6
// evaluates these too and reports what it finds there behind the mistakes, before it gives up. It reads on until the tenth mistake.
func Text(in *syntax.Input, o Options) ([]*syntax.Command, []*syntax.Mistake) {
	p := &parser{o: o, vars: &variables{}}
	if len(o.Defines) > 0 {
		var b strings.Builder
		for _, d := range o.Defines {
			b.WriteString("define " + d[0] + "=" + d[1] + "; ")
		}
		p.read(&syntax.Input{Text: b.String()})
	}
	if len(p.mistakes) == 0 {
		p.read(in)
	}
	return p.commands, p.mistakes
}

// parser descends through a text. Its functions are named after what they read.
//
// After a mistake, bad is set: peek gives tokBad, which fits nowhere, nothing is taken and nothing said, until all functions up to a block
// have returned; the block recovers behind the next separator.
type parser struct {
	scanner
	o        Options
	cur      lexeme // the next one, if have
	have     bool
	last     syntax.Loc // of the lexeme that was taken last
	bad      bool
	over     bool // nothing more is read
	leaving  bool // the innermost block ends with the mistake
	found    int  // mistakes that it recovered from
	mistakes []*syntax.Mistake
	commands []*syntax.Command
	vars     *variables
	nesting  int // blocks that have variables of their own
	depth    int // of nft's stack, about
	nodes
}

// read takes a whole text.
func (p *parser) read(in *syntax.Input) {
	text := in.Text
	if in.Name == "" || in.Name == "/dev/stdin" {
		// nft holds these as C strings.
		if i := strings.IndexByte(text, 0); i >= 0 {
			text = text[:i]
		}
	}
	p.source = source{in: in, text: text, line: 1}
	p.have = false
	p.input()
}

// peek is the next token. It reads it, so it must be asked only where nft looks ahead.
func (p *parser) peek() token {
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
func (p *parser) take() {
	p.last = p.cur.loc
	p.have = false
}

// accept takes the next lexeme if it is of a kind.
func (p *parser) accept(t token) bool {
	if p.peek() != t {
		return false
	}
	p.take()
	return true
}

// expect takes the next lexeme, which must be of a kind. Others are what would have fitted too; nil if these are too many to say.
func (p *parser) expect(t token, others ...token) bool {
	if p.peek() == t {
		p.take()
		return true
	}
	p.unexpected(append(others, t)...)
	return false
}

// unexpected says that the next lexeme fits not, and what would have, if those are not more than four.
func (p *parser) unexpected(expected ...token) {
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
func (p *parser) wrong(text string, at ...syntax.Loc) {
	if p.bad {
		return
	}
	p.mistakes = append(p.mistakes, syntax.Wrong(text, at...))
	p.bad = true
}

// mostDepth is how much nft's parser can have on its stack (YYMAXDEPTH of bison).
const mostDepth = 9995

// inside does something that takes room on nft's stack. Beyond its size nft reads nothing more.
func (p *parser) inside(room int, f func() syntax.Expr) syntax.Expr {
	if p.bad {
		return nil
	}
	p.depth += room
	defer func() { p.depth -= room }()
	if p.depth >= mostDepth {
		p.wrong("memory exhausted", p.here())
		p.over = true
		return nil
	}
	return f()
}

// close closes a scope.
func (p *parser) close(s scope) {
	if !p.bad {
		p.scopes.pop(s)
	}
}

// recover goes on behind the next separator. It says whether there is more to read.
func (p *parser) recover() bool {
	if p.over {
		return false
	}
	p.bad = false
	for {
		switch p.peek() {
		case tokNewline, tokSemicolon:
			p.take()
			p.found++
			if p.found >= mostMistakes {
				return p.stop()
			}
			return true
		case tokEOF:
			return p.stop()
		default:
			p.take()
		}
	}
}

// stop ends reading.
func (p *parser) stop() bool {
	p.over, p.bad = true, true
	return false
}

// separator takes a newline or semicolon, which must come now.
func (p *parser) separator(others ...token) {
	switch p.peek() {
	case tokNewline, tokSemicolon:
		p.take()
	case tokBad:
	default:
		p.unexpected(append(others, tokNewline, tokSemicolon)...)
	}
}

// here is the place of the next lexeme.
func (p *parser) here() syntax.Loc {
	p.peek()
	return p.cur.loc
}

// nowhere is the place of something that is empty: the end of what came before it.
func (p *parser) nowhere() syntax.Loc {
	l := p.last
	l.First = l.Last
	return l
}

// since is the place from a beginning to the lexeme that was taken last.
func (p *parser) since(from syntax.Loc) syntax.Loc { return from.To(p.last) }

// number takes a number.
func (p *parser) number(others ...token) uint64 {
	if p.expect(tokNumber, others...) {
		return p.cur.number
	}
	return 0
}

// identifier takes a name, which is neither a keyword nor quoted.
func (p *parser) identifier(others ...token) string {
	if p.expect(tokString, others...) {
		return p.cur.text
	}
	return ""
}

// str takes a name or a quoted string, or one with an asterisk.
func (p *parser) str(others ...token) string {
	switch p.peek() {
	case tokString, tokQuotedString, tokAsteriskString:
		p.take()
		return p.cur.text
	}
	p.unexpected(append(others, tokString, tokQuotedString, tokAsteriskString)...)
	return ""
}
