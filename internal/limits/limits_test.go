package limits

import (
	"bytes"
	"cmp"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/fstest"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// The limits that CONTRIBUTING.md names. A folder may have more files if rooms have been made in it: folders with code of their own.
const (
	mostLines   = 450 // of a file
	mostMethods = 60  // of a type, beside those of what it embeds
	mostFiles   = 90  // of a folder without such rooms, tests included
)

// tree is the code of a repository: the files with Go of all its modules, by their folders.
type tree map[string][]source

// source is a file.
type source struct {
	name   string
	lines  int
	parsed *ast.File
}

// repository is the code of this one.
var repository = sync.OnceValues(func() (tree, error) { return read(os.DirFS(filepath.Join("..", ".."))) })

func read(root fs.FS) (tree, error) {
	t := tree{}
	err := fs.WalkDir(root, ".", func(name string, entry fs.DirEntry, err error) error {
		switch base := path.Base(name); {
		case err != nil:
			return err
		case entry.IsDir() && (base == "testdata" || base == "node_modules" || base != "." && strings.HasPrefix(base, ".")):
			return fs.SkipDir
		case !entry.IsDir() && path.Ext(name) == ".go":
			text, err := fs.ReadFile(root, name)
			if err != nil {
				return err
			}
			parsed, err := parser.ParseFile(token.NewFileSet(), name, text, parser.SkipObjectResolution)
			if err != nil {
				return err
			}
			t[path.Dir(name)] = append(t[path.Dir(name)], source{name, bytes.Count(text, []byte("\n")), parsed})
		}
		return nil
	})
	return t, err
}

// beyond says what is beyond a limit, with its number and the limit.
func (t tree) beyond() []string {
	var out []string
	note := func(what string, n, limit int, unit string) {
		if n > limit {
			out = append(out, fmt.Sprintf("%s has %d %s, and may have %d", what, n, unit, limit))
		}
	}
	for folder, files := range t {
		methods := map[string]int{}
		for _, file := range files {
			note(file.name, file.lines, mostLines, "lines")
			countMethods(file.parsed, methods)
		}
		for typ, n := range methods {
			note(folder+": type "+typ, n, mostMethods, "methods")
		}
		if !t.hasRooms(folder) {
			note(folder, len(files), mostFiles, "files with Go and no folder with code")
		}
	}
	slices.SortFunc(out, cmp.Compare[string])
	return out
}

// countMethods counts the methods that a file declares, by their package and type. A package and its tests from outside share a folder.
func countMethods(file *ast.File, to map[string]int) {
	for _, d := range file.Decls {
		if f, ok := d.(*ast.FuncDecl); ok && f.Recv != nil && len(f.Recv.List) == 1 {
			to[file.Name.Name+"."+typeName(f.Recv.List[0].Type)]++
		}
	}
}

// typeName is the name of the type of a receiver.
func typeName(e ast.Expr) string {
	switch e := e.(type) {
	case *ast.StarExpr:
		return typeName(e.X)
	case *ast.ParenExpr:
		return typeName(e.X)
	case *ast.IndexExpr:
		return typeName(e.X)
	case *ast.IndexListExpr:
		return typeName(e.X)
	case *ast.Ident:
		return e.Name
	}
	return "?"
}

func (t tree) hasRooms(folder string) bool {
	for other := range t {
		if other != folder && (folder == "." || strings.HasPrefix(other, folder+"/")) {
			return true
		}
	}
	return false
}

// TestTheRepositoryIsWithinItsLimits has no exceptions: what grows beyond a limit is cut, a type by its state, a folder by its subjects.
func TestTheRepositoryIsWithinItsLimits(t *testing.T) {
	require.FileExists(t, filepath.Join("..", "..", "CONTRIBUTING.md"))
	code, err := repository()
	require.NoError(t, err)
	require.Greater(t, len(code), 100, "most folders were not found")
	assert.Empty(t, code.beyond())
}

// TestWhatIsBeyondTheLimits holds that the test above can fail, and at which number.
func TestWhatIsBeyondTheLimits(t *testing.T) {
	methods := func(pkg string, n int) *fstest.MapFile {
		text := "package " + pkg + "\n\ntype big[T any] struct{}\n\n"
		for i := range n {
			text += fmt.Sprintf("func (%s) m%d() {}\n", [...]string{"big[T]", "b *big[T]", "*big[_]"}[i%3], i)
		}
		return &fstest.MapFile{Data: []byte(text)}
	}
	files := fstest.MapFS{
		"a/long.go": {Data: []byte("package a\n" + strings.Repeat("\n", 450))},
		"a/full.go": {Data: []byte("package a\n" + strings.Repeat("\n", 449))},
		"b/b.go":    methods("b", 60), "b/b_test.go": methods("b_test", 1), "c/one.go": methods("c", 31), "c/two.go": methods("c", 30),
		"a/testdata/x.go": {Data: []byte("no Go")}, ".hidden/x.go": {Data: []byte("no Go")},
	}
	for i := range 91 {
		file := &fstest.MapFile{Data: []byte("package many\n")}
		files[fmt.Sprintf("many/f%d.go", i)], files[fmt.Sprintf("rooms/f%d.go", i)] = file, file
		if i > 0 {
			files[fmt.Sprintf("enough/f%d.go", i)] = file
		}
	}
	files["rooms/internal/room/room.go"] = &fstest.MapFile{Data: []byte("package room\n")}
	code, err := read(files)
	require.NoError(t, err)
	assert.Equal(t, []string{
		"a/long.go has 451 lines, and may have 450",
		"c: type c.big has 61 methods, and may have 60",
		"many has 91 files with Go and no folder with code, and may have 90",
	}, code.beyond())
}
