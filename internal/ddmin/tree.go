package ddmin

import (
	"maps"
	"slices"
)

// Tree is a document as YAML has it: mappings (map[string]any), lists ([]any) and scalars. It is never changed in place.
type Tree any

// Path leads from the root of a tree to a part of it: by keys (string) and places (int).
type Path []any

// With leads one step further.
func (p Path) With(step any) Path { return append(slices.Clone(p), step) }

// Parts tries to do without each item of a list and each field of a mapping, those near the root first. fails says whether a tree still
// fails. The result is what is left.
func Parts(t Tree, fails func(Tree) bool) Tree {
	try := func(less Tree) bool {
		if !fails(less) {
			return false
		}
		t = less
		return true
	}
	for _, p := range parts(t) {
		switch v := At(t, p).(type) {
		case []any:
			List(len(v), func(from, size int) bool { return try(WithoutItems(t, p, from, size)) })
		case map[string]any:
			for _, key := range slices.Sorted(maps.Keys(v)) {
				if m, ok := At(t, p).(map[string]any); ok && m[key] != nil {
					try(WithoutKey(t, p, key))
				}
			}
		}
	}
	return t
}

// At is the part of a tree at a path, nil if there is none.
func At(t Tree, p Path) any {
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

// Edit is the tree with the part at a path changed.
func Edit(t Tree, p Path, change func(any) any) Tree {
	if len(p) == 0 {
		return change(t)
	}
	switch v := t.(type) {
	case map[string]any:
		key := p[0].(string)
		out := maps.Clone(v)
		out[key] = Edit(v[key], p[1:], change)
		return out
	case []any:
		i := p[0].(int)
		out := slices.Clone(v)
		out[i] = Edit(v[i], p[1:], change)
		return out
	}
	return t
}

// WithoutKey takes a key from the mapping at a path.
func WithoutKey(t Tree, p Path, key string) Tree {
	return Edit(t, p, func(v any) any {
		out := maps.Clone(v.(map[string]any))
		delete(out, key)
		return out
	})
}

// WithoutItems takes items from the list at a path.
func WithoutItems(t Tree, p Path, from, size int) Tree {
	return Edit(t, p, func(v any) any {
		return slices.Delete(slices.Clone(v.([]any)), from, from+size)
	})
}

// parts are the paths to all mappings and lists of a tree, those near the root first.
func parts(t Tree) []Path {
	out := []Path{{}}
	for i := 0; i < len(out); i++ {
		switch v := At(t, out[i]).(type) {
		case map[string]any:
			for _, key := range slices.Sorted(maps.Keys(v)) {
				if isPart(v[key]) {
					out = append(out, out[i].With(key))
				}
			}
		case []any:
			for j, item := range v {
				if isPart(item) {
					out = append(out, out[i].With(j))
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
