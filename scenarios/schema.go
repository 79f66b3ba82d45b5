package scenarios

import (
	"encoding/json"
	"fmt"
	"net/netip"
	"reflect"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/chainwalk/chainwalk/netfilter"
)

// schemaDialect names the schema's dialect.
const schemaDialect = "https://json-schema.org/draft/2020-12/schema"

// object is a JSON object; its keys are printed sorted.
type object = map[string]any

// Schema returns the JSON Schema (draft 2020-12) of a scenario file, made from
// the Go types. The same version gives the same bytes.
func Schema() ([]byte, error) {
	b := schemaBuilder{defs: object{}}
	root := b.of(reflect.TypeFor[Scenario](), "")
	root["$schema"] = schemaDialect
	root["title"] = "chainwalk scenario"
	root["$defs"] = b.defs
	if b.err != nil {
		return nil, b.err
	}
	text, err := json.MarshalIndent(root, "", "  ")
	return append(text, '\n'), err
}

type schemaBuilder struct {
	defs object
	err  error
}

// special are the types whose spelling in a file is not that of their Go kind.
func (b *schemaBuilder) special(t reflect.Type) object {
	text := func(description, pattern string) object {
		return object{"type": "string", "description": description, "pattern": pattern}
	}
	switch t {
	case reflect.TypeFor[Nodes]():
		return object{"oneOf": []any{
			object{"type": "integer", "minimum": 1, "maximum": maxNodes},
			object{"type": "array", "minItems": 1, "maxItems": maxNodes, "items": b.ref(reflect.TypeFor[Node]())},
		}}
	case reflect.TypeFor[Objects]():
		return object{"type": "array", "items": object{"oneOf": []any{kubernetesObject(), objectFile()}}}
	case reflect.TypeFor[KubeProxy]():
		return object{"type": "object", "description": "Fields of kubeproxy.config.k8s.io/v1alpha1 KubeProxyConfiguration."}
	case reflect.TypeFor[NodeSet]():
		return object{"oneOf": []any{object{"type": "boolean"}, object{"type": "array", "items": object{"type": "string"}}}}
	case reflect.TypeFor[Ref]():
		return text("KIND NAMESPACE/NAME", `^\s*[A-Za-z]+ +\S+\s*$`)
	case reflect.TypeFor[Listener]():
		return text("PROTOCOL PORT or PROTOCOL ADDRESS:PORT", `^(tcp|udp|sctp) \S+$`)
	case reflect.TypeFor[Target]():
		return text("PROTOCOL ADDRESS:PORT, or icmp ADDRESS", `^((tcp|udp|sctp) \S+:[0-9]+|icmp [0-9a-fA-F.:]+)$`)
	case reflect.TypeFor[Bind]():
		return text("ADDRESS, ADDRESS:PORT or :PORT", `^\S+$`)
	case reflect.TypeFor[PacketInput]():
		return text("PROTO SRC[:PORT] > DST[:PORT] in DEV|local ...", ` > `)
	case reflect.TypeFor[Shares]():
		return sharesSchema()
	case reflect.TypeFor[Matched]():
		return object{"oneOf": []any{object{"const": true}, object{"type": "string"}}}
	case reflect.TypeFor[Source]():
		return object{"anyOf": []any{object{"enum": []any{"kept", "masqueraded"}}, object{"type": "string"}}}
	case reflect.TypeFor[metav1.Duration]():
		return text("A Go duration, such as 10800s", `^([0-9.]+(ns|us|µs|ms|s|m|h))+$`)
	case reflect.TypeFor[netip.Addr]():
		return text("An IP address", `^[0-9a-fA-F.:]+$`)
	case reflect.TypeFor[netip.AddrPort]():
		return text("ADDRESS:PORT, an IPv6 address in brackets", `^\S+:[0-9]+$`)
	case reflect.TypeFor[netip.Prefix]():
		return text("ADDRESS/LENGTH", `^[0-9a-fA-F.:]+/[0-9]+$`)
	case reflect.TypeFor[Bound]():
		return object{"oneOf": []any{object{"type": "integer", "minimum": 0}, object{"type": "string", "pattern": `^(<|<=|>|>=)? *[0-9]+$`}}}
	case reflect.TypeFor[TrackedPattern]():
		return text("PROTO SRC > DST [to ENDPOINT] [from SOURCE]", `^\s*(tcp|udp|sctp|icmp) +\S+ +> +\S+`)
	case reflect.TypeFor[Watched]():
		return object{"enum": []any{string(WatchedServices), string(WatchedEndpointSlices), string(WatchedNodes)}}
	case reflect.TypeFor[Command]():
		return object{"enum": words(commands())}
	case reflect.TypeFor[netfilter.Dialect]():
		return object{"enum": []any{string(netfilter.Legacy), string(netfilter.NFT)}}
	}
	return nil
}

