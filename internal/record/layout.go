package record

import (
	"fmt"
	"net/netip"
	"reflect"
	"slices"
	"strings"
	"sync/atomic"
	"time"
)

// layout is how values of a type are written: one field after the other.
type layout struct {
	typ    reflect.Type
	number int // its place in Types.layouts
	fields []field
}

// field is a part of a value that is written at once: what it is, and where in the value.
type field struct {
	kind   kind
	offset uintptr
	name   string
	elem   *layout // of what a pointer or a slice leads to
	behind *behind // of an interface
}

// kind is the kind of a field.
type kind uint8

const (
	kindBool kind = iota
	kindUint8
	kindUint16
	kindUint32
	kindUint64
	kindInt
	kindString
	kindAddr
	kindTime
	kindAtomic
	kindPointer
	kindSlice
	kindInterface
)

var kindNames = [...]string{"bool", "8", "16", "32", "64", "int", "string", "address", "time", "counter", "*", "[]", "any"}

// basicKinds are the types that are one field each, by their reflect.Kind.
var basicKinds = map[reflect.Kind]kind{
	reflect.Bool: kindBool, reflect.Uint8: kindUint8, reflect.Int8: kindUint8, reflect.Uint16: kindUint16, reflect.Int16: kindUint16,
	reflect.Uint32: kindUint32, reflect.Int32: kindUint32, reflect.Uint64: kindUint64, reflect.Int64: kindUint64, reflect.Int: kindInt,
	reflect.String: kindString,
}

// wholeTypes are structs that are one field each.
var wholeTypes = map[reflect.Type]kind{
	reflect.TypeFor[netip.Addr](): kindAddr, reflect.TypeFor[time.Time](): kindTime, reflect.TypeFor[atomic.Uint64](): kindAtomic,
}

// layout makes the layout of a type, once. It panics for a type that cannot be written: that is a mistake in the program.
func (t *Types) layout(typ reflect.Type) *layout {
	if l := t.byType[typ]; l != nil {
		return l
	}
	l := &layout{typ: typ, number: len(t.layouts)}
	t.byType[typ], t.layouts = l, append(t.layouts, l)
	t.addFields(l, typ, 0, "")
	return l
}

// addFields appends the fields of a part of a value.
func (t *Types) addFields(l *layout, typ reflect.Type, offset uintptr, name string) {
	f := field{offset: offset, name: name}
	known := false
	if f.kind, known = wholeTypes[typ]; !known {
		f.kind, known = basicKinds[typ.Kind()]
	}
	switch {
	case known:
	case typ.Kind() == reflect.Struct:
		for i := range typ.NumField() {
			part := typ.Field(i)
			t.addFields(l, part.Type, offset+part.Offset, name+"."+part.Name)
		}
		return
	case typ.Kind() == reflect.Array:
		for i := range typ.Len() {
			t.addFields(l, typ.Elem(), offset+uintptr(i)*typ.Elem().Size(), fmt.Sprintf("%s[%d]", name, i))
		}
		return
	case typ.Kind() == reflect.Pointer && typ.Elem().Size() > 0:
		f.kind, f.elem = kindPointer, t.layout(typ.Elem())
	case typ.Kind() == reflect.Slice && typ.Elem().Size() > 0:
		f.kind, f.elem = kindSlice, t.layout(typ.Elem())
	case typ.Kind() == reflect.Interface && t.behind[typ] != nil:
		f.kind, f.behind = kindInterface, t.behind[typ]
	default:
		panic(fmt.Sprintf("record: %v%s is a %v, which cannot be written", l.typ, name, typ))
	}
	l.fields = append(l.fields, f)
}

// describe says what values of the layout are made of.
func (l *layout) describe() string {
	var b strings.Builder
	l.describeTo(&b, nil)
	return b.String()
}

func (l *layout) describeTo(b *strings.Builder, within []*layout) {
	b.WriteString(l.typ.String())
	if slices.Contains(within, l) {
		return
	}
	within = append(within, l)
	for i := range l.fields {
		f := &l.fields[i]
		b.WriteString(" " + f.name + " " + kindNames[f.kind])
		if f.elem != nil {
			b.WriteByte('(')
			f.elem.describeTo(b, within)
			b.WriteByte(')')
		}
	}
}
