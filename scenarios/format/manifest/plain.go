package manifest

import (
	"fmt"
	"reflect"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/chainwalk/chainwalk/internal/document"
)

// New is an object that was made in Go, with its kind, its namespace and the API
// server's defaults filled in. It is not checked.
func New(o runtime.Object) (Object, error) {
	for _, k := range kinds() {
		if reflect.TypeOf(k.make()) != reflect.TypeOf(o) {
			continue
		}
		out := Object{Object: o}
		o.GetObjectKind().SetGroupVersionKind(schema.FromAPIVersionAndKind(k.apiVersion, k.kind))
		setNamespace(out)
		setDefaults(o)
		return out, nil
	}
	return Object{}, fmt.Errorf("objects of type %T are not supported", o)
}

// Plain is an object as it would be written by hand: what is filled in when it is
// read is left out. One that would not be read back as it is, is an error.
func (o Object) Plain() (*yaml.Node, error) {
	fields, err := runtime.DefaultUnstructuredConverter.ToUnstructured(o.Object)
	if err != nil {
		return nil, fmt.Errorf("write %s: %w", o.Ref(), err)
	}
	prune(fields, func() bool { return true })
	whole := plainNode(fields)
	bare := o.DeepCopyObject()
	shorten(whole, reflect.ValueOf(bare).Elem(), func() bool { return o.isFilledFrom(bare) })
	if o.readAs(whole) == nil {
		return whole, nil
	}
	return o.plainReadBack() // an empty mapping says something somewhere, such as emptyDir
}

// plainReadBack is Plain for every object. It reads the object back for each field that may be left out.
func (o Object) plainReadBack() (*yaml.Node, error) {
	fields, err := runtime.DefaultUnstructuredConverter.ToUnstructured(o.Object)
	if err != nil {
		return nil, fmt.Errorf("write %s: %w", o.Ref(), err)
	}
	prune(fields, func() bool { return o.readAs(plainNode(fields)) == nil })
	whole := plainNode(fields)
	if err := o.readAs(whole); err != nil {
		return nil, fmt.Errorf("write %s: %w", o.Ref(), err)
	}
	shorten(whole, reflect.Value{}, func() bool { return o.readAs(whole) == nil })
	return whole, nil
}

// isFilledFrom reports whether the object is another one with the defaults filled in.
func (o Object) isFilledFrom(bare runtime.Object) bool {
	filled := Object{Object: bare.DeepCopyObject()}
	setNamespace(filled)
	setDefaults(filled.Object)
	return reflect.DeepEqual(filled.Object, o.Object)
}

// prune takes out the nulls and the empty mappings that the types print though they are not given, as long as it is right.
func prune(value any, right func() bool) {
	switch v := value.(type) {
	case map[string]any:
		for key, field := range v {
			prune(field, right)
			if m, ok := field.(map[string]any); field == nil || ok && len(m) == 0 {
				delete(v, key)
				if !right() {
					v[key] = field
				}
			}
		}
	case []any:
		for _, item := range v {
			prune(item, right)
		}
	}
}

// readAs says why the fields are not read as the object.
func (o Object) readAs(fields *yaml.Node) error {
	d := document.NewDecoder("")
	read := DecodeObjects(d, fields)
	if err := d.Err(); err != nil {
		return err
	}
	if len(read) != 1 || !equality.Semantic.DeepEqual(read[0].Object, o.Object) {
		return fmt.Errorf("it is read back as another one (its API defaults are not filled in)")
	}
	return nil
}

// defaulted are the fields that are filled in where they are missing, in the order in which they are tried.
func defaulted() []string {
	return []string{
		"namespace", "type", "sessionAffinity", "timeoutSeconds", "clientIP", "sessionAffinityConfig", "protocol", "targetPort", "name",
		"internalTrafficPolicy", "externalTrafficPolicy", "ipFamilies", "clusterIPs", "clusterIP", "ipMode",
		"podIPs", "podIP",
	}
}

