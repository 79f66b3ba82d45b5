package snapshot

import (
	"encoding"
	"errors"
	"fmt"
	"io"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"
)

// Read reads a NodeSnapshot document, YAML or JSON (which is YAML as well). Unknown
// fields, fields given twice, other versions and bad values are errors (*Error) with
// line and column, as is text that is not YAML; name is the file's name in them. Anchors and aliases are refused.
func Read(name string, r io.Reader) (*Node, error) {
	root, err := readDocument(name, r)
	if err != nil {
		return nil, err
	}
	s := &Node{}
	err = checkVersion(root)
	if err == nil {
		err = fields{}.decode(root, reflect.ValueOf(s).Elem())
	}
	if err == nil {
		err = positioned(s.check(), root)
	}
	var se *Error
	if errors.As(err, &se) {
		se.File = name
	}
	if err != nil {
		return nil, err
	}
	return s, nil
}

func nodeError(n *yaml.Node, format string, args ...any) error {
	return &Error{Line: n.Line, Column: n.Column, Msg: fmt.Sprintf(format, args...)}
}

// within adds the name of the field that an error is in.
func within(field string, err error) error {
	var se *Error
	if errors.As(err, &se) {
		se.Path = joinPath(field, se.Path)
	}
	return err
}

// positioned adds the place of a check's error: that of the field, or of the nearest one around it.
func positioned(err error, root *yaml.Node) error {
	var se *Error
	if errors.As(err, &se) {
		n := nodeAt(root, se.Path)
		se.Line, se.Column = n.Line, n.Column
	}
	return err
}

// nodeAt follows a path such as routes[3].dst as far as the document has it. Keys may hold dots.
func nodeAt(n *yaml.Node, path string) *yaml.Node {
	path = strings.TrimPrefix(path, ".")
	switch n.Kind {
	case yaml.SequenceNode:
		index, rest, _ := strings.Cut(strings.TrimPrefix(path, "["), "]")
		if i, err := strconv.Atoi(index); err == nil && i < len(n.Content) {
			return nodeAt(n.Content[i], rest)
		}
	case yaml.MappingNode:
		for i := 0; i+1 < len(n.Content); i += 2 {
			rest, ok := strings.CutPrefix(path, n.Content[i].Value)
			if ok && (rest == "" || rest[0] == '.' || rest[0] == '[') {
				return nodeAt(n.Content[i+1], rest)
			}
		}
	}
	return n
}

// checkVersion comes before anything else: another version has other fields.
func checkVersion(root *yaml.Node) error {
	if root.Kind != yaml.MappingNode {
		return nodeError(root, "not a NodeSnapshot: want a mapping with version, hostname and so on")
	}
	for i := 0; i+1 < len(root.Content); i += 2 {
		value := root.Content[i+1]
		if root.Content[i].Value != "version" {
			continue
		}
		if value.Kind != yaml.ScalarNode || value.Value != fmt.Sprint(Version) {
			return within("version", nodeError(value, "version %q is not supported: this program reads version %d", value.Value, Version))
		}
		return nil
	}
	return within("version", nodeError(root, "the version is missing: write version: %d", Version))
}

// fields fills values from YAML nodes by the json tags of their types, which it remembers.
type fields map[reflect.Type][]field

// field is a struct field as its json tag describes it.
type field struct {
	name string
	omit bool // left out when empty
}

// of lists the fields of a struct in order. Every field has a tag.
func (f fields) of(t reflect.Type) []field {
	if fields, ok := f[t]; ok {
		return fields
	}
	fields := make([]field, t.NumField())
	for i := range fields {
		name, options, _ := strings.Cut(t.Field(i).Tag.Get("json"), ",")
		fields[i] = field{name, strings.HasPrefix(options, "omit")}
	}
	f[t] = fields
	return fields
}

// names lists the fields of a struct for a message.
func (f fields) names(t reflect.Type) string {
	var names []string
	for _, field := range f.of(t) {
		names = append(names, field.name)
	}
	return strings.Join(names, ", ")
}

// index is the place of the field that the document calls name, -1 if there is none.
func (f fields) index(t reflect.Type, name string) int {
	return slices.IndexFunc(f.of(t), func(field field) bool { return field.name == name })
}

