package scenarios_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	_ "github.com/chainwalk/chainwalk/internal/garbage"
	"github.com/chainwalk/chainwalk/internal/race"
)

// above are the folders of those who work above packetsim, in every module of the repository.
var above = []string{"cmd", "docs/examples", "kindtest", "proxier/upstream", "scenarios"}

// differential is the folder of what compares the language itself with the real tools.
const differential = "kindtest/onkernel/differ/"

// parsed is a Go file, with its path from the root of the repository.
type parsed struct {
	path string
	file *ast.File
}

// filesBelow are the Go files of folders that are taken, parsed as far as a mode has it.
func filesBelow(t *testing.T, mode parser.Mode, takes func(path string) bool, folders ...string) (files []parsed) {
	t.Helper()
	root := os.DirFS("..")
	for _, folder := range folders {
		require.NoError(t, fs.WalkDir(root, folder, func(path string, entry fs.DirEntry, err error) error {
			if err != nil || entry.IsDir() || !strings.HasSuffix(path, ".go") || !takes(path) || strings.HasPrefix(path, differential) {
				return err
			}
			file, err := parser.ParseFile(token.NewFileSet(), filepath.Join("..", path), nil, mode)
			files = append(files, parsed{path, file})
			return err
		}))
	}
	require.NotEmpty(t, files)
	return files
}

// TestLanguagesAreKnownBelowPacketsim: who works above packetsim takes kernels from fakekernel. chainwalk tool is the tools of the fake
// themselves.
func TestLanguagesAreKnownBelowPacketsim(t *testing.T) {
	race.OneGoroutine(t)
	for _, f := range filesBelow(t, parser.ImportsOnly, func(string) bool { return true }, above...) {
		for _, i := range f.file.Imports {
			imported, err := strconv.Unquote(i.Path.Value)
			require.NoError(t, err)
			if parts := strings.Split(imported, "/"); slices.Contains(parts, "fakeipt") && parts[len(parts)-1] != "toolstate" {
				t.Errorf("%s imports %s: take kernels from fakekernel, and read facts", f.path, imported)
			}
		}
	}
}

// writersWords are what names of chains begin with, and the option that comments stand behind.
var writersWords = regexp.MustCompile(`KUBE-|cali-|DOCKER-|^DOCKER_?$|--comment`)

// nobodyReads are files and folders that have such words and read no rule with them.
var nobodyReads = map[string]string{
	"kindtest/onkind/kind/kernels.go":       "has a node's tools empty a chain",
	"kindtest/onkind/kind/still.go":         "has a node's shell wait until the proxy's rules are there again",
	"kindtest/onkind/traffic/proxy.go":      "has a node's tools take all rules of the proxy away",
	"proxier/upstream/peers/":               "is kube-proxy, and mends what it writes",
	"scenarios/explain/page/rule.go":        "colours the text of a rule for people",
	"scenarios/explain/provenance/":         "is the reader",
	"scenarios/search/gen/":                 "writes rules of others",
	"scenarios/search/trackrecord/fault.go": "tells people of a bug",
}

// TestProvenanceAloneReadsNamesOfChains: everybody else asks it, with facts.
func TestProvenanceAloneReadsNamesOfChains(t *testing.T) {
	race.OneGoroutine(t)
	needed := map[string]bool{}
	product := func(path string) bool { return !strings.HasSuffix(path, "_test.go") }
	for _, f := range filesBelow(t, parser.SkipObjectResolution, product, append(slices.Clone(above), "packetsim/snapshot")...) {
		words := wordsIn(f.file)
		if len(words) == 0 {
			continue
		}
		if excepted := exception(f.path); excepted != "" {
			needed[excepted] = true
			continue
		}
		t.Errorf("%s has %q: ask scenarios/explain/provenance", f.path, words)
	}
	for path := range nobodyReads {
		assert.True(t, needed[path], "%s needs no exception any more", path)
	}
}

// wordsIn are the strings with writers' words in a file, but for documentation in tags.
func wordsIn(file *ast.File) (words []string) {
	tags := map[*ast.BasicLit]bool{}
	ast.Inspect(file, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.Field:
			tags[n.Tag] = true
		case *ast.BasicLit:
			if text, err := strconv.Unquote(n.Value); n.Kind == token.STRING && !tags[n] && err == nil && writersWords.MatchString(text) {
				words = append(words, text)
			}
		}
		return true
	})
	return words
}

// exception is the file or folder of nobodyReads that a file is in; empty if it is in none.
func exception(path string) string {
	for of := range nobodyReads {
		if strings.HasPrefix(path, of) {
			return of
		}
	}
	return ""
}
