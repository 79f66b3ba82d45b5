package scenarios

import (
	"os"
	"reflect"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestKindsAreFieldsAndDocumented holds the table of kinds to the fields of Expect and to docs/scenarios.md.
func TestKindsAreFieldsAndDocumented(t *testing.T) {
	var fields []string
	for i := range reflect.TypeFor[Expect]().NumField() {
		name := reflect.TypeFor[Expect]().Field(i).Tag.Get("json")
		if name == "out" {
			break // from here on fields that narrow
		}
		if name != "" {
			fields = append(fields, name)
		}
	}
	assert.Equal(t, fields, kindNames(expectKinds()))

	page, err := os.ReadFile("../docs/scenarios.md")
	require.NoError(t, err)
	for _, kind := range expectKinds() {
		assert.Equal(t, kind.word > 0, kind.set != nil, kind.name)
		row := "| `" + kind.name + ": true` * "
		assert.Equal(t, kind.word > 0, strings.Contains(string(page), row), kind.name)
	}
}

func TestListsOfKindsHaveNoHoles(t *testing.T) {
	lists := map[string]func(*expectKind) int{"word": func(k *expectKind) int { return k.word }}
	for s := range subjects {
		lists[s.String()+string(rune('0'+s))] = func(k *expectKind) int { return k.of[s] }
	}
	for name, rank := range lists {
		var ranks, want []int
		for i, kind := range listed(rank) {
			ranks, want = append(ranks, rank(&kind)), append(want, i+1)
		}
		assert.Equal(t, want, ranks, name)
	}
}
