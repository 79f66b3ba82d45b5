package jsontext

import (
	"fmt"
	"strings"
)

// unpacked is why a value is not of the form that was asked for: jansson's message, and the column of the form where it was seen.
type unpacked struct {
	text   string
	column int
}

// form is a form that a value must have, as json_unpack of jansson takes it: "{s:s, s:I}" and the like.
type form struct {
	s      string
	column int // of the token
	at     int
	args   []any
	quiet  bool // nobody wants to know why it failed
	failed *unpacked
}

// unpack takes a value apart. The arguments are the names of properties, each followed by a place for its value: *string, *int64, *bool or
// **value. Nothing is stored where the failure comes first.
func unpack(v *value, s string, args ...any) *unpacked {
	f := &form{s: s, args: args}
	f.value(v, f.next())
	return f.failed
}

// is says whether a value has a form, and takes it apart if so.
func is(v *value, s string, args ...any) bool {
	f := &form{s: s, args: args, quiet: true}
	return f.value(v, f.next())
}

// next is the next token of the form, 0 at the end. Its column is what jansson counts.
func (f *form) next() byte {
	for f.at < len(f.s) && strings.IndexByte(" \t,:", f.s[f.at]) >= 0 {
		f.at++
	}
	f.column = f.at + 1
	if f.at == len(f.s) {
		return 0
	}
	f.at++
	return f.s[f.at-1]
}

func (f *form) arg() any {
	a := f.args[0]
	f.args = f.args[1:]
	return a
}

func (f *form) fail(format string, args ...any) bool {
	if f.quiet {
		return false
	}
	f.failed = &unpacked{fmt.Sprintf(format, args...), f.column}
	return false
}

func (f *form) value(v *value, token byte) bool {
	switch token {
	case '{':
		return f.object(v)
	case '[':
		return f.array(v)
	case 's':
		to := f.arg().(*string)
		if v.kind != text {
			return f.fail("Expected string, got %s", v.kind)
		}
		*to = v.text
	case 'i', 'I':
		to := f.arg().(*int64)
		if v.kind != integer {
			return f.fail("Expected integer, got %s", v.kind)
		}
		*to = v.num
		if token == 'i' {
			*to = int64(int32(v.num))
		}
	case 'b':
		to := f.arg().(*bool)
		if v.kind != yes && v.kind != no {
			return f.fail("Expected true or false, got %s", v.kind)
		}
		*to = v.kind == yes
	case 'o':
		*f.arg().(**value) = v
	}
	return true
}

func (f *form) object(v *value) bool {
	if v.kind != object {
		return f.fail("Expected object, got %s", v.kind)
	}
	for token := f.next(); token != '}'; token = f.next() {
		key := f.arg().(string)
		token = f.next()
		item := v.get(key)
		if item == nil {
			return f.fail("Object item not found: %s", key)
		}
		if !f.value(item, token) {
			return false
		}
	}
	return true
}

func (f *form) array(v *value) bool {
	if v.kind != array {
		return f.fail("Expected array, got %s", v.kind)
	}
	i := 0
	for token := f.next(); token != ']'; token = f.next() {
		if token == '!' {
			if i != len(v.items) {
				return f.fail("%d array item(s) left unpacked", len(v.items)-i)
			}
			continue
		}
		if i >= len(v.items) {
			return f.fail("Array index %d out of range", i)
		}
		if !f.value(&v.items[i], token) {
			return false
		}
		i++
	}
	return true
}
