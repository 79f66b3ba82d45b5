package scenarios

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"sigs.k8s.io/yaml"

	"github.com/chainwalk/chainwalk/internal/race"
)

// validator is as much of JSON Schema as Schema uses.
type validator struct{ root object }

// check returns what is wrong with a value, empty if nothing is. A word of a
// schema that it does not know is wrong as well.
func (v validator) check(schema object, value any, path string) string {
	for _, word := range slices.Sorted(mapKeys(schema)) {
		if wrong := v.word(schema, word, value, path); wrong != "" {
			return wrong
		}
	}
	return ""
}

func mapKeys(m object) func(yield func(string) bool) {
	return func(yield func(string) bool) {
		for k := range m {
			if !yield(k) {
				return
			}
		}
	}
}

func (v validator) word(schema object, word string, value any, path string) string {
	argument := schema[word]
	fails := func(bad bool, format string, args ...any) string {
		if bad {
			return path + ": " + fmt.Sprintf(format, args...)
		}
		return ""
	}
	items, isList := value.([]any)
	fields, isObject := value.(object)
	text, isText := value.(string)
	number, isNumber := value.(float64)
	switch word {
	case "$schema", "$defs", "title", "description":
	case "$ref":
		name := strings.TrimPrefix(argument.(string), "#/$defs/")
		definition, ok := v.root["$defs"].(object)[name].(object)
		if !ok {
			return fails(true, "no definition %s", name)
		}
		return v.check(definition, value, path)
	case "type":
		return fails(!hasType(argument, value), "is no %v", argument)
	case "enum":
		known := slices.ContainsFunc(argument.([]any), func(one any) bool { return reflect.DeepEqual(one, value) })
		return fails(!known, "%v is none of %v", value, argument)
	case "const":
		return fails(!reflect.DeepEqual(argument, value), "%v is not %v", value, argument)
	case "pattern":
		return fails(isText && !regexp.MustCompile(argument.(string)).MatchString(text), "%q does not match %s", text, argument)
	case "minimum":
		return fails(isNumber && number < argument.(float64), "%v is below %v", number, argument)
	case "maximum":
		return fails(isNumber && number > argument.(float64), "%v is above %v", number, argument)
	case "minItems":
		return fails(isList && len(items) < int(argument.(float64)), "too few items")
	case "maxItems":
		return fails(isList && len(items) > int(argument.(float64)), "too many items")
	case "minProperties":
		return fails(isObject && len(fields) < int(argument.(float64)), "too few properties")
	case "required":
		for _, name := range argument.([]any) {
			if _, ok := fields[name.(string)]; isObject && !ok {
				return fails(true, "%v is missing", name)
			}
		}
	case "items":
		for i, item := range items {
			if wrong := v.check(argument.(object), item, fmt.Sprintf("%s[%d]", path, i)); wrong != "" {
				return wrong
			}
		}
	case "properties":
		for name, property := range argument.(object) {
			if field, ok := fields[name]; ok {
				if wrong := v.check(property.(object), field, path+"."+name); wrong != "" {
					return wrong
				}
			}
		}
	case "additionalProperties":
		return v.additional(schema, fields, path)
	case "oneOf", "anyOf":
		return v.some(word, argument.([]any), value, path)
	default:
		return fails(true, "the schema has an unknown word %q", word)
	}
	return ""
}

func (v validator) additional(schema, fields object, path string) string {
	known, _ := schema["properties"].(object)
	for name, field := range fields {
		if _, ok := known[name]; ok {
			continue
		}
		switch argument := schema["additionalProperties"].(type) {
		case bool:
			if !argument {
				return path + ": unknown property " + name
			}
		case object:
			if wrong := v.check(argument, field, path+"."+name); wrong != "" {
				return wrong
			}
		}
	}
	return ""
}

func (v validator) some(word string, schemas []any, value any, path string) string {
	var held int
	var wrongs []string
	for _, one := range schemas {
		if wrong := v.check(one.(object), value, path); wrong == "" {
			held++
		} else {
			wrongs = append(wrongs, wrong)
		}
	}
	if held == 0 || word == "oneOf" && held > 1 {
		return fmt.Sprintf("%s: %d of %s hold: %s", path, held, word, strings.Join(wrongs, "; "))
	}
	return ""
}

func hasType(argument, value any) bool {
	if list, ok := argument.([]any); ok {
		return slices.ContainsFunc(list, func(one any) bool { return hasType(one, value) })
	}
	switch argument {
	case "object":
		_, ok := value.(object)
		return ok
	case "array":
		_, ok := value.([]any)
		return ok
	case "string":
		_, ok := value.(string)
		return ok
	case "boolean":
		_, ok := value.(bool)
		return ok
	case "null":
		return value == nil
	case "number":
		_, ok := value.(float64)
		return ok
	case "integer":
		f, ok := value.(float64)
		return ok && f == float64(int64(f))
	}
	return false
}

func readSchema(t *testing.T) validator {
	t.Helper()
	text, err := Schema()
	require.NoError(t, err)
	var root object
	require.NoError(t, json.Unmarshal(text, &root))
	return validator{root}
}

// checkYAML validates a scenario file, which the sigs.k8s.io decoder reads here
// in place of our own.
func (v validator) checkYAML(t *testing.T, text []byte) string {
	t.Helper()
	var value any
	require.NoError(t, yaml.Unmarshal(text, &value))
	return v.check(v.root, value, "scenario")
}

func TestShippedScenariosFollowTheSchema(t *testing.T) {
	race.OneGoroutine(t)
	v := readSchema(t)
	files, err := filepath.Glob("testdata/*/*.yaml")
	require.NoError(t, err)
	require.NotEmpty(t, files)
	for _, file := range files {
		text, err := os.ReadFile(file)
		require.NoError(t, err)
		assert.Empty(t, v.checkYAML(t, text), file)
	}
}

func TestSchemaRefuses(t *testing.T) {
	v := readSchema(t)
	for _, row := range []struct{ name, scenario, want string }{
		{"no steps", "{name: a}", "steps is missing"},
		{"unknown field", "{name: a, steps: [], more: 1}", "unknown property more"},
		{"wrong type", "{name: 1, steps: []}", "scenario.name: is no string"},
		{"word of an expectation", "{name: a, steps: [{connect: {from: a, to: 'tcp 1.1.1.1:1', expect: rejected}}]}", "rejected is none of"},
		{"target", "{name: a, steps: [{connect: {from: a, to: 'tcp 1.1.1.1', expect: drop}}]}", "does not match"},
		{"too many nodes", "{name: a, topology: {nodes: 1000}, steps: []}", "1000 is above 200"},
		{"object without a kind", "{name: a, objects: [{apiVersion: v1}], steps: []}", "kind is missing"},
	} {
		t.Run(row.name, func(t *testing.T) {
			assert.Contains(t, v.checkYAML(t, []byte(row.scenario)), row.want)
		})
	}
}

func TestSchemaIsTheSameEachTime(t *testing.T) {
	first, err := Schema()
	require.NoError(t, err)
	second, err := Schema()
	require.NoError(t, err)
	assert.Equal(t, string(first), string(second))
}

// TestEveryFieldIsDescribed keeps the schema, which editors show, complete.
func TestEveryFieldIsDescribed(t *testing.T) {
	for name, definition := range readSchema(t).root["$defs"].(object) {
		schema := definition.(object)
		if options, ok := schema["oneOf"].([]any); ok {
			schema = options[len(options)-1].(object)
		}
		for field, property := range schema["properties"].(object) {
			assert.NotEmpty(t, property.(object)["description"], "%s.%s", name, field)
		}
	}
}
