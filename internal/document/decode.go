package document

import (
	"cmp"
	"encoding"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
)

const (
	// maxDepth is far beyond the deepest API object.
	maxDepth = 100
	// maxAliased bounds the values that aliases may add to one input.
	maxAliased = 100_000
)

// unmarshaler is a type that reads itself from a node, where one Go value has
// several spellings. Problems are reported with Decoder.Errorf.
type unmarshaler interface {
	UnmarshalDocument(d *Decoder, n *yaml.Node)
}

// Located is embedded in structs that want to know where they were written.
type Located struct {
	Pos Position `json:"-"`
}

func (l *Located) locate(p Position) { l.Pos = p }

type located interface{ locate(Position) }

// Decoder decodes the nodes of one file and collects what is wrong with them.
// The zero Decoder is not usable; see NewDecoder.
type Decoder struct {
	rules   *Rules
	file    string
	path    []string
	depth   int
	aliased int // values seen inside aliases
	inAlias int
	full    bool // maxErrors reached: go no further
	errs    Errors
	ignore  func(Position, string) // told of what is passed over in lenient parts; nil: nothing is
	lenient bool
}

// Ignore has unknown fields passed over in lenient parts, and f told of each.
func (d *Decoder) Ignore(f func(at Position, what string)) { d.ignore = f }

// Ignored is called for what is passed over; nil if nothing is.
func (d *Decoder) Ignored() func(at Position, what string) { return d.ignore }

// Lenient calls f, within which what is unknown is passed over if it is to be ignored anywhere.
func (d *Decoder) Lenient(f func()) {
	before := d.lenient
	d.lenient = d.ignore != nil
	f()
	d.lenient = before
}

// PassOver reports whether something unknown is to be passed over, and tells of it then.
func (d *Decoder) PassOver(n *yaml.Node, what string) bool {
	if d.lenient {
		d.ignore(At(d.file, n), what)
	}
	return d.lenient
}

// NewDecoder returns a decoder for nodes of the named file.
func NewDecoder(file string) *Decoder { return (&Rules{}).NewDecoder(file) }

// NewDecoder returns a decoder for nodes of the named file.
func (r *Rules) NewDecoder(file string) *Decoder {
	return &Decoder{rules: r, file: file}
}

// Decode fills into, a pointer, from a document. The error is of type Errors.
func Decode(doc *Document, into any) error {
	d := NewDecoder(doc.file)
	d.Decode(doc.Node, into)
	return d.Err()
}

// Err returns everything found wrong so far, in input order; nil if nothing was.
func (d *Decoder) Err() error {
	if len(d.errs) == 0 {
		return nil
	}
	slices.SortStableFunc(d.errs, func(a, b *Error) int {
		return cmp.Or(cmp.Compare(a.File, b.File), cmp.Compare(a.Line, b.Line), cmp.Compare(a.Column, b.Column))
	})
	return d.errs
}

// Count returns how many things were found wrong so far, so that an Unmarshaler
// can tell whether its own parts were in order.
func (d *Decoder) Count() int { return len(d.errs) }

// Errorf notes an error at a node.
func (d *Decoder) Errorf(n *yaml.Node, format string, args ...any) {
	d.note(&Error{Position: At(d.file, n), Msg: fmt.Sprintf(format, args...)})
}

// problem notes what is wrong with a value, or with a key of it.
func (d *Decoder) problem(n *yaml.Node, p *Problem) {
	p.Node, p.path = n, d.where()
	d.note(d.rules.error(At(d.file, n), p))
}

func (d *Decoder) note(e *Error) {
	if d.full {
		return
	}
	d.errs = append(d.errs, e)
	d.full = len(d.errs) == maxErrors
}

// Note takes over the errors of another input that this one refers to. Any
// other error is noted at the node that refers to it.
func (d *Decoder) Note(n *yaml.Node, err error) {
	var list Errors
	var one *Error
	switch {
	case errors.As(err, &list):
	case errors.As(err, &one):
		list = Errors{one}
	default:
		d.Errorf(n, "%v", err)
		return
	}
	d.errs = append(d.errs, list...)
	d.full = d.full || len(d.errs) >= maxErrors
}

// File returns the name of the file being decoded.
func (d *Decoder) File() string { return d.file }

// Position returns the position of a node in the decoder's file.
func (d *Decoder) Position(n *yaml.Node) Position { return At(d.file, n) }

// Decode fills into, a pointer, from a node. Fields that the node does not
// name keep what they had, so that defaults can be set before.
func (d *Decoder) Decode(n *yaml.Node, into any) {
	d.value(n, reflect.ValueOf(into).Elem())
}

