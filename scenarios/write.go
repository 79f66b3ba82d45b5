package scenarios

import (
	"encoding"
	"fmt"
	"io"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"go.yaml.in/yaml/v3"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/chainwalk/chainwalk/internal/document"
)

// Write writes a scenario as a file that Read reads back as it is. What is not given
// is left out, objects are ordinary manifests, and the lines of the head are comments
// above all. Equal scenarios give equal bytes.
func Write(w io.Writer, s *Scenario, head ...string) error {
	var out writer
	for _, text := range head {
		for line := range strings.SplitSeq(strings.TrimRight(text, "\n"), "\n") {
			out.Line(0, strings.TrimRight("# "+line, " "))
		}
	}
	if err := out.fields(reflect.ValueOf(s).Elem(), 0); err != nil {
		return fmt.Errorf("write scenario %s: %w", s.Name, err)
	}
	_, err := w.Write(out.Bytes())
	return err
}

// writer writes values. Of long lists there is one item at a time as nodes, which take some fifty times as much memory as text.
type writer struct{ document.Lines }

// fields writes the fields of a struct that are given.
func (w *writer) fields(v reflect.Value, indent int) error {
	names := jsonNames(v.Type())
	for i := range v.NumField() {
		name, field := names[i], v.Field(i)
		if name == "" || !given(field) {
			continue
		}
		if err := w.field(name, field, indent); err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
	}
	return nil
}

func (w *writer) field(name string, v reflect.Value, indent int) error {
	switch {
	case hasLongList(v):
		w.Line(indent, name+":")
		return w.fields(v, indent+2)
	case isLong(v) || isApart(name) && v.Len() > 0:
		w.Line(indent, name+":")
		for i := range v.Len() {
			if err := w.items(name, v.Slice(i, i+1), indent); err != nil {
				return err
			}
		}
		return nil
	}
	value, err := nodeOf(v)
	if err != nil {
		return err
	}
	all := mapping()
	all.Content = []*yaml.Node{document.Text(name), value}
	layOutFields(all, indent)
	return w.Fields(all, indent)
}

// items writes the items of a list that has lines of its own.
func (w *writer) items(name string, v reflect.Value, indent int) error {
	list, err := nodeOf(v)
	if err != nil {
		return err
	}
	for _, item := range list.Content {
		layOutItem(item, name, indent)
		if err := w.Item(item, indent); err != nil {
			return err
		}
	}
	return nil
}

// longList is how many items take more than a line, whatever they are.
const longList = lineWidth / 2

// isLong says whether a list has items that are written one at a time although they have no lines of their own.
func isLong(v reflect.Value) bool {
	_, apart := v.Interface().(spelled)
	return v.Kind() == reflect.Slice && !apart && v.Len() > longList
}

// hasLongList says whether a value is a struct with a long list, such as the topology of a large cluster.
func hasLongList(v reflect.Value) bool {
	if _, apart := v.Interface().(spelled); apart || v.Kind() != reflect.Struct {
		return false
	}
	for i := range v.NumField() {
		if isLong(v.Field(i)) {
			return true
		}
	}
	return false
}

// spelled is what has a spelling of its own in a file.
type spelled interface{ spell() (*yaml.Node, error) }

// nodeOf is a value as a node: by its own spelling, as text, or by the kinds of Go and the fields' names.
func nodeOf(v reflect.Value) (*yaml.Node, error) {
	switch value := v.Interface().(type) {
	case spelled:
		return value.spell()
	case metav1.Duration:
		return document.Text(durationText(value.Duration)), nil
	case encoding.TextMarshaler:
		text, err := value.MarshalText()
		return document.Text(string(text)), err
	}
	switch v.Kind() {
	case reflect.Pointer:
		if v.IsNil() {
			return scalar("!!null", "null"), nil
		}
		return nodeOf(v.Elem())
	case reflect.Struct:
		return fieldsOf(v)
	case reflect.Slice:
		return itemsOf(v)
	case reflect.Map:
		return pairsOf(v)
	case reflect.String:
		return document.Text(v.String()), nil
	case reflect.Bool:
		return scalar("!!bool", strconv.FormatBool(v.Bool())), nil
	case reflect.Int:
		return scalar("!!int", strconv.FormatInt(v.Int(), 10)), nil
	}
	return nil, fmt.Errorf("the type %s has no spelling in a file", v.Type())
}

// durationText is a duration in seconds, where it has no smaller part.
func durationText(d time.Duration) string {
	if d%time.Second == 0 {
		return fmt.Sprintf("%ds", d/time.Second)
	}
	return d.String()
}

