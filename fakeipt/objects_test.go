package fakeipt

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestLoadSetsSaysWhere(t *testing.T) {
	k := New(Options{})
	err := k.LoadSets("node.yaml", strings.NewReader("create s hash:ip\n# a comment\nadd s 10.0.0.1\nadd s 10.0.0.300\n"))
	var parse *ParseError
	require.ErrorAs(t, err, &parse)
	assert.Equal(t, 4, parse.Line)
	assert.Equal(t, "node.yaml", parse.File)
	assert.Contains(t, parse.Msg, "10.0.0.300")
}

func TestLoadSetsTouchesNoFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "sets")
	err := New(Options{}).LoadSets("node.yaml", strings.NewReader("create s hash:ip\nsave -file "+path+"\n"))
	require.ErrorContains(t, err, "node.yaml:2: Cannot open "+path+" for writing: Permission denied")
	assert.NoFileExists(t, path)
}
