package explain_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/chainwalk/chainwalk/scenarios/explain/cause"
)

// parts are what a section of docs/causes.md has, in this order.
var parts = []string{"**Symptom.** ", "**Why.** ", "**See it by hand.**", "**Fix it.** "}

var sectionTitle = regexp.MustCompile(`^(CW\d{3}): .+`)

func TestEachCodeHasASection(t *testing.T) {
	text, err := os.ReadFile("../../docs/causes.md")
	require.NoError(t, err)
	sections := map[cause.Code]string{}
	for i, section := range strings.Split(string(text), "\n## ") {
		if i == 0 {
			continue
		}
		title := sectionTitle.FindStringSubmatch(section)
		require.NotNil(t, title, "a section without a code: %.40q", section)
		assert.NotContains(t, sections, cause.Code(title[1]), "two sections")
		sections[cause.Code(title[1])] = section
	}
	for _, code := range codes(t) {
		section, ok := sections[code]
		if !assert.True(t, ok, "docs/causes.md has no section for %s", code) {
			continue
		}
		delete(sections, code)
		for _, part := range parts {
			_, after, found := strings.Cut(section, "\n"+part)
			assert.True(t, found, "%s: %q is missing, or not after the part before it", code, part)
			section = "\n" + after
		}
	}
	assert.Empty(t, sections, "sections of no code")
}

// codes are the constants of the type Code.
func codes(t *testing.T) []cause.Code {
	file, err := parser.ParseFile(token.NewFileSet(), "cause/code.go", nil, 0)
	require.NoError(t, err)
	var out []cause.Code
	ast.Inspect(file, func(n ast.Node) bool {
		if value, ok := n.(*ast.ValueSpec); ok && len(value.Values) == 1 {
			if literal, ok := value.Values[0].(*ast.BasicLit); ok {
				text, err := strconv.Unquote(literal.Value)
				require.NoError(t, err)
				out = append(out, cause.Code(text))
			}
		}
		return true
	})
	require.Greater(t, len(out), 40)
	return out
}