func scalar(tag, value string) *yaml.Node {
	return &yaml.Node{Kind: yaml.ScalarNode, Tag: tag, Value: value}
}

func mapping() *yaml.Node { return &yaml.Node{Kind: yaml.MappingNode, Tag: "!!map"} }

func sequence() *yaml.Node { return &yaml.Node{Kind: yaml.SequenceNode, Tag: "!!seq"} }

// fieldNames are the lists of jsonNames by type.
var fieldNames sync.Map

// jsonNames are the names of a struct's fields in a file, in their order; empty for one that is not written.
func jsonNames(t reflect.Type) []string {
	if names, known := fieldNames.Load(t); known {
		return names.([]string)
	}
	names := make([]string, t.NumField())
	for i := range names {
		if names[i] = t.Field(i).Tag.Get("json"); names[i] == "-" {
			names[i] = ""
		}
	}
	fieldNames.Store(t, names)
	return names
}

// fieldsOf are the fields of a struct that are given.
func fieldsOf(v reflect.Value) (*yaml.Node, error) {
	out := mapping()
	for i, name := range jsonNames(v.Type()) {
		if name == "" || !given(v.Field(i)) {
			continue
		}
		value, err := nodeOf(v.Field(i))
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		out.Content = append(out.Content, document.Text(name), value)
	}
	return out, nil
}

// given reports whether a value says anything: more than where it was written. A list that is there and empty does.
func given(v reflect.Value) bool {
	if v.Kind() != reflect.Struct {
		return !v.IsZero()
	}
	for i := range v.NumField() {
		if v.Field(i).Type() != reflect.TypeFor[document.Located]() && !v.Field(i).IsZero() {
			return true
		}
	}
	return false
}

func itemsOf(v reflect.Value) (*yaml.Node, error) {
	out := sequence()
	for i := range v.Len() {
		item, err := nodeOf(v.Index(i))
		if err != nil {
			return nil, fmt.Errorf("[%d]: %w", i, err)
		}
		out.Content = append(out.Content, item)
	}
	return out, nil
}

func pairsOf(v reflect.Value) (*yaml.Node, error) {
	out := mapping()
	keys := v.MapKeys()
	slices.SortFunc(keys, func(a, b reflect.Value) int { return strings.Compare(a.String(), b.String()) })
	for _, key := range keys {
		value, err := nodeOf(v.MapIndex(key))
		if err != nil {
			return nil, fmt.Errorf("%s: %w", key, err)
		}
		out.Content = append(out.Content, document.Text(key.String()), value)
	}
	return out, nil
}

// lineWidth is how long a line may be for what is written on one line.
const lineWidth = 120

// isApart says whether each item of the list of that name has lines of its own.
func isApart(key string) bool {
	return key == "steps" || key == "objects" || key == "apply" || key == "during" || key == "cases"
}

// layOut writes on one line what fits there, but for steps and objects, each of which has lines of its own.
func layOut(n *yaml.Node, key string, indent int) {
	switch {
	case n.Kind == yaml.ScalarNode:
	case n.Kind == yaml.SequenceNode && isApart(key) && len(n.Content) > 0:
		for _, item := range n.Content {
			layOutItem(item, key, indent)
		}
	case key == "" && indent == 0:
		layOutFields(n, 0)
	case indent+len(key)+2+width(n) <= lineWidth:
		n.Style = yaml.FlowStyle
	case n.Kind == yaml.MappingNode:
		layOutFields(n, indent)
	default:
		for _, item := range n.Content {
			layOut(item, "", indent+2)
		}
	}
}

// layOutItem is layOut for an item of the list of that name, which has lines of its own.
func layOutItem(item *yaml.Node, key string, indent int) {
	if isApart(key) && key != "cases" {
		layOutFields(item, indent+2)
	} else {
		layOut(item, "", indent+2)
	}
}

func layOutFields(n *yaml.Node, indent int) {
	if n.Kind != yaml.MappingNode {
		return
	}
	for i := 0; i+1 < len(n.Content); i += 2 {
		value := n.Content[i+1]
		deeper := indent
		if value.Kind == yaml.MappingNode {
			deeper += 2
		}
		layOut(value, n.Content[i].Value, deeper)
	}
}

// width is about how long a node is on one line; more than a line for a text of several lines.
func width(n *yaml.Node) int {
	if n.Kind == yaml.ScalarNode {
		if strings.Contains(n.Value, "\n") {
			return lineWidth + 1
		}
		if strings.ContainsAny(n.Value, ":,[]{}#&*!|>'\"%@`") {
			return len(n.Value) + 2
		}
		return len(n.Value)
	}
	sum := 2
	for _, child := range n.Content {
		sum += width(child) + 2
	}
	return sum
}
