package scenarios

import (
	"os"
	"reflect"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestActionsAreFieldsAndDocumented holds the table of actions to the fields of Step and to docs/scenarios.md.
func TestActionsAreFieldsAndDocumented(t *testing.T) {
	var fields []string
	for i := range reflect.TypeFor[Step]().NumField() {
		name := reflect.TypeFor[Step]().Field(i).Tag.Get("json")
		if name == "sync" {
			break // from here on what follows a step
		}
		if name != "" && name != "name" && name != "kubeProxy" {
			fields = append(fields, name)
		}
	}
	assert.Equal(t, fields, actionNames(actions()))

	page, err := os.ReadFile("../docs/scenarios.md")
	require.NoError(t, err)
	for _, name := range actionNames(actions()) {
		assert.Contains(t, string(page), "\n| `"+name+": ")
	}
	_, changing, _ := strings.Cut(string(page), "**Sync.** After ")
	changing, _, _ = strings.Cut(changing, " kube-proxy syncs")
	for _, a := range actions() {
		assert.Equal(t, a.does.syncs(), strings.Contains(changing, "`"+a.name+"`"), a.name)
	}
}
