package snapshot

import (
	"bytes"
	"encoding"
	"encoding/json"
	"fmt"
	"io"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"go.yaml.in/yaml/v3"
)

// Format is how a NodeSnapshot is written.
type Format string

// The formats of a NodeSnapshot.
const (
	YAML Format = "yaml"
	JSON Format = "json"
)

// Write writes the document, which Read reads back. The same snapshot always gives the
// same bytes.
func (s *Node) Write(w io.Writer, format Format) error {
	if err := s.check(); err != nil {
		return err
	}
	var data []byte
	var err error
	switch format {
	case YAML:
		data, err = s.yaml()
	case JSON:
		data, err = s.json()
	default:
		return fmt.Errorf("unknown snapshot format %q: write yaml or json", format)
	}
	if err != nil {
		return fmt.Errorf("write snapshot: %w", err)
	}
	if _, err := w.Write(data); err != nil {
		return fmt.Errorf("write snapshot: %w", err)
	}
	return nil
}

func (s *Node) yaml() ([]byte, error) {
	root, err := fields{}.node(reflect.ValueOf(s).Elem())
	if err != nil {
		return nil, err
	}
	var b bytes.Buffer
	enc := yaml.NewEncoder(&b)
	enc.SetIndent(2)
	if err := enc.Encode(root); err != nil {
		return nil, err
	}
	if err := enc.Close(); err != nil {
		return nil, err
	}
	return b.Bytes(), nil
}

func (s *Node) json() ([]byte, error) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	if err := enc.Encode(s); err != nil {
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

func notInYAML(r rune) bool {
	return r >= 0x7f && r < 0xa0 || r == 0xfeff || r == 0xfffe || r == 0xffff
}

// node turns a value into YAML nodes by the names and omissions of its json tags: the
// document has one set of names, and the yaml package would leave out every netip value.
func (f fields) node(v reflect.Value) (*yaml.Node, error) {
	if text, ok := v.Interface().(encoding.TextMarshaler); ok {
		data, err := text.MarshalText()
		return scalarNode("!!str", string(data)), err
	}
	switch v.Kind() {
	case reflect.Pointer:
		return f.node(v.Elem())
	case reflect.Struct:
		return f.structNode(v)
	case reflect.Slice:
		list := &yaml.Node{Kind: yaml.SequenceNode, Tag: "!!seq"}
		for i := range v.Len() {
			item, err := f.node(v.Index(i))
			if err != nil {
				return nil, err
			}
			list.Content = append(list.Content, item)
		}
		return list, nil
	case reflect.Map:
		return mapNode(v), nil
	case reflect.String:
		return scalarNode("!!str", v.String()), nil
	case reflect.Bool:
		return scalarNode("!!bool", strconv.FormatBool(v.Bool())), nil
	case reflect.Int:
		return scalarNode("!!int", strconv.FormatInt(v.Int(), 10)), nil
	default: // the types of this document have no other kinds than unsigned numbers
		return scalarNode("!!int", strconv.FormatUint(v.Uint(), 10)), nil
	}
}

func (f fields) structNode(v reflect.Value) (*yaml.Node, error) {
	mapping := &yaml.Node{Kind: yaml.MappingNode, Tag: "!!map"}
	for i, spec := range f.of(v.Type()) {
		field := v.Field(i)
		if spec.omit && isEmptyValue(field) {
			continue
		}
		value, err := f.node(field)
		if err != nil {
			return nil, err
		}
		mapping.Content = append(mapping.Content, scalarNode("!!str", spec.name), value)
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
func mapNode(v reflect.Value) *yaml.Node {
	mapping := &yaml.Node{Kind: yaml.MappingNode, Tag: "!!map"}
	keys := v.MapKeys()
	slices.SortFunc(keys, func(a, b reflect.Value) int { return strings.Compare(a.String(), b.String()) })
	for _, key := range keys {
		mapping.Content = append(mapping.Content, scalarNode("!!str", key.String()), scalarNode("!!str", v.MapIndex(key).String()))
	}
	return mapping
}

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