func (f fields) decode(n *yaml.Node, v reflect.Value) error {
	switch {
	case n.Kind == yaml.AliasNode || n.Anchor != "":
		return nodeError(n, "anchors and aliases are not supported: write the value out")
	case v.Kind() == reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		return f.decode(n, v.Elem())
	case isTextValue(v):
		return decodeText(n, v)
	}
	switch v.Kind() {
	case reflect.Struct:
		return f.decodeStruct(n, v)
	case reflect.Slice:
		return f.decodeSlice(n, v)
	case reflect.Map:
		return f.decodeMap(n, v)
	default:
		return decodeScalar(n, v)
	}
}

// isTextValue says whether the value is written as one word, as addresses are.
func isTextValue(v reflect.Value) bool {
	_, ok := v.Addr().Interface().(encoding.TextUnmarshaler)
	return ok
}

func decodeText(n *yaml.Node, v reflect.Value) error {
	if n.Kind != yaml.ScalarNode || n.Value == "" {
		return nodeError(n, "want one word, such as an address")
	}
	if err := v.Addr().Interface().(encoding.TextUnmarshaler).UnmarshalText([]byte(n.Value)); err != nil {
		return nodeError(n, "%v", err)
	}
	return nil
}

func (f fields) decodeStruct(n *yaml.Node, v reflect.Value) error {
	if n.Kind != yaml.MappingNode {
		return nodeError(n, "want a mapping of fields")
	}
	seen := make([]bool, v.NumField())
	for i := 0; i+1 < len(n.Content); i += 2 {
		key := n.Content[i]
		index := f.index(v.Type(), key.Value)
		if key.Kind != yaml.ScalarNode || index < 0 {
			return nodeError(key, "unknown field %q: write one of %s", key.Value, f.names(v.Type()))
		}
		if seen[index] {
			return nodeError(key, "field %q is given twice", key.Value)
		}
		seen[index] = true
		if err := f.decode(n.Content[i+1], v.Field(index)); err != nil {
			return within(key.Value, err)
		}
	}
	return nil
}

func (f fields) decodeSlice(n *yaml.Node, v reflect.Value) error {
	if n.Kind != yaml.SequenceNode {
		return nodeError(n, "want a list")
	}
	if len(n.Content) == 0 {
		return nil
	}
	v.Set(reflect.MakeSlice(v.Type(), len(n.Content), len(n.Content)))
	for i, item := range n.Content {
		if err := f.decode(item, v.Index(i)); err != nil {
			return within(fmt.Sprintf("[%d]", i), err)
		}
	}
	return nil
}

func (f fields) decodeMap(n *yaml.Node, v reflect.Value) error {
	if n.Kind != yaml.MappingNode {
		return nodeError(n, "want a mapping")
	}
	if len(n.Content) == 0 {
		return nil
	}
	v.Set(reflect.MakeMap(v.Type()))
	for i := 0; i+1 < len(n.Content); i += 2 {
		key := n.Content[i]
		if key.Kind != yaml.ScalarNode {
			return nodeError(key, "want a word as the key")
		}
		if v.MapIndex(reflect.ValueOf(key.Value)).IsValid() {
			return nodeError(key, "key %q is given twice", key.Value)
		}
		value := reflect.New(v.Type().Elem()).Elem()
		if err := f.decode(n.Content[i+1], value); err != nil {
			return within(key.Value, err)
		}
		v.SetMapIndex(reflect.ValueOf(key.Value), value)
	}
	return nil
}

func decodeScalar(n *yaml.Node, v reflect.Value) error {
	want, tag := "", n.ShortTag()
	ok := n.Kind == yaml.ScalarNode
	switch v.Kind() {
	case reflect.String:
		want = "a string"
		// Numbers are written without quotes now and then, above all in sysctls.
		ok = ok && (tag == "!!str" || tag == "!!int" || tag == "!!float" || tag == "!!bool" || tag == "!!timestamp")
		if ok {
			v.SetString(n.Value)
		}
	case reflect.Bool:
		want = "true or false"
		ok = ok && tag == "!!bool" && n.Decode(v.Addr().Interface()) == nil
	default:
		want = "a whole number"
		if bits := v.Type().Bits(); v.CanUint() {
			want = fmt.Sprintf("a whole number from 0 to %d", uint64(1)<<(bits-1)-1+uint64(1)<<(bits-1))
		}
		ok = ok && tag == "!!int" && n.Decode(v.Addr().Interface()) == nil
	}
	if !ok {
		return nodeError(n, "%q is not %s", n.Value, want)
	}
	return nil
}

func joinPath(path, name string) string {
	if path == "" || name == "" || name[0] == '[' {
		return path + name
	}
	return path + "." + name
}
