package gen

import (
	"bytes"
	"fmt"
	"maps"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/chainwalk/chainwalk/scenarios"
)

// tree is a scenario file as YAML has it: mappings (map[string]any), lists ([]any) and
// scalars. It is never changed in place.
type tree any

// path leads from the root of a tree to a part of it: by keys (string) and places (int).
type path []any

func (p path) with(step any) path { return append(slices.Clone(p), step) }

func asTree(s *scenarios.Scenario) (tree, error) {
	var b bytes.Buffer
	if err := scenarios.Write(&b, s); err != nil {
		return nil, err
	}
	var out any
	err := yaml.Unmarshal(b.Bytes(), &out)
	return out, err
}

// text is the tree as a file, which Read reads. Equal trees have equal texts.
func text(t tree) []byte {
	out, err := yaml.Marshal(t)
	if err != nil {
		panic(fmt.Sprintf("gen: a tree that YAML does not have: %v", err))
	}
	return out
}

// at is the part of a tree at a path, nil if there is none.
func at(t tree, p path) any {
	var v any = t
	for _, step := range p {
		switch s := step.(type) {
		case string:
			m, _ := v.(map[string]any)
			v = m[s]
		case int:
			list, _ := v.([]any)
			if s >= len(list) {
				return nil
			}
			v = list[s]
		}
	}
	return v
}

// edit is the tree with the part at a path changed.
func edit(t tree, p path, change func(any) any) tree {
	if len(p) == 0 {
		return change(t)
	}
	switch v := t.(type) {
	case map[string]any:
		key := p[0].(string)
		out := maps.Clone(v)
		out[key] = edit(v[key], p[1:], change)
		return out
	case []any:
		i := p[0].(int)
		out := slices.Clone(v)
		out[i] = edit(v[i], p[1:], change)
		return out
	}
	return t
}

// withoutKey takes a key from the mapping at a path.
func withoutKey(t tree, p path, key string) tree {
	return edit(t, p, func(v any) any {
		out := maps.Clone(v.(map[string]any))
		delete(out, key)
		return out
	})
}

// withoutItems takes items from the list at a path.
func withoutItems(t tree, p path, from, size int) tree {
	return edit(t, p, func(v any) any {
		return slices.Delete(slices.Clone(v.([]any)), from, from+size)
	})
}

// parts are the paths to all mappings and lists of a tree, those near the root first.
func parts(t tree) []path {
	out := []path{{}}
	for i := 0; i < len(out); i++ {
		switch v := at(t, out[i]).(type) {
		case map[string]any:
			for _, key := range slices.Sorted(maps.Keys(v)) {
				if isPart(v[key]) {
					out = append(out, out[i].with(key))
				}
			}
		case []any:
			for j, item := range v {
				if isPart(item) {
					out = append(out, out[i].with(j))
				}
			}
		}
	}
	return out
}

func isPart(v any) bool {
	switch v.(type) {
	case map[string]any, []any:
		return true
	}
	return false
}

// mapped is the tree with every scalar changed; key is the key that the scalar, or the list that it is in, has.
func mapped(t tree, key string, change func(key string, scalar any) any) tree {
	switch v := t.(type) {
	case map[string]any:
		out := make(map[string]any, len(v))
		for k, value := range v {
			out[k] = mapped(value, k, change)
		}
		return out
	case []any:
		out := make([]any, len(v))
		for i, value := range v {
			out[i] = mapped(value, key, change)
		}
		return out
	}
	return change(key, t)
}

// renamed is the tree with words of its texts replaced, all at the same time.
func renamed(t tree, words map[string]string) tree {
	return mapped(t, "", func(_ string, scalar any) any {
		if s, ok := scalar.(string); ok {
			return renameIn(s, words)
		}
		return scalar
	})
}

// renameIn replaces what stands alone in a text: no letter, digit, dot or colon of the same name around it.
func renameIn(s string, words map[string]string) string {
	if to, ok := words[s]; ok {
		return to
	}
	var out strings.Builder
	for len(s) > 0 {
		end := strings.IndexAny(s, " /,[]")
		if end < 0 {
			end = len(s)
		}
		word := s[:end]
		if to, ok := words[word]; ok {
			word = to
		}
		out.WriteString(word)
		if end < len(s) {
			out.WriteByte(s[end])
			end++
		}
		s = s[end:]
	}
	return out.String()
}
