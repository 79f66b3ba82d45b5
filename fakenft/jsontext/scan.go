package jsontext

import (
	"math"
	"strconv"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

// deepest is how deep values may lie in one another (JSON_PARSER_MAX_DEPTH of jansson).
const deepest = 2048

// scanner reads JSON as jansson does: strictly.
type scanner struct {
	s     string
	at    int
	depth int
	stack []value
}

// parse reads a text of JSON: one object or array.
func parse(s string) (*value, bool) {
	if !utf8.ValidString(s) {
		return nil, false
	}
	sc := &scanner{s: s}
	if c := sc.next(); c != '{' && c != '[' {
		return nil, false
	}
	var v value
	if !sc.value(&v) || sc.next() != 0 || sc.at < len(s) {
		return nil, false
	}
	return &v, true
}

// next is the byte after blanks, 0 at the end.
func (sc *scanner) next() byte {
	for sc.at < len(sc.s) {
		switch c := sc.s[sc.at]; c {
		case ' ', '\t', '\n', '\r':
			sc.at++
		default:
			return c
		}
	}
	return 0
}

func (sc *scanner) value(v *value) bool {
	switch c := sc.next(); {
	case c == '{':
		return sc.nested(v, object, '}')
	case c == '[':
		return sc.nested(v, array, ']')
	case c == '"':
		v.kind = text
		return sc.str(&v.text)
	case c == '-' || c >= '0' && c <= '9':
		return sc.number(v)
	case c == 't':
		v.kind = yes
		return sc.word("true")
	case c == 'f':
		v.kind = no
		return sc.word("false")
	case c == 'n':
		v.kind = null
		return sc.word("null")
	}
	return false
}

func (sc *scanner) word(w string) bool {
	if !strings.HasPrefix(sc.s[sc.at:], w) {
		return false
	}
	sc.at += len(w)
	return sc.at == len(sc.s) || !isLetter(sc.s[sc.at])
}

func isLetter(c byte) bool { return c|0x20 >= 'a' && c|0x20 <= 'z' }

// nested reads an object or an array.
func (sc *scanner) nested(v *value, k kind, end byte) bool {
	sc.at++
	sc.depth++
	defer func() { sc.depth-- }()
	if sc.depth > deepest {
		return false
	}
	v.kind = k
	base := len(sc.stack)
	for first := true; ; first = false {
		c := sc.next()
		if first && c == end {
			break
		}
		var item value
		if k == object {
			if c != '"' || !sc.str(&item.key) || sc.next() != ':' {
				return false
			}
			sc.at++
		}
		if !sc.value(&item) {
			return false
		}
		sc.keep(base, k, &item)
		if c = sc.next(); c == end {
			break
		}
		if c != ',' {
			return false
		}
		sc.at++
	}
	sc.at++
	v.items = append([]value(nil), sc.stack[base:]...)
	sc.stack = sc.stack[:base]
	return true
}

// keep puts an item on the stack. A property that an object has already gets the new value and keeps its place.
func (sc *scanner) keep(base int, k kind, item *value) {
	if k == object {
		for i := base; i < len(sc.stack); i++ {
			if sc.stack[i].key == item.key {
				sc.stack[i] = *item
				return
			}
		}
	}
	sc.stack = append(sc.stack, *item)
}

func (sc *scanner) str(to *string) bool {
	sc.at++
	from := sc.at
	for sc.at < len(sc.s) {
		switch c := sc.s[sc.at]; {
		case c == '"':
			*to = sc.s[from:sc.at]
			sc.at++
			return true
		case c == '\\':
			return sc.escaped(from, to)
		case c < ' ':
			return false
		}
		sc.at++
	}
	return false
}

// escaped reads a string that has escapes. It stands at the first one.
func (sc *scanner) escaped(from int, to *string) bool {
	b := []byte(sc.s[from:sc.at])
	for sc.at < len(sc.s) {
		c := sc.s[sc.at]
		sc.at++
		switch {
		case c == '"':
			*to = string(b)
			return true
		case c < ' ':
			return false
		case c != '\\':
			b = append(b, c)
			continue
		}
		if sc.at == len(sc.s) {
			return false
		}
		c = sc.s[sc.at]
		sc.at++
		if c == 'u' {
			r, ok := sc.unicode()
			if !ok {
				return false
			}
			b = utf8.AppendRune(b, r)
			continue
		}
		i := strings.IndexByte(`"\/bfnrt`, c)
		if i < 0 {
			return false
		}
		b = append(b, "\"\\/\b\f\n\r\t"[i])
	}
	return false
}

// unicode reads the digits of \u, and those of the other half of a pair. Nothing stands for the character 0.
func (sc *scanner) unicode() (rune, bool) {
	r, ok := sc.hex4()
	if !ok || r == 0 {
		return 0, false
	}
	if !utf16.IsSurrogate(r) {
		return r, true
	}
	if !strings.HasPrefix(sc.s[sc.at:], `\u`) {
		return 0, false
	}
	sc.at += 2
	low, ok := sc.hex4()
	r = utf16.DecodeRune(r, low)
	return r, ok && r != utf8.RuneError
}

func (sc *scanner) hex4() (rune, bool) {
	if sc.at+4 > len(sc.s) {
		return 0, false
	}
	n, err := strconv.ParseUint(sc.s[sc.at:sc.at+4], 16, 16)
	sc.at += 4
	return rune(n), err == nil
}

func (sc *scanner) number(v *value) bool {
	from := sc.at
	if sc.s[sc.at] == '-' {
		sc.at++
	}
	if sc.at < len(sc.s) && sc.s[sc.at] == '0' {
		sc.at++
	} else if !sc.digits() {
		return false
	}
	v.kind = integer
	if sc.at < len(sc.s) && sc.s[sc.at] == '.' {
		v.kind = float
		sc.at++
		if !sc.digits() {
			return false
		}
	}
	if sc.at < len(sc.s) && sc.s[sc.at]|0x20 == 'e' {
		v.kind = float
		sc.at++
		if sc.at < len(sc.s) && (sc.s[sc.at] == '+' || sc.s[sc.at] == '-') {
			sc.at++
		}
		if !sc.digits() {
			return false
		}
	}
	v.text = sc.s[from:sc.at]
	if v.kind == float {
		f, err := strconv.ParseFloat(v.text, 64)
		return err == nil && !math.IsInf(f, 0)
	}
	n, err := strconv.ParseInt(v.text, 10, 64)
	v.num = n
	return err == nil
}

func (sc *scanner) digits() bool {
	from := sc.at
	for sc.at < len(sc.s) && sc.s[sc.at] >= '0' && sc.s[sc.at] <= '9' {
		sc.at++
	}
	return sc.at > from
}
