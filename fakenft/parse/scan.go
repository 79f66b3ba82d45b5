package parse

import (
	"strconv"
	"strings"

	"github.com/chainwalk/chainwalk/fakenft/syntax"
)

// lexeme is a token with its text and place. Number is the value of a tokNumber.
type lexeme struct {
	tok    token
	text   string // without the quotes of a quoted string
	number uint64
	loc    syntax.Loc
}

// source is a text that is being read.
type source struct {
	in        *syntax.Input
	text      string
	at        int
	line      int32
	lineStart int
	// lastLine says that no line ends any more.
	lastLine bool
	// seenStart is the beginning of the line that the last match began in, blanks included. The end of the file takes its line from there.
	seenStart int
}

// scanner cuts texts into lexemes. It is told the scopes by the parser.
type scanner struct {
	source
	below  []source // those that included this one
	scopes scopeStack
}

// class says what may begin with a byte.
type class uint8

const (
	classOther class = iota
	classBlank
	classLetter
	classDigit
	classSingle // a token of one byte, which begins no other one
)

var classes = makeClasses()

// singles are the tokens of one byte.
var singles = [256]token{
	',': tokComma, '.': tokDot, ':': tokColon, ';': tokSemicolon, '{': tokLBrace, '}': tokRBrace, '[': tokLBracket, ']': tokRBracket,
	'(': tokLParen, ')': tokRParen, '^': tokCaret, '&': tokAmp, '|': tokPipe, '/': tokSlash, '-': tokDash, '*': tokAsterisk, '@': tokAt,
	'$': tokDollar, '=': tokEquals, '+': tokPlus, '<': tokLt, '>': tokGt, '!': tokNot,
}

// double is the token of two bytes that a text begins with, or 0.
func double(rest string) token {
	if len(rest) < 2 {
		return 0
	}
	switch rest[:2] {
	case "==":
		return tokEq
	case "!=":
		return tokNeq
	case "<=":
		return tokLte
	case ">=":
		return tokGte
	case "<<":
		return tokLshift
	case ">>":
		return tokRshift
	}
	return 0
}

func makeClasses() (table [256]class) {
	table[' '], table['\t'] = classBlank, classBlank
	for c := range 26 {
		table['a'+c], table['A'+c] = classLetter, classLetter
	}
	table['_'] = classLetter
	for c := '0'; c <= '9'; c++ {
		table[c] = classDigit
	}
	for _, c := range ",;{}]()^&|/-*@$+" {
		table[c] = classSingle
	}
	return table
}

// next reads the next lexeme.
func (s *scanner) next(l *lexeme) {
	for {
		if s.at >= len(s.text) {
			if s.leave() {
				continue
			}
			l.loc = syntax.Loc{In: s.in, Line: s.line, LineStart: int32(s.seenStart)}
			l.loc.First = int32(s.at - s.lineStart + 1)
			l.loc.Last = l.loc.First
			l.tok, l.text = tokEOF, ""
			return
		}
		if classes[s.text[s.at]] >= classLetter { // it begins a lexeme, wherever it stands
			s.match(l)
			return
		}
		if n := s.commentLine(); n > 0 {
			s.seenStart = s.lineStart
			s.newline(n)
			continue
		}
		if n := s.skip(); n > 0 {
			s.seenStart = s.lineStart
			s.at += n
			continue
		}
		if strings.HasPrefix(s.text[s.at:], "\\\n") {
			s.seenStart = s.lineStart
			s.newline(2)
			continue
		}
		s.match(l)
		return
	}
}

// commentLine is the number of bytes of a line that has nothing but a comment, with its end: 0 if it is none. To the parser it is not
// there, not even in the middle of a list or behind a line that goes on.
func (s *scanner) commentLine() int {
	if s.at != s.lineStart {
		return 0
	}
	rest := s.text[s.at:]
	n := 0
	for n < len(rest) && classes[rest[n]] == classBlank {
		n++
	}
	if n == len(rest) || rest[n] != '#' {
		return 0
	}
	return strings.IndexByte(rest, '\n') + 1
}

// skip is the number of bytes of blanks or of a comment. A comment ends before the end of a line; what no line ends is none.
func (s *scanner) skip() int {
	rest := s.text[s.at:]
	n := 0
	for n < len(rest) && classes[rest[n]] == classBlank {
		n++
	}
	if n == 0 && rest[0] == '#' && !s.lastLine {
		n = max(strings.IndexByte(rest, '\n'), 0)
		s.lastLine = n == 0
	}
	return n
}

func (s *scanner) newline(n int) {
	s.at += n
	s.line++
	s.lineStart = s.at
}

// match reads a lexeme that begins here.
func (s *scanner) match(l *lexeme) {
	start := s.at
	rest := s.text[start:]
	n := 1
	s.seenStart = s.lineStart
	first := int32(start - s.lineStart + 1)
	l.loc = syntax.Loc{In: s.in, Line: s.line, LineStart: int32(s.lineStart), First: first, Last: first}
	switch c := rest[0]; classes[c] {
	case classSingle:
		l.tok = singles[c]
	case classLetter:
		n = s.letters(l, rest)
	case classDigit:
		n = digits(l, rest)
	default:
		if c == '\n' {
			l.tok, l.text = tokNewline, rest[:1]
			s.newline(1)
			return
		}
		n = s.other(l, rest)
	}
	l.loc.Last = first + int32(n) - 1
	if l.tok != tokQuotedString {
		l.text = rest[:n]
	}
	if l.tok == tokString && rest[0] == '[' {
		l.text = rest[1 : n-1]
	}
	s.at = start + n
	if sc := opens[l.tok]; sc != scopeBase {
		s.scopes.push(sc)
	}
}