// Resolve follows an alias to the value it stands for.
func Resolve(n *yaml.Node) *yaml.Node {
	if n.Kind == yaml.AliasNode {
		return n.Alias
	}
	return n
}

// value is the whole decoder: bounds first, then types that read themselves,
// then the kinds of Go.
func (d *Decoder) value(n *yaml.Node, v reflect.Value) {
	if !d.enter(n) {
		return
	}
	defer d.leave(n)
	n = Resolve(n)
	if l, ok := v.Addr().Interface().(located); ok {
		l.locate(d.Position(n))
	}
	if u, ok := v.Addr().Interface().(unmarshaler); ok {
		u.UnmarshalDocument(d, n)
		return
	}
	if IsNull(n) && !d.rules.YAMLScalars {
		return
	}
	if v.Kind() == reflect.Pointer {
		if v.IsNil() {
			v.Set(reflect.New(v.Type().Elem()))
		}
		d.value(n, v.Elem())
		return
	}
	switch u := v.Addr().Interface().(type) {
	case json.Unmarshaler:
		d.jsonValue(n, v.Type(), u)
	case encoding.TextUnmarshaler:
		d.textValue(n, v.Type(), u)
	default:
		d.plainValue(n, v)
	}
}

func (d *Decoder) enter(n *yaml.Node) bool {
	if d.full {
		return false
	}
	if d.depth >= maxDepth {
		d.Errorf(n, "nested deeper than %d levels (no API object is)", maxDepth)
		return false
	}
	if d.rules.NoAliases && (n.Kind == yaml.AliasNode || n.Anchor != "") {
		d.refuseAlias(n)
		return false
	}
	if n.Kind == yaml.AliasNode {
		d.inAlias++
	}
	if d.inAlias > 0 {
		d.aliased++
	}
	if d.aliased > maxAliased {
		d.Errorf(n, "aliases expand to more than %d values (write the values out)", maxAliased)
		d.full = true
		return false
	}
	d.depth++
	return true
}

func (d *Decoder) refuseAlias(n *yaml.Node) {
	d.Errorf(n, "%sanchors and aliases are not supported: write the value out", d.here())
}

func (d *Decoder) leave(n *yaml.Node) {
	if n.Kind == yaml.AliasNode {
		d.inAlias--
	}
	d.depth--
}

// IsNull says whether a node is null or nothing.
func IsNull(n *yaml.Node) bool { return n.Kind == yaml.ScalarNode && n.ShortTag() == "!!null" }

func (d *Decoder) plainValue(n *yaml.Node, v reflect.Value) {
	switch v.Kind() {
	case reflect.Struct:
		d.structValue(n, v)
	case reflect.Map:
		d.mapValue(n, v)
	case reflect.Slice:
		d.sliceValue(n, v)
	case reflect.Interface:
		if value := d.anyValue(n); value != nil {
			v.Set(reflect.ValueOf(value))
		}
	default:
		d.scalarValue(n, v)
	}
}

// pairs calls f for each key and value of a mapping, refusing duplicate keys,
// keys that are not strings, and merge keys. The type is the mapping's, if one is known.
func (d *Decoder) pairs(n *yaml.Node, t reflect.Type, want string, f func(key, value *yaml.Node)) {
	if n.Kind != yaml.MappingNode {
		d.wrongType(n, t, want)
		return
	}
	seen := make(map[string]int, len(n.Content)/2)
	for i := 0; i+1 < len(n.Content); i += 2 {
		key, value := Resolve(n.Content[i]), n.Content[i+1]
		switch {
		case d.rules.NoAliases && key != n.Content[i]:
			d.refuseAlias(n.Content[i])
			continue
		case key.ShortTag() == "!!merge":
			d.Errorf(key, "merge keys (<<) are not supported (write the fields out)")
			continue
		case key.Kind != yaml.ScalarNode:
			d.Errorf(key, "a key must be a plain word, not %s", Describe(key))
			continue
		case seen[key.Value] > 0:
			d.problem(key, &Problem{Kind: DuplicateKey, Type: t, Name: key.Value, line: seen[key.Value]})
			continue
		}
		seen[key.Value] = key.Line
		f(key, value)
	}
}

// Pairs walks a mapping for an Unmarshaler, with the same checks as for a struct.
func (d *Decoder) Pairs(n *yaml.Node, want string, f func(key, value *yaml.Node)) {
	d.pairs(Resolve(n), nil, want, func(key, value *yaml.Node) {
		d.Within(key.Value, func() { f(key, value) })
	})
}