// parents are the fields below which something is filled in.
func parents() []string {
	return []string{"metadata", "spec", "ports", "sessionAffinityConfig", "clientIP", "status", "loadBalancer", "ingress", "initContainers",
		"containers"}
}

// shorten takes the fields out that are filled in again, as long as it is right. It takes them out of the object as well; the zero Value is
// none.
func shorten(value *yaml.Node, object reflect.Value, right func() bool) {
	if object.IsValid() && object.Kind() == reflect.Pointer {
		object = object.Elem()
	}
	if value.Kind == yaml.SequenceNode {
		for i, item := range value.Content {
			var of reflect.Value
			if object.IsValid() && object.Kind() == reflect.Slice {
				of = object.Index(i)
			}
			shorten(item, of, right)
		}
	}
	if value.Kind != yaml.MappingNode {
		return
	}
	for _, key := range parents() {
		if i := placeOf(value, key); i >= 0 {
			shorten(value.Content[i+1], fieldOf(object, key), right)
		}
	}
	for _, key := range defaulted() {
		i := placeOf(value, key)
		if i < 0 {
			continue
		}
		all := value.Content
		value.Content = slices.Concat(all[:i], all[i+2:])
		putBack := clearField(fieldOf(object, key))
		if !right() {
			value.Content = all
			putBack()
		}
	}
}

// clearField takes a field out of an object. It returns the way back.
func clearField(field reflect.Value) (putBack func()) {
	if !field.IsValid() {
		return func() {}
	}
	was := reflect.New(field.Type()).Elem()
	was.Set(field)
	field.SetZero()
	return func() { field.Set(was) }
}

// fieldOf is the field of a struct with a name in JSON; the zero Value if there is none.
func fieldOf(object reflect.Value, key string) reflect.Value {
	if !object.IsValid() || object.Kind() != reflect.Struct {
		return reflect.Value{}
	}
	for i := range object.NumField() {
		field := object.Type().Field(i)
		name, _, _ := strings.Cut(field.Tag.Get("json"), ",")
		if name == key {
			return object.Field(i)
		}
		if field.Anonymous && name == "" {
			if found := fieldOf(object.Field(i), key); found.IsValid() {
				return found
			}
		}
	}
	return reflect.Value{}
}

// placeOf is where a mapping has a key; -1 if it has not.
func placeOf(mapping *yaml.Node, key string) int {
	for i := 0; i+1 < len(mapping.Content); i += 2 {
		if mapping.Content[i].Value == key {
			return i
		}
	}
	return -1
}

// plainNode is a value of JSON as a node, the fields of objects in the order in which people write them.
func plainNode(value any) *yaml.Node {
	switch v := value.(type) {
	case map[string]any:
		n := &yaml.Node{Kind: yaml.MappingNode, Tag: "!!map"}
		keys := make([]string, 0, len(v))
		for key := range v {
			keys = append(keys, key)
		}
		slices.SortFunc(keys, byUse)
		for _, key := range keys {
			n.Content = append(n.Content, document.Text(key), plainNode(v[key]))
		}
		return n
	case []any:
		n := &yaml.Node{Kind: yaml.SequenceNode, Tag: "!!seq"}
		for _, item := range v {
			n.Content = append(n.Content, plainNode(item))
		}
		return n
	case string:
		return document.Text(v)
	case bool:
		return &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!bool", Value: fmt.Sprint(v)}
	case nil:
		return &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!null", Value: "null"}
	}
	return &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!int", Value: fmt.Sprint(value)}
}

// byUse is the order of fields that people are used to; all others stand between them by name.
func byUse(a, b string) int {
	if d := place(a) - place(b); d != 0 {
		return d
	}
	return strings.Compare(a, b)
}

func place(key string) int {
	first := []string{
		"apiVersion", "kind", "metadata", "name", "namespace", "type", "clusterIP", "clusterIPs", "addressType", "addresses", "port", "protocol",
	}
	last := []string{"ports", "endpoints", "spec", "status"}
	if i := slices.Index(first, key); i >= 0 {
		return i - len(first)
	}
	return slices.Index(last, key) + 1
}
