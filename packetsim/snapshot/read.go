package snapshot

import (
	"encoding"
	"errors"
	"fmt"
	"io"
	"math"
	"reflect"
	"strconv"
	"strings"

	"github.com/chainwalk/chainwalk/internal/document"
	"go.yaml.in/yaml/v3"
)

// Read reads a NodeSnapshot document, YAML or JSON (which is YAML as well). Unknown
// fields, fields given twice, other versions and bad values are errors (*Error) with
// line and column, as is text that is not YAML; name is the file's name in them. Anchors and aliases are refused.
// Every kernel has settings: a document without any is one from which they were left out, and Unread says so.
func Read(name string, r io.Reader) (*NodeSnapshot, error) {
	rules := document.Rules{AnyLength: true, UTF16: true, NoAliases: true, YAMLScalars: true, NilEmpty: true, Word: inWords}
	s, err := read(&rules, name, r)
	var first *documentError
	if !errors.As(err, &first) {
		return s, err
	}
	if first.File = name; first.Line == 0 {
		first.Line, first.Column = 1, max(first.Column, 1) // what names no line is in the first one, as far as is known
	}
	return nil, first
}

func read(rules *document.Rules, name string, r io.Reader) (*NodeSnapshot, error) {
	doc, err := rules.ParseOne(name, r)
	if err != nil {
		return nil, err
	}
	if err := checkVersion(doc.Node); err != nil {
		return nil, err
	}
	s, d := &NodeSnapshot{}, rules.NewDecoder(name)
	d.Decode(doc.Node, s)
	if err := d.Err(); err != nil {
		return nil, err
	}
	if err := s.check(); err != nil {
		return nil, positioned(err, doc.Node)
	}
	if len(s.Sysctls) == 0 && !s.lacks(UnreadSysctls) {
		s.Unread = append(s.Unread, Unread{What: UnreadSysctls, Why: "the snapshot has none"})
	}
	return s, nil
}

// inWords says what is wrong with a document. Programs write snapshots: a person who repairs one by hand reads here what the fields are.
func inWords(p *document.Problem) string {
	switch p.Kind {
	case document.NotUTF8:
		return "not YAML: byte " + p.Name + " is not UTF-8"
	case document.ControlCharacter:
		return "not YAML: control character " + p.Name + ": write it as an escape in double quotes"
	case document.NoDocument:
		return "the document is empty: give what \"chainwalk snapshot\" prints"
	case document.SecondDocument:
		return "a second document: give one snapshot"
	case document.UnknownField:
		return fmt.Sprintf("unknown field %q: write one of %s", p.Name, strings.Join(p.Known, ", "))
	case document.DuplicateKey:
		if p.Type.Kind() == reflect.Map {
			return fmt.Sprintf("key %q is given twice", p.Name)
		}
		return fmt.Sprintf("field %q is given twice", p.Name)
	case document.Invalid:
		return p.Err.Error()
	default:
		return wrongType(p)
	}
}

func wrongType(p *document.Problem) string {
	kind := p.Type.Kind()
	switch {
	case isText(p.Type):
		return "want one word, such as an address"
	case kind == reflect.Struct:
		return "want a mapping of fields"
	case kind == reflect.Map:
		return "want a mapping"
	case kind == reflect.Slice:
		return "want a list"
	case kind == reflect.String:
		return fmt.Sprintf("%q is not a string", p.Node.Value)
	case kind == reflect.Bool:
		return fmt.Sprintf("%q is not true or false", p.Node.Value)
	case kind >= reflect.Uint && kind <= reflect.Uint64:
		return fmt.Sprintf("%q is not a whole number from 0 to %d", p.Node.Value, uint64(math.MaxUint64)>>(64-p.Type.Bits()))
	default:
		return fmt.Sprintf("%q is not a whole number", p.Node.Value)
	}
}

// isText says whether a type is written as one word, as addresses are.
func isText(t reflect.Type) bool {
	return reflect.PointerTo(t).Implements(reflect.TypeFor[encoding.TextUnmarshaler]())
}

// positioned adds the place of a check's error: that of the field, or of the nearest one around it.
func positioned(err error, root *yaml.Node) error {
	var se *documentError
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

func errorAt(n *yaml.Node, path, format string, args ...any) error {
	return &documentError{Position: document.At("", n), Path: path, Msg: fmt.Sprintf(format, args...)}
}

// checkVersion comes before anything else: another version has other fields.
func checkVersion(root *yaml.Node) error {
	if root.Kind != yaml.MappingNode {
		return errorAt(root, "", "not a NodeSnapshot: want a mapping with version, hostname and so on")
	}
	for i := 0; i+1 < len(root.Content); i += 2 {
		value := root.Content[i+1]
		if root.Content[i].Value != "version" {
			continue
		}
		if value.Kind != yaml.ScalarNode || value.Value != fmt.Sprint(Version) {
			return errorAt(value, "version", "version %q is not supported: this program reads version %d", value.Value, Version)
		}
		return nil
	}
	return errorAt(root, "version", "the version is missing: write version: %d", Version)
}