// Items calls f for each item of a list.
func (d *Decoder) Items(n *yaml.Node, f func(i int, item *yaml.Node)) {
	for i, item := range n.Content {
		if d.full {
			return
		}
		d.Within(fmt.Sprintf("[%d]", i), func() { f(i, item) })
	}
}

// Within calls f with one more step of the path that errors name: the name of a field, or an index such as [0].
func (d *Decoder) Within(step string, f func()) {
	d.path = append(d.path, step)
	f()
	d.path = d.path[:len(d.path)-1]
}

// where spells the path to the value being decoded.
func (d *Decoder) where() string {
	path := ""
	for _, step := range d.path {
		path = join(path, step)
	}
	return path
}

// join adds a field or an index to a path.
func join(path, name string) string {
	if path == "" || strings.HasPrefix(name, "[") {
		return path + name
	}
	return path + "." + name
}

// here is where as the beginning of a message.
func (d *Decoder) here() string {
	if len(d.path) == 0 {
		return ""
	}
	return d.where() + ": "
}

func (d *Decoder) structValue(n *yaml.Node, v reflect.Value) {
	fields := fieldsOf(v.Type())
	var given map[string]bool // of the fields that must be
	if len(fields.required) > 0 {
		given = map[string]bool{}
	}
	d.pairs(n, v.Type(), "a mapping", func(key, value *yaml.Node) {
		f := fields.named(key.Value)
		if f == nil && d.PassOver(key, fmt.Sprintf("field %s of %s", key.Value, cmp.Or(d.where(), "an object"))) {
			return
		}
		if f == nil {
			d.problem(key, &Problem{Kind: UnknownField, Type: v.Type(), Name: key.Value, Known: fields.names()})
			return
		}
		if f.required {
			given[key.Value] = true
		}
		d.Within(key.Value, func() {
			target := fieldByIndex(v, f.index)
			d.value(value, target)
			d.checkEnum(value, f.enum, target)
		})
	})
	if n.Kind != yaml.MappingNode {
		return
	}
	for _, name := range fields.required {
		if !given[name] {
			d.Errorf(n, "%s%q is missing", d.here(), name)
		}
	}
}

func (d *Decoder) checkEnum(n *yaml.Node, enum []string, v reflect.Value) {
	if len(enum) == 0 || v.Kind() != reflect.String || !isString(Resolve(n)) || slices.Contains(enum, v.String()) {
		return
	}
	d.Errorf(n, "%sunknown word %q%s", d.here(), Shorten(v.String()), Suggest(v.String(), enum))
}

// fieldByIndex is reflect's, making embedded pointers on the way.
func fieldByIndex(v reflect.Value, index []int) reflect.Value {
	for _, i := range index {
		if v.Kind() == reflect.Pointer {
			if v.IsNil() {
				v.Set(reflect.New(v.Type().Elem()))
			}
			v = v.Elem()
		}
		v = v.Field(i)
	}
	return v
}

func (d *Decoder) mapValue(n *yaml.Node, v reflect.Value) {
	t := v.Type()
	out := reflect.MakeMapWithSize(t, len(n.Content)/2)
	d.pairs(n, t, "a mapping", func(key, value *yaml.Node) {
		d.Within(key.Value, func() {
			k, e := reflect.New(t.Key()).Elem(), reflect.New(t.Elem()).Elem()
			d.value(value, e)
			if t.Key().Kind() != reflect.String {
				d.Errorf(key, "%skeys of type %s are not supported", d.here(), t.Key())
				return
			}
			k.SetString(key.Value)
			out.SetMapIndex(k, e)
		})
	})
	d.setCollection(v, out)
}

func (d *Decoder) sliceValue(n *yaml.Node, v reflect.Value) {
	if v.Type().Elem().Kind() == reflect.Uint8 {
		d.bytesValue(n, v)
		return
	}
	if n.Kind != yaml.SequenceNode {
		d.wrongType(n, v.Type(), "a list")
		return
	}
	out := reflect.MakeSlice(v.Type(), len(n.Content), len(n.Content))
	d.Items(n, func(i int, item *yaml.Node) { d.value(item, out.Index(i)) })
	d.setCollection(v, out)
}

func (d *Decoder) setCollection(v, to reflect.Value) {
	if d.rules.NilEmpty && to.Len() == 0 {
		v.SetZero()
		return
	}
	v.Set(to)
}
