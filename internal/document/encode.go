package document

import (
	"bytes"
	"encoding"
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"go.yaml.in/yaml/v3"
)

// YAML writes a struct by the zero Rules, which is how all but bytes that are no text are written.
func YAML(v any) ([]byte, error) { return (&Rules{}).YAML(v) }

// YAML writes a struct as one YAML document, by the names and omissions of its json tags. A decoder reads it back. Equal values give equal
// bytes. Fields are structs, pointers to them, lists, maps of strings, strings, truth values, whole numbers, and what writes itself as
// text. A list with the tag flow:"true" is written on one line.
func (r *Rules) YAML(v any) ([]byte, error) {
	e := encoder{rules: r}
	root, err := e.node(reflect.ValueOf(v))
	if err != nil {
		return nil, err
	}
	l := Lines{wide: true}
	if len(root.Content) == 0 {
		l.Line(0, "{}")
		return l.Bytes(), nil
	}
	if err := l.Fields(root, 0); err != nil {
		return nil, err
	}
	return l.Bytes(), nil
}

// JSON writes a value as one JSON document that a decoder reads back, as it does YAML.
func JSON(v any) ([]byte, error) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	if err := enc.Encode(v); err != nil {
		return nil, err
	}
	return escapeForYAML(b.Bytes()), nil
}

// escapeForYAML spells the characters that JSON allows as they are and YAML does not as \uXXXX,
// so that one reader reads both. Such characters stand in strings only.
func escapeForYAML(data []byte) []byte {
	if !bytes.ContainsFunc(data, notInYAML) {
		return data
	}
	out := make([]byte, 0, len(data)+16)
	for len(data) > 0 {
		r, size := utf8.DecodeRune(data)
		if notInYAML(r) {
			out = fmt.Appendf(out, "\\u%04x", r)
		} else {
			out = append(out, data[:size]...)
		}
		data = data[size:]
	}
	return out
}

// encoder turns values into nodes.
type encoder struct {
	rules *Rules
}

// node turns a value into YAML nodes by the names and omissions of its json tags: the
// document has one set of names, and the yaml package would leave out every netip value.
func (e *encoder) node(v reflect.Value) (*yaml.Node, error) {
	if text, ok := v.Interface().(encoding.TextMarshaler); ok {
		data, err := text.MarshalText()
		return scalarNode("!!str", string(data)), err
	}
	switch v.Kind() {
	case reflect.Pointer:
		return e.node(v.Elem())
	case reflect.Struct:
		return e.structNode(v)
	case reflect.Slice:
		list := &yaml.Node{Kind: yaml.SequenceNode, Tag: "!!seq"}
		for i := range v.Len() {
			item, err := e.node(v.Index(i))
			if err != nil {
				return nil, err
			}
			list.Content = append(list.Content, item)
		}
		return list, nil
	case reflect.Map:
		return e.mapNode(v), nil
	case reflect.String:
		return e.stringNode(v.String()), nil
	case reflect.Bool:
		return scalarNode("!!bool", strconv.FormatBool(v.Bool())), nil
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		return scalarNode("!!int", strconv.FormatInt(v.Int(), 10)), nil
	default: // unsigned numbers
		return scalarNode("!!int", strconv.FormatUint(v.Uint(), 10)), nil
	}
}

func (e *encoder) structNode(v reflect.Value) (*yaml.Node, error) {
	mapping := &yaml.Node{Kind: yaml.MappingNode, Tag: "!!map"}
	for _, f := range fieldsOf(v.Type()).list {
		field := v.FieldByIndex(f.index)
		if f.omit && isEmptyValue(field) {
			continue
		}
		value, err := e.node(field)
		if err != nil {
			return nil, err
		}
		if f.flow {
			value.Style = yaml.FlowStyle
		}
		mapping.Content = append(mapping.Content, scalarNode("!!str", f.name), value)
	}
	return mapping, nil
}

func isEmptyValue(v reflect.Value) bool {
	if v.Kind() == reflect.Slice || v.Kind() == reflect.Map {
		return v.Len() == 0
	}
	return v.IsZero()
}

// mapNode writes a map[string]string by key.
func (e *encoder) mapNode(v reflect.Value) *yaml.Node {
	mapping := &yaml.Node{Kind: yaml.MappingNode, Tag: "!!map"}
	keys := v.MapKeys()
	slices.SortFunc(keys, func(a, b reflect.Value) int { return strings.Compare(a.String(), b.String()) })
	for _, key := range keys {
		mapping.Content = append(mapping.Content, scalarNode("!!str", key.String()), e.stringNode(v.MapIndex(key).String()))
	}
	return mapping
}

// stringNode is a string as the Rules have it. The library writes some strings so that it does not read them back: see scalarNode.
func (e *encoder) stringNode(s string) *yaml.Node {
	if e.rules.YAMLStrings {
		n := &yaml.Node{}
		if err := n.Encode(s); err == nil && (n.ShortTag() == "!!binary" || n.Value == s) {
			return n
		}
	}
	return scalarNode("!!str", s)
}

// Text is a string as a node that is read back as it is.
func Text(s string) *yaml.Node { return scalarNode("!!str", s) }

func scalarNode(tag, value string) *yaml.Node {
	n := &yaml.Node{Kind: yaml.ScalarNode, Tag: tag, Value: value}
	if tag == "!!str" && strings.Contains(value, "\n") {
		n.Style = yaml.LiteralStyle
		if strings.TrimLeft(value, " \t\r\n") != value {
			// The library writes a block whose first line begins with a tab or blank so that it does not read it back.
			n.Style = yaml.DoubleQuotedStyle
		}
	}
	return n
}
