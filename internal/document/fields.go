package document

import (
	"reflect"
	"slices"
	"strings"
	"sync"
)

// field is one field of a struct.
type field struct {
	name  string // the json tag's
	index []int
	// omit is the option omitempty or omitzero of the json tag: an empty value is not written.
	omit bool
	// enum is the struct tag "enum": the words that a string field may hold.
	enum []string
	// required is the struct tag "required": the field must be given.
	required bool
	// flow is the struct tag "flow": YAML has the field's list on one line.
	flow bool
}

// structFields are the fields of a struct in their order, those of inlined structs among them.
type structFields struct {
	list     []field
	byName   map[string]int
	required []string // the names of those that must be given, sorted
}

// named is the field of that name, nil if there is none.
func (s *structFields) named(name string) *field {
	if i, ok := s.byName[name]; ok {
		return &s.list[i]
	}
	return nil
}

func (s *structFields) names() []string {
	names := make([]string, len(s.list))
	for i := range s.list {
		names[i] = s.list[i].name
	}
	return names
}

// add puts a field behind the others, or in the place of one with its name.
func (s *structFields) add(f field) {
	if i, ok := s.byName[f.name]; ok {
		s.list[i] = f
		return
	}
	s.byName[f.name] = len(s.list)
	s.list = append(s.list, f)
}

// known are the *structFields of every reflect.Type that was asked for. They follow from the type alone and are never changed, and
// reading a small document would be mostly finding them otherwise.
var known sync.Map

// fieldsOf are the fields of a struct.
func fieldsOf(t reflect.Type) *structFields {
	if s, ok := known.Load(t); ok {
		return s.(*structFields)
	}
	s, _ := known.LoadOrStore(t, readFields(t))
	return s.(*structFields)
}

func readFields(t reflect.Type) *structFields {
	s := &structFields{byName: map[string]int{}}
	defer s.noteRequired()
	for i := range t.NumField() {
		f := t.Field(i)
		name, options, _ := strings.Cut(f.Tag.Get("json"), ",")
		switch {
		case name == "-" || !f.IsExported() && !f.Anonymous:
		case name == "" && (f.Anonymous || strings.Contains(options, "inline")):
			inner := f.Type
			if inner.Kind() == reflect.Pointer {
				inner = inner.Elem()
			}
			for _, one := range fieldsOf(inner).list {
				one.index = append([]int{i}, one.index...)
				s.add(one)
			}
		default:
			if name == "" {
				name = f.Name
			}
			s.add(field{
				name: name, index: []int{i}, omit: slices.ContainsFunc(strings.Split(options, ","), isOmission),
				enum: strings.Fields(f.Tag.Get("enum")), required: f.Tag.Get("required") == "true",
				flow: f.Tag.Get("flow") == "true",
			})
		}
	}
	return s
}

func (s *structFields) noteRequired() {
	for i := range s.list {
		if s.list[i].required {
			s.required = append(s.required, s.list[i].name)
		}
	}
	slices.Sort(s.required)
}

func isOmission(option string) bool { return option == "omitempty" || option == "omitzero" }