func kubernetesObject() object {
	return object{
		"type": "object", "description": "A Kubernetes object: Service, EndpointSlice, Node, Pod, Namespace, or a list of them.",
		"required":   []any{"apiVersion", "kind"},
		"properties": object{"apiVersion": object{"type": "string"}, "kind": object{"type": "string"}},
	}
}

func objectFile() object {
	return object{
		"type": "object", "required": []any{"file"}, "additionalProperties": false,
		"properties": object{"file": object{"type": "string", "description": "A file of Kubernetes objects, beside the scenario."}},
	}
}

func sharesSchema() object {
	chance := object{"type": []any{"string", "number"}, "description": "1/2, 0.5 or 50%"}
	return object{"oneOf": []any{
		object{"type": "array", "minItems": 1, "items": object{"type": "string", "description": "ADDRESS:PORT"}},
		object{"type": "object", "minProperties": 1, "additionalProperties": chance},
	}}
}

// of is the schema of a type, with a description of the field that has it.
func (b *schemaBuilder) of(t reflect.Type, doc string) object {
	out := b.special(t)
	if out == nil {
		out = b.kind(t)
	}
	if doc != "" {
		out["description"] = doc
	}
	return out
}

func (b *schemaBuilder) kind(t reflect.Type) object {
	switch t.Kind() {
	case reflect.Pointer:
		if t.Elem().Kind() == reflect.String {
			return object{"type": []any{"string", "null"}}
		}
		return b.of(t.Elem(), "")
	case reflect.Struct:
		return b.ref(t)
	case reflect.Slice:
		return object{"type": "array", "items": b.of(t.Elem(), "")}
	case reflect.Map:
		return object{"type": "object", "additionalProperties": b.of(t.Elem(), "")}
	case reflect.String:
		return object{"type": "string"}
	case reflect.Bool:
		return object{"type": "boolean"}
	case reflect.Int:
		return object{"type": "integer"}
	}
	b.err = fmt.Errorf("schema: the type %s has no spelling in a file", t)
	return object{}
}

// ref defines a struct once, and refers to it.
func (b *schemaBuilder) ref(t reflect.Type) object {
	name := strings.ToLower(t.Name()[:1]) + t.Name()[1:]
	if _, known := b.defs[name]; !known {
		b.defs[name] = object{} // so that a type within itself ends
		b.defs[name] = b.structure(t)
	}
	return object{"$ref": "#/$defs/" + name}
}

func (b *schemaBuilder) structure(t reflect.Type) object {
	properties, required := object{}, []any{}
	for i := range t.NumField() {
		f := t.Field(i)
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		if name == "" || name == "-" {
			continue
		}
		p := b.of(f.Type, f.Tag.Get("doc"))
		if enum := f.Tag.Get("enum"); enum != "" {
			p["enum"] = words(strings.Fields(enum))
		}
		properties[name] = p
		if f.Tag.Get("required") == "true" {
			required = append(required, name)
		}
	}
	out := object{"type": "object", "properties": properties, "additionalProperties": false}
	if len(required) > 0 {
		out["required"] = required
	}
	if t == reflect.TypeFor[Expect]() {
		return object{"oneOf": []any{object{"enum": words(kindNames(wordKinds()))}, out}}
	}
	return out
}

func words(in []string) []any {
	out := make([]any, len(in))
	for i, w := range in {
		out[i] = w
	}
	return out
}
