package live

import (
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
)

// ReportSchema is the JSON Schema of a Report, as docs/doctor.schema.json has it.
func ReportSchema() ([]byte, error) { return schemaOf(reflect.TypeFor[Report](), "chainwalk doctor") }

// MigrationSchema is the JSON Schema of a Migration, as docs/migrate.schema.json has it.
func MigrationSchema() ([]byte, error) {
	return schemaOf(reflect.TypeFor[Migration](), "chainwalk migrate")
}

// schemaOf is the JSON Schema of a document of a type.
func schemaOf(document reflect.Type, title string) ([]byte, error) {
	b := schemaBuilder{defs: map[string]any{}}
	root := b.object(document)
	root["$schema"], root["title"], root["$defs"] = "https://json-schema.org/draft/2020-12/schema", title, b.defs
	if b.err != nil {
		return nil, b.err
	}
	text, err := json.MarshalIndent(root, "", "  ")
	return append(text, '\n'), err
}

// schemaBuilder collects the types that a document is made of.
type schemaBuilder struct {
	defs map[string]any
	err  error
}

// of is the schema of a type.
func (b *schemaBuilder) of(t reflect.Type) map[string]any {
	switch t.Kind() {
	case reflect.String:
		return map[string]any{"type": "string"}
	case reflect.Bool:
		return map[string]any{"type": "boolean"}
	case reflect.Int, reflect.Uint8:
		return map[string]any{"type": "integer"}
	case reflect.Pointer:
		return b.of(t.Elem())
	case reflect.Slice:
		return map[string]any{"type": "array", "items": b.of(t.Elem())}
	case reflect.Struct:
		if b.defs[t.Name()] == nil {
			b.defs[t.Name()] = true // it may hold itself
			b.defs[t.Name()] = b.object(t)
		}
		return map[string]any{"$ref": "#/$defs/" + t.Name()}
	}
	b.err = fmt.Errorf("a schema has no place for %s", t)
	return nil
}

// object is the schema of a struct: its fields by their tags, those of embedded structs among them. What may be left out is not required.
func (b *schemaBuilder) object(t reflect.Type) map[string]any {
	properties, required := map[string]any{}, []string{}
	for _, f := range reflect.VisibleFields(t) {
		name, options, tagged := strings.Cut(f.Tag.Get("json"), ",")
		if f.Anonymous || !f.IsExported() || name == "-" || name == "" {
			continue
		}
		properties[name] = b.of(f.Type)
		if !tagged || !strings.HasPrefix(options, "omit") {
			required = append(required, name)
		}
	}
	return map[string]any{"type": "object", "properties": properties, "required": required, "additionalProperties": false}
}
