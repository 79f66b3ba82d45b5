package record

import (
	"fmt"
	"reflect"
	"unsafe"
)

// Types are the types that a program writes: the structs that it gives to a Writer itself, and those behind interfaces. They are made once
// and may be used by several goroutines.
type Types struct {
	layouts []*layout
	byType  map[reflect.Type]*layout
	byName  map[string]*layout // behind interfaces
	behind  map[reflect.Type]*behind
}

// behind gets values out of fields of an interface type, and puts them in.
type behind struct {
	get func(unsafe.Pointer) any
	set func(unsafe.Pointer, any) bool
}

// Interface is an interface whose values may be written.
type Interface struct {
	typ reflect.Type
	behind
}

// InterfaceOf makes an Interface of I.
func InterfaceOf[I any]() Interface {
	return Interface{reflect.TypeFor[I](), behind{
		get: func(p unsafe.Pointer) any { return any(*(*I)(p)) },
		set: func(p unsafe.Pointer, v any) bool {
			i, ok := v.(I)
			if ok {
				*(*I)(p) = i
			}
			return ok
		},
	}}
}

// NewTypes returns the types of the values: pointers to structs. All of them may stand behind the interfaces. It panics for what cannot be
// written.
func NewTypes(interfaces []Interface, values ...any) *Types {
	t := &Types{byType: map[reflect.Type]*layout{}, byName: map[string]*layout{}, behind: map[reflect.Type]*behind{}}
	for i := range interfaces {
		t.behind[interfaces[i].typ] = &interfaces[i].behind
	}
	for _, v := range values {
		l := t.layout(reflect.TypeOf(v).Elem())
		t.byName[l.typ.String()] = l
	}
	return t
}

// has says that a pointer to a struct is one of the types.
func (t *Types) has(v any) bool { return t.find(v) != nil }

// find is the layout of what v points to, nil if that is none of the types.
func (t *Types) find(v any) *layout {
	typ := reflect.TypeOf(v)
	if typ == nil || typ.Kind() != reflect.Pointer {
		return nil
	}
	return t.byType[typ.Elem()]
}

// must is find of what has to be one of the types.
func (t *Types) must(v any) *layout {
	l := t.find(v)
	if l == nil {
		panic(fmt.Sprintf("record: %T is not a type that it can write", v))
	}
	return l
}

// addressOf is where a pointer in an interface leads to.
func addressOf(v any) unsafe.Pointer { return reflect.ValueOf(v).UnsafePointer() }
