package jsontext_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/chainwalk/chainwalk/fakenft/jsontext"
	"github.com/chainwalk/chainwalk/fakenft/syntax"
)

// FuzzCommands reads any text. What is taken for JSON is JSON for Go as well, and there are commands or mistakes.
func FuzzCommands(f *testing.F) {
	files, err := filepath.Glob("../print/testdata/rules/*")
	require.NoError(f, err)
	for _, file := range files {
		text, err := os.ReadFile(file)
		require.NoError(f, err)
		for line := range strings.Lines(string(text)) {
			if strings.HasPrefix(line, "[{") {
				f.Add(`{"nftables": [{"add": {"rule": {"family": "ip", "table": "x", "chain": "c", "expr": ` + line + `}}}]}`)
			}
		}
	}
	text, err := os.ReadFile("testdata/mistakes")
	require.NoError(f, err)
	for line := range strings.Lines(string(text)) {
		if strings.HasPrefix(line, "{") {
			f.Add(line)
		}
	}
	f.Add(`{"nftables": [{"metainfo": {"json_schema_version": 1}}, {"add": {"table": {"family": "ip", "name": "t\u00e4\ud83d\ude00"}}}]}`)
	f.Fuzz(func(t *testing.T, text string) {
		commands, mistakes, isJSON := jsontext.Commands(&syntax.Input{Name: "x", Text: text})
		if !isJSON {
			require.Empty(t, commands)
			require.Empty(t, mistakes)
			return
		}
		require.True(t, json.Valid([]byte(text)), "no JSON for encoding/json")
		require.True(t, commands != nil || len(mistakes) > 0, "neither commands nor mistakes")
		for _, m := range mistakes {
			require.NotEmpty(t, syntax.Render(m))
		}
	})
}
