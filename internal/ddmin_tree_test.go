package internal_test

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/chainwalk/chainwalk/internal/ddmin"
)

func TestPartsKeepsWhatItNeeds(t *testing.T) {
	whole := map[string]any{"a": []any{1, map[string]any{"b": "x", "c": nil}, 3}, "d": map[string]any{"e": true}}
	needs := func(less ddmin.Tree) bool {
		list, _ := ddmin.At(less, ddmin.Path{"a"}).([]any)
		return len(list) > 0 && ddmin.At(less, ddmin.Path{"a", len(list) - 1}) == 3
	}
	assert.Equal(t, map[string]any{"a": []any{3}}, ddmin.Parts(whole, needs))
	assert.Len(t, whole["a"], 3, "the given tree stays as it is")
	assert.Equal(t, whole, ddmin.Parts(whole, func(ddmin.Tree) bool { return false }))
	assert.Empty(t, ddmin.Parts(whole, func(ddmin.Tree) bool { return true }))
}

func TestTreeAt(t *testing.T) {
	tree := map[string]any{"a": []any{"x", map[string]any{"b": 2}}}
	for _, test := range []struct {
		path ddmin.Path
		want any
	}{
		{nil, tree},
		{ddmin.Path{"a", 0}, "x"},
		{ddmin.Path{"a"}.With(1).With("b"), 2},
		{ddmin.Path{"a", 2}, nil},
		{ddmin.Path{"a", 0, "b"}, nil},
		{ddmin.Path{"c", 0, "b"}, nil},
	} {
		assert.Equal(t, test.want, ddmin.At(tree, test.path), test.path)
	}
}

func TestEditChangesACopy(t *testing.T) {
	tree := map[string]any{"a": []any{"x", "y"}, "b": 1}
	changed := ddmin.Edit(tree, ddmin.Path{"a", 1}, func(any) any { return "z" })
	assert.Equal(t, map[string]any{"a": []any{"x", "z"}, "b": 1}, changed)
	assert.Equal(t, map[string]any{"b": 1}, ddmin.WithoutKey(tree, nil, "a"))
	assert.Equal(t, map[string]any{"a": []any{"y"}, "b": 1}, ddmin.WithoutItems(tree, ddmin.Path{"a"}, 0, 1))
	assert.Equal(t, map[string]any{"a": []any{"x", "y"}, "b": 1}, tree)
}
