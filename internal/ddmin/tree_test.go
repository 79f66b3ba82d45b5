package ddmin

import (
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestPartsKeepsWhatItNeeds(t *testing.T) {
	whole := map[string]any{"a": []any{1, map[string]any{"b": "x", "c": nil}, 3}, "d": map[string]any{"e": true}}
	needs := func(less Tree) bool {
		list, _ := At(less, Path{"a"}).([]any)
		return len(list) > 0 && At(less, Path{"a", len(list) - 1}) == 3
	}
	assert.Equal(t, map[string]any{"a": []any{3}}, Parts(whole, needs))
	assert.Len(t, whole["a"], 3, "the given tree stays as it is")
	assert.Equal(t, whole, Parts(whole, func(Tree) bool { return false }))
	assert.Empty(t, Parts(whole, func(Tree) bool { return true }))
}

func TestAt(t *testing.T) {
	tree := map[string]any{"a": []any{"x", map[string]any{"b": 2}}}
	for _, test := range []struct {
		path Path
		want any
	}{
		{nil, tree},
		{Path{"a", 0}, "x"},
		{Path{"a"}.With(1).With("b"), 2},
		{Path{"a", 2}, nil},
		{Path{"a", 0, "b"}, nil},
		{Path{"c", 0, "b"}, nil},
	} {
		assert.Equal(t, test.want, At(tree, test.path), test.path)
	}
}

func TestEditChangesACopy(t *testing.T) {
	tree := map[string]any{"a": []any{"x", "y"}, "b": 1}
	changed := Edit(tree, Path{"a", 1}, func(any) any { return "z" })
	assert.Equal(t, map[string]any{"a": []any{"x", "z"}, "b": 1}, changed)
	assert.Equal(t, map[string]any{"b": 1}, WithoutKey(tree, nil, "a"))
	assert.Equal(t, map[string]any{"a": []any{"y"}, "b": 1}, WithoutItems(tree, Path{"a"}, 0, 1))
	assert.Equal(t, map[string]any{"a": []any{"x", "y"}, "b": 1}, tree)
}
