package print

import (
	"unicode/utf8"

	"github.com/chainwalk/chainwalk/fakenft/syntax"
)

// jsonStr appends a string of JSON, escaped as jansson does.
func (p *buffer) jsonStr(s string) {
	p.b = append(p.b, '"')
	p.escaped(s)
	p.b = append(p.b, '"')
}

func (p *buffer) escaped(s string) {
	from := 0
	for i := 0; i < len(s); i++ {
		c := s[i]
		if c >= ' ' && c != '"' && c != '\\' {
			continue
		}
		p.b = append(p.b, s[from:i]...)
		from = i + 1
		switch c {
		case '"', '\\':
			p.b = append(p.b, '\\', c)
		case '\b':
			p.str(`\b`)
		case '\f':
			p.str(`\f`)
		case '\n':
			p.str(`\n`)
		case '\r':
			p.str(`\r`)
		case '\t':
			p.str(`\t`)
		default:
			const digits = "0123456789ABCDEF"
			p.b = append(p.b, '\\', 'u', '0', '0', digits[c>>4], digits[c&15])
		}
	}
	p.b = append(p.b, s[from:]...)
}

// property appends `, "name": "value"`, unless the value is no text of JSON, which jansson leaves out.
func (p *buffer) property(name, value string) {
	if !utf8.ValidString(value) {
		return
	}
	p.str(`, "`)
	p.str(name)
	p.str(`": `)
	p.jsonStr(value)
}

// integer appends `, "name": n`.
func (p *buffer) integer(name string, n uint64) {
	p.str(`, "`)
	p.str(name)
	p.str(`": `)
	p.int(int64(n))
}

// array appends a list; what begins it and ends it is written even if it is empty.
func (p *buffer) array(n int, item func(i int)) {
	p.b = append(p.b, '[')
	for i := range n {
		if i > 0 {
			p.str(", ")
		}
		item(i)
	}
	p.b = append(p.b, ']')
}

// words appends a list of words; one alone is no list.
func (p *buffer) words(list []string) {
	if len(list) == 1 {
		p.jsonStr(list[0])
		return
	}
	p.array(len(list), func(i int) { p.jsonStr(list[i]) })
}

func (p *buffer) jsonBool(is bool) {
	if is {
		p.str("true")
	} else {
		p.str("false")
	}
}

// inQuotes puts what f prints, which needs no escapes, into quotes.
func (p *buffer) inQuotes(f func()) {
	p.b = append(p.b, '"')
	f()
	p.b = append(p.b, '"')
}

// nameOrNumber appends a name, or if there is none a number: as a text in hexadecimal if it has more than 64 bits.
func (p *buffer) nameOrNumber(name string, n syntax.Num) {
	switch {
	case name != "":
		p.jsonStr(name)
	case n.Hi != 0:
		p.inQuotes(func() { p.hex(n, 1) })
	default:
		p.int(int64(n.Lo))
	}
}

// inverse appends `, "inv": true` for "over".
func (p *buffer) inverse(is bool) {
	if is {
		p.str(`, "inv": true`)
	}
}

// optional begins an object of properties that may all be missing; the function that it gives back begins each.
func (p *buffer) optional(name string) (next func(key string), end func()) {
	p.str(`{"`)
	p.str(name)
	p.str(`": `)
	begun := false
	next = func(key string) {
		if begun {
			p.str(`, "`)
		} else {
			p.str(`{"`)
		}
		begun = true
		p.str(key)
		p.str(`": `)
	}
	end = func() {
		if begun {
			p.str("}}")
		} else {
			p.str("null}")
		}
	}
	return next, end
}