// letters reads what begins with a letter: a keyword, a name, or a hexadecimal address.
func (s *scanner) letters(l *lexeme, rest string) int {
	n := nameLen(rest)
	if n < len(rest) {
		switch rest[n] {
		case ':':
			if a := addressLen(rest); a > n {
				l.tok = tokString
				return a
			}
		case '*', '\\':
			if a := asteriskLen(rest, n); a > n {
				l.tok = tokAsteriskString
				return a
			}
		}
	}
	l.tok = lookup(rest[:n], s.scopes.top)
	return n
}

// nameLen is the length of a name that begins here.
func nameLen(rest string) int {
	n := 1
	for n < len(rest) && nameByte[rest[n]] {
		n++
	}
	return n
}

var nameByte = makeNameBytes()

func makeNameBytes() (table [256]bool) {
	for c, k := range classes {
		table[c] = k == classLetter || k == classDigit || c == '/' || c == '-' || c == '.'
	}
	return table
}

// asteriskLen is the length of a name that ends in '*', or that has a '*' behind a backslash.
func asteriskLen(rest string, n int) int {
	switch {
	case rest[n] == '*':
		return n + 1
	case n+1 < len(rest) && rest[n+1] == '*':
		n += 2
		if n > 2 && n < len(rest) && (classes[rest[n]] == classLetter || rest[n] == '.') {
			n += nameLen(rest[n:])
		}
		return n
	}
	return 0
}

// digits reads a number, an address, a time, or one of the two types of Ethernet that begin with digits.
func digits(l *lexeme, rest string) int {
	for _, word := range [...]string{"8021ad", "8021q"} {
		if strings.HasPrefix(rest, word) {
			l.tok = tokString
			return len(word)
		}
	}
	n := 1
	for n < len(rest) && classes[rest[n]] == classDigit {
		n++
	}
	if n < len(rest) {
		switch c := rest[n]; {
		case c == '.':
			if a := ip4Len(rest); a > 0 {
				l.tok = tokString
				return a
			}
		case c == 'x' || c == 'X':
			if rest[:n] == "0" {
				h := 2
				for h < len(rest) && isHex(rest[h]) {
					h++
				}
				if h > 2 {
					return number(l, rest[:h])
				}
			}
		case c == ':' || isHex(c) || isUnit(c):
			if a := max(addressLen(rest), timeLen(rest)); a > n {
				l.tok = tokString
				return a
			}
		}
	}
	return number(l, rest[:n])
}

func isUnit(c byte) bool { return c == 'd' || c == 'h' || c == 'm' || c == 's' }

// number reads a number as strtoull does with base 0. What it does not take whole is a string.
func number(l *lexeme, text string) int {
	l.tok = tokNumber
	var err error
	if len(text) > 1 && text[0] == '0' {
		base := 8
		digits := text[1:]
		if text[1] == 'x' || text[1] == 'X' {
			base, digits = 16, text[2:]
		}
		l.number, err = strconv.ParseUint(digits, base, 64)
	} else {
		l.number, err = strconv.ParseUint(text, 10, 64)
	}
	if err != nil {
		l.tok = tokString
	}
	return len(text)
}

// other reads what begins neither with a letter nor with a digit.
func (s *scanner) other(l *lexeme, rest string) int {
	switch c := rest[0]; c {
	case '.':
		if n := nameLen(rest); n > 1 {
			l.tok = tokString
			if n < len(rest) && (rest[n] == '*' || rest[n] == '\\') {
				if a := asteriskLen(rest, n); a > n {
					l.tok = tokAsteriskString
					return a
				}
			}
			return n
		}
		if len(rest) > 1 && (rest[1] == '*' || rest[1] == '\\') {
			if a := asteriskLen(rest, 1); a > 1 {
				l.tok = tokAsteriskString
				return a
			}
		}
	case ':':
		if a := addressLen(rest); a > 0 {
			l.tok = tokString
			return a
		}
	case '[':
		if a := ip6Len(rest[1:]); a > 0 && len(rest) > a+1 && rest[a+1] == ']' {
			l.tok = tokString
			return a + 2
		}
	case '"':
		if end := strings.IndexByte(rest[1:], '"'); end >= 0 {
			l.tok, l.text = tokQuotedString, rest[1:end+1]
			return end + 2
		}
	case '\\':
		if len(rest) > 1 && rest[1] == '*' {
			l.tok = tokAsteriskString
			return 2
		}
	default:
		if t := double(rest); t != 0 {
			l.tok = t
			return 2
		}
	}
	l.tok = singles[rest[0]]
	if l.tok == 0 {
		l.tok = tokJunk
	}
	return 1
}
