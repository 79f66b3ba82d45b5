package manifest

import (
	"fmt"
	"io"
	"slices"
	"sort"
	"strings"
	"sync"

	"github.com/chainwalk/chainwalk/internal/document"
	"go.yaml.in/yaml/v3"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

// Object is a Kubernetes object and where it was written. It has one of the
// types *corev1.Service, *corev1.Node, *corev1.Pod, *corev1.Namespace,
// *corev1.ConfigMap, *discoveryv1.EndpointSlice, *networkingv1.NetworkPolicy and
// *networkingv1.ServiceCIDR, with the API server's defaults filled in.
type Object struct {
	runtime.Object
	Pos document.Position
	// Derived says that it was not written, but follows from other objects as a controller of Kubernetes makes it (package controller).
	// A cluster that has this controller makes it by itself.
	Derived bool
	node    *yaml.Node
}

// Meta returns the object's metadata.
func (o Object) Meta() metav1.Object { return o.Object.(metav1.Object) }

// WithoutSource is the object without where its fields were written, which takes more memory than the object.
func (o Object) WithoutSource() Object {
	o.node = nil
	return o
}

// At is where a field was written, by a path of keys and indexes: the deepest part of it that was. Of an object that was not written it is
// the object's own place.
func (o Object) At(path ...any) document.Position {
	n := o.node
	if n == nil {
		return o.Pos
	}
	for _, step := range path {
		next := child(n, step)
		if next == nil {
			break
		}
		n = next
	}
	return document.At(o.Pos.File, n)
}

// Has reports whether a field was written, by a path of keys and indexes.
func (o Object) Has(path ...any) bool {
	n := o.node
	for _, step := range path {
		if n == nil {
			return false
		}
		n = child(n, step)
	}
	return n != nil
}

// Ref returns the name by which the object is deleted.
func (o Object) Ref() Ref {
	return Ref{
		Kind:      o.GetObjectKind().GroupVersionKind().Kind,
		Namespace: o.Meta().GetNamespace(),
		Name:      o.Meta().GetName(),
	}
}

// Ref names an object.
type Ref struct {
	Kind      string
	Namespace string // empty for kinds without a namespace
	Name      string
}

// String prints the reference as ParseRef reads it.
func (r Ref) String() string {
	if r.Namespace == "" {
		return strings.ToLower(r.Kind) + " " + r.Name
	}
	return strings.ToLower(r.Kind) + " " + r.Namespace + "/" + r.Name
}

// ParseRef reads "service ns/name"; the namespace is "default" if not given.
func ParseRef(s string) (Ref, error) {
	kind, name, ok := strings.Cut(strings.TrimSpace(s), " ")
	k := kindNamed(kind)
	if !ok || k == nil {
		return Ref{}, fmt.Errorf("want KIND NAMESPACE/NAME with a kind of %s, got %q", strings.Join(kindNames(), ", "), s)
	}
	namespace, name, ok := strings.Cut(strings.TrimSpace(name), "/")
	if !ok {
		namespace, name = metav1.NamespaceDefault, namespace
	}
	if !k.namespaced {
		namespace = ""
	}
	if name == "" || strings.ContainsAny(name, "/ \t") {
		return Ref{}, fmt.Errorf("%q has no valid name (want KIND NAMESPACE/NAME)", s)
	}
	return Ref{Kind: k.kind, Namespace: namespace, Name: name}, nil
}

// kind is one kind of object that is read.
type kind struct {
	apiVersion, kind string
	namespaced       bool
	make             func() runtime.Object
}

// kinds are the kinds of objects that chainwalk reads.
var kinds = sync.OnceValue(func() []kind {
	return []kind{
		{"v1", "Service", true, func() runtime.Object { return &corev1.Service{} }},
		{"discovery.k8s.io/v1", "EndpointSlice", true, func() runtime.Object { return &discoveryv1.EndpointSlice{} }},
		{"v1", "Node", false, func() runtime.Object { return &corev1.Node{} }},
		{"v1", "Pod", true, func() runtime.Object { return &corev1.Pod{} }},
		{"v1", "Namespace", false, func() runtime.Object { return &corev1.Namespace{} }},
		{"v1", "ConfigMap", true, func() runtime.Object { return &corev1.ConfigMap{} }},
		{"networking.k8s.io/v1", "NetworkPolicy", true, func() runtime.Object { return &networkingv1.NetworkPolicy{} }},
		{"networking.k8s.io/v1", "ServiceCIDR", false, func() runtime.Object { return &networkingv1.ServiceCIDR{} }},
	}
})

func kindNamed(name string) *kind {
	for _, k := range kinds() {
		if strings.EqualFold(k.kind, name) {
			return &k
		}
	}
	return nil
}

func kindNames() []string {
	var out []string
	for _, k := range kinds() {
		out = append(out, k.kind)
	}
	sort.Strings(out)
	return out
}

// ReadObjects reads Kubernetes objects: YAML or JSON, several documents, and
// the lists that kubectl prints. An input without an object is an error.
func ReadObjects(name string, r io.Reader) ([]Object, error) {
	return ReadKnownObjects(name, r, nil)
}

// ReadKnownObjects is ReadObjects, but passes over objects of unknown kinds and unknown fields, and tells ignored of each of them: "kind
// Deployment". With a nil function they are errors.
func ReadKnownObjects(name string, r io.Reader, ignored func(at document.Position, what string)) ([]Object, error) {
	docs, err := document.Parse(name, r)
	if err != nil {
		return nil, err
	}
	if len(docs) == 0 {
		return nil, &document.Error{
			Position: document.Position{File: name},
			Msg:      "no object in it (want Kubernetes manifests, as kubectl get -o yaml prints them)",
		}
	}
	return Decode(name, docs, ignored)
}

// Decode reads the objects of a file that was parsed, as ReadKnownObjects does.
func Decode(name string, docs []*document.Document, ignored func(at document.Position, what string)) ([]Object, error) {
	d := document.NewDecoder(name)
	d.Ignore(ignored)
	var out []Object
	for _, doc := range docs {
		out = append(out, DecodeObjects(d, doc.Node)...)
	}
	return out, d.Err()
}

// DecodeObjects decodes a node that is one object or a list object, checks it and
// fills in the API server's defaults.
func DecodeObjects(d *document.Decoder, n *yaml.Node) (out []Object) {
	d.Lenient(func() { out = decodeObjects(d, n) })
	return out
}

func decodeObjects(d *document.Decoder, n *yaml.Node) []Object {
	n = document.Resolve(n)
	before := d.Count()
	meta, ok := typeMetaOf(d, n, metav1.TypeMeta{})
	if !ok {
		return nil
	}
	if item, isList := listOf(meta); isList {
		return decodeList(d, n, item)
	}
	o, ok := decodeObject(d, n, meta)
	if !ok || d.Count() > before {
		return nil
	}
	return []Object{o}
}

// typeMetaOf reads apiVersion and kind, which may be missing inside a typed list.
func typeMetaOf(d *document.Decoder, n *yaml.Node, fallback metav1.TypeMeta) (metav1.TypeMeta, bool) {
	if n.Kind != yaml.MappingNode {
		d.WrongType(n, "a Kubernetes object")
		return fallback, false
	}
	meta := fallback
	merged := false
	for i := 0; i+1 < len(n.Content); i += 2 {
		switch value := document.Resolve(n.Content[i+1]); n.Content[i].Value {
		case "apiVersion":
			meta.APIVersion = value.Value
		case "kind":
			meta.Kind = value.Value
		}
		merged = merged || n.Content[i].ShortTag() == "!!merge"
	}
	if merged {
		d.Errorf(n, "merge keys (<<) are not supported (write the fields out)")
		return meta, false
	}
	if meta.Kind == "" || meta.APIVersion == "" {
		advice := "every Kubernetes object has both"
		if child(n, "items") != nil {
			advice += "; kubectl prints the kind of a list behind its items: if it was cut off, give all of it"
		}
		d.Errorf(n, "no apiVersion and kind (%s)", advice)
		return meta, false
	}
	return meta, true
}

// AreObjects reports whether documents are Kubernetes objects, right ones or wrong ones: each has apiVersion and kind, and no steps, which
// only scenarios have.
func AreObjects(docs []*document.Document) bool {
	return len(docs) > 0 && !slices.ContainsFunc(docs, func(doc *document.Document) bool {
		return child(doc.Node, "apiVersion") == nil || child(doc.Node, "kind") == nil || child(doc.Node, "steps") != nil
	})
}

// listOf says whether the type is a list, and the type of its items: none for
// the untyped v1 List.
func listOf(meta metav1.TypeMeta) (metav1.TypeMeta, bool) {
	if meta.APIVersion == "v1" && meta.Kind == "List" {
		return metav1.TypeMeta{}, true
	}
	item, isList := strings.CutSuffix(meta.Kind, "List")
	if !isList {
		return metav1.TypeMeta{}, false
	}
	for _, k := range kinds() {
		if meta.APIVersion == k.apiVersion && item == k.kind {
			return metav1.TypeMeta{APIVersion: k.apiVersion, Kind: k.kind}, true
		}
	}
	return metav1.TypeMeta{}, false
}

func decodeList(d *document.Decoder, n *yaml.Node, item metav1.TypeMeta) []Object {
	var listMeta metav1.ListMeta
	items := &yaml.Node{Kind: yaml.SequenceNode}
	d.Pairs(n, "a list object", func(key, value *yaml.Node) {
		switch key.Value {
		case "apiVersion", "kind":
		case "metadata":
			d.Decode(value, &listMeta)
		case "items":
			items = document.Resolve(value)
		default:
			d.Errorf(key, "unknown field %q (a list has apiVersion, kind, metadata and items)", key.Value)
		}
	})
	if items.Kind != yaml.SequenceNode {
		if !document.IsNull(items) {
			d.Errorf(items, "items: want a list, got %s", document.Describe(items))
		}
		return nil
	}
	var out []Object
	d.Within("items", func() {
		d.Items(items, func(_ int, one *yaml.Node) {
			one = document.Resolve(one)
			meta, ok := typeMetaOf(d, one, item)
			if !ok {
				return
			}
			if inner, isList := listOf(meta); isList { // of several outputs that were put together
				out = append(out, decodeList(d, one, inner)...)
			} else if o, ok := decodeObject(d, one, meta); ok {
				out = append(out, o)
			}
		})
	})
	return out
}

// decodeObject decodes one object that is no list.
func decodeObject(d *document.Decoder, n *yaml.Node, meta metav1.TypeMeta) (Object, bool) {
	k := kindNamed(meta.Kind)
	switch {
	case meta.Kind == "KubeProxyConfiguration":
		d.Errorf(n, "a KubeProxyConfiguration is no cluster object (give it as the kube-proxy configuration)")
		return Object{}, false
	case (k == nil || k.kind != meta.Kind || k.apiVersion != meta.APIVersion) && d.PassOver(n, "kind "+meta.Kind):
		return Object{}, false
	case k == nil || k.kind != meta.Kind:
		d.Errorf(n, "unknown kind %q of %q (objects read are of kind %s)", meta.Kind, meta.APIVersion, strings.Join(kindNames(), ", "))
		return Object{}, false
	case k.apiVersion != meta.APIVersion:
		d.Errorf(n, "unknown apiVersion %q for kind %s (want %s)", meta.APIVersion, meta.Kind, k.apiVersion)
		return Object{}, false
	}
	o := Object{Object: k.make(), Pos: d.Position(n), node: n}
	before := d.Count()
	d.Decode(n, o.Object)
	if d.Count() > before {
		return Object{}, false
	}
	o.GetObjectKind().SetGroupVersionKind(meta.GroupVersionKind())
	setNamespace(o)
	validate(d, o)
	setDefaults(o.Object)
	return o, d.Count() == before
}
