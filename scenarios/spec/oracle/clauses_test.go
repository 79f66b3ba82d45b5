package oracle_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/chainwalk/chainwalk/scenarios/spec/oracle"
)

func TestClausesAreInOrder(t *testing.T) {
	seen := map[string]bool{}
	for _, c := range oracle.Clauses() {
		assert.False(t, seen[c.Name], "%s is there twice", c.Name)
		seen[c.Name] = true
		assert.Regexp(t, `^[a-z]+(-[a-z]+)*$`, c.Name)
		assert.Regexp(t, `^I([1-9]|1[0-2])$`, c.Law, c.Name)
		assert.Contains(t, []oracle.Force{oracle.Must, oracle.May, oracle.Unspecified}, c.Force, c.Name)
		assert.Regexp(t, `^[A-Z].*\.$`, c.Text, c.Name)
		assert.NotEmpty(t, c.Source, c.Name)
		assert.Same(t, c, oracle.ByName(c.Name))
	}
	assert.Nil(t, oracle.ByName("no such clause"))
}

// TestEveryClauseIsInAChapter counts the clauses in the source.
func TestEveryClauseIsInAChapter(t *testing.T) {
	files, err := os.ReadDir(".")
	require.NoError(t, err)
	written := 0
	for _, file := range files {
		if !strings.HasSuffix(file.Name(), ".go") || strings.HasSuffix(file.Name(), "_test.go") {
			continue
		}
		parsed, err := parser.ParseFile(token.NewFileSet(), file.Name(), nil, 0)
		require.NoError(t, err)
		ast.Inspect(parsed, func(n ast.Node) bool {
			if literal, ok := n.(*ast.CompositeLit); ok {
				if name, ok := literal.Type.(*ast.Ident); ok && name.Name == "Clause" {
					written++
				}
			}
			return true
		})
	}
	assert.Equal(t, written, len(oracle.Clauses()))
}
