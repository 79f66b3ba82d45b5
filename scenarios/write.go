package scenarios

import (
	"bytes"
	"encoding"
	"fmt"
	"io"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"

	"go.yaml.in/yaml/v3"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/chainwalk/chainwalk/internal/document"
)

// Write writes a scenario as a file that Read reads back as it is. What is not given
// is left out, objects are ordinary manifests, and the lines of the head are comments
// above all. Equal scenarios give equal bytes.
func Write(w io.Writer, s *Scenario, head ...string) error {
	var b bytes.Buffer
	for _, text := range head {
		for line := range strings.SplitSeq(strings.TrimRight(text, "\n"), "\n") {
			b.WriteString(strings.TrimRight("# "+line, " ") + "\n")
		}
	}
	if err := writeFields(&b, reflect.ValueOf(s).Elem()); err != nil {
		return fmt.Errorf("write scenario %s: %w", s.Name, err)
	}
	_, err := w.Write(b.Bytes())
	return err
}

// writeFields writes the fields of a struct that are given. Of long lists there is one item at a time as nodes, which take some fifty
// times as much memory as text.
func writeFields(b *bytes.Buffer, v reflect.Value) error {
	for i := range v.NumField() {
		name := v.Type().Field(i).Tag.Get("json")
		field := v.Field(i)
		if name == "" || name == "-" || !given(field) {
			continue
		}
		if hasLongList(field) {
			if err := writeNested(b, name, field); err != nil {
				return err
			}
			continue
		}
		if !isApart(name) || field.Len() == 0 {
			if err := writeField(b, name, field, false); err != nil {
				return err
			}
			continue
		}
		for k := range field.Len() {
			if err := writeField(b, name, field.Slice(k, k+1), k > 0); err != nil {
				return err
			}
		}
	}
	return nil
}

// writeField writes a field with its name, or without it where it goes on with a list.
func writeField(b *bytes.Buffer, name string, field reflect.Value, goesOn bool) error {
	value, err := nodeOf(field)
	if err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	root := mapping()
	root.Content = []*yaml.Node{document.Text(name), value}
	layOut(root, "", 0)
	before := 0
	if goesOn {
		before = 1 // the line of the name
	}
	if isApart(name) && len(value.Content) == 1 {
		return writeItem(b, root, value.Content[0], before)
	}
	return writeBehind(b, root, before)
}

// writeItem writes a list with one item that is laid out. A long list within the item, such as the cases of a large cluster's step, is
// written in parts: the library keeps all events of a document.
func writeItem(b *bytes.Buffer, root, item *yaml.Node, before int) error {
	fields := item.Content
	place := -1 // of the list, behind other fields: with the first one its dash would be written again
	for i := 2; i+1 < len(fields); i += 2 {
		if isApart(fields[i].Value) && fields[i+1].Kind == yaml.SequenceNode && len(fields[i+1].Content) > partItems {
			place = i
		}
	}
	if place < 0 || place+2 < len(fields) {
		return writeBehind(b, root, before)
	}
	list := fields[place+1]
	all := list.Content
	for part := range slices.Chunk(all, partItems) {
		list.Content = part
		if err := writeBehind(b, root, before); err != nil {
			return err
		}
		item.Content = []*yaml.Node{document.Text("x"), document.Text("x"), fields[place], list}
		before = 3 // the lines of the outer list, of x and of this list
	}
	return nil
}

// partItems is how many items of a list are written at once: as many as have so few events that the library's list of them still grows
// twofold, and not by a quarter each time.
const partItems = 8

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

// writeNested writes a struct with a long list with its name, one item at a time, as the whole of it is laid out.
func writeNested(b *bytes.Buffer, name string, v reflect.Value) error {
	before := 0 // lines that stand there already: after the first one that of the struct, and within a list that of the list
	write := func(inner string, field reflect.Value, item bool) error {
		value, err := nodeOf(field)
		if err != nil {
			return fmt.Errorf("%s: %s: %w", name, inner, err)
		}
		nested, root := mapping(), mapping()
		nested.Content = []*yaml.Node{document.Text(inner), value}
		root.Content = []*yaml.Node{document.Text(name), nested}
		const indent = 2
		if item {
			layOut(value.Content[0], "", indent+2)
		} else {
			layOutFields(nested, indent)
		}
		err = writeBehind(b, root, before)
		before = 1
		return err
	}
	for i := range v.NumField() {
		inner := v.Type().Field(i).Tag.Get("json")
		field := v.Field(i)
		if inner == "" || inner == "-" || !given(field) {
			continue
		}
		if !isLong(field) {
			if err := write(inner, field, false); err != nil {
				return err
			}
			continue
		}
		for k := range field.Len() {
			if err := write(inner, field.Slice(k, k+1), true); err != nil {
				return err
			}
			before = 2
		}
		before = 1
	}
	return nil
}

// writeBehind writes a document behind others, without so many of its first lines.
func writeBehind(b *bytes.Buffer, root *yaml.Node, lines int) error {
	var text bytes.Buffer
	enc := yaml.NewEncoder(&text)
	enc.SetIndent(2)
	enc.CompactSeqIndent()
	if err := enc.Encode(root); err != nil {
		return err
	}
	if err := enc.Close(); err != nil {
		return err
	}
	for range lines {
		_, _ = text.ReadBytes('\n') // its end is no error: each of them is there
	}
	_, err := text.WriteTo(b)
	return err
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

// fieldsOf are the fields of a struct that are given.
func fieldsOf(v reflect.Value) (*yaml.Node, error) {
	out := mapping()
	for i := range v.NumField() {
		name := v.Type().Field(i).Tag.Get("json")
		if name == "" || name == "-" || !given(v.Field(i)) {
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
			if key == "cases" {
				layOut(item, "", indent+2)
			} else {
				layOutFields(item, indent+2)
			}
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
