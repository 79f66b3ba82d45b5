package limits

import (
	"go/ast"
	"path"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

const (
	module = "github.com/chainwalk/chainwalk"
	// mostUnused is how many exported names of packages may be used by no other package: what a user of the module has them for.
	mostUnused = 30
)

// exported is a name at the top of a package, which others can use.
type exported struct{ folder, name string }

func (e exported) String() string { return e.folder + "." + e.name }

// names are the exported names of a tree, and who uses them.
type names struct {
	declared map[exported]*declared
	used     map[exported]bool
}

// declared is a name as its package declares it.
type declared struct {
	isType bool
	// enum is the type of a constant, if the constant's line or one above names it: who uses the type uses its values.
	enum string
	// says are the names in the declaration, and for a type in those of its methods. Who uses a function has the types that it returns.
	says map[string]bool
}

// exportedNames reads which exported names the packages of a tree have and which of them another package uses: not a package's own tests,
// even where they stand outside of it. Methods and fields are not counted.
func (t tree) exportedNames() *names {
	n := &names{map[exported]*declared{}, map[exported]bool{}}
	methods := map[exported]map[string]bool{}
	for folder, files := range t {
		for _, file := range files {
			n.use(folder, file.parsed)
			if !strings.HasSuffix(file.name, "_test.go") && file.parsed.Name.Name != "main" {
				n.declare(folder, file.parsed, methods)
			}
		}
	}
	for typ, says := range methods {
		if d := n.declared[typ]; d != nil {
			for name := range says {
				d.says[name] = true
			}
		}
	}
	return n
}

// use notes the names of other packages that a file writes with their package.
func (n *names) use(folder string, file *ast.File) {
	imported := map[string]string{}
	for _, spec := range file.Imports {
		from, _ := strconv.Unquote(spec.Path.Value)
		from, ours := strings.CutPrefix(from, module+"/")
		if !ours || from == folder {
			continue
		}
		name := path.Base(from)
		if spec.Name != nil {
			name = spec.Name.Name
		}
		imported[name] = from
	}
	ast.Inspect(file, func(node ast.Node) bool {
		if s, ok := node.(*ast.SelectorExpr); ok {
			if left, ok := s.X.(*ast.Ident); ok && imported[left.Name] != "" {
				n.used[exported{imported[left.Name], s.Sel.Name}] = true
			}
		}
		return true
	})
}

func (n *names) declare(folder string, file *ast.File, methods map[exported]map[string]bool) {
	add := func(id *ast.Ident, node ast.Node, isType bool, enum string) {
		if id.IsExported() {
			n.declared[exported{folder, id.Name}] = &declared{isType, enum, said(node)}
		}
	}
	for _, decl := range file.Decls {
		switch decl := decl.(type) {
		case *ast.FuncDecl:
			if decl.Recv == nil {
				add(decl.Name, decl.Type, false, "")
				continue
			}
			of := exported{folder, typeName(decl.Recv.List[0].Type)}
			if methods[of] == nil {
				methods[of] = map[string]bool{}
			}
			for name := range said(decl.Type) {
				methods[of][name] = true
			}
		case *ast.GenDecl:
			enum := ""
			for _, spec := range decl.Specs {
				switch spec := spec.(type) {
				case *ast.TypeSpec:
					add(spec.Name, spec, true, "")
				case *ast.ValueSpec:
					if spec.Type != nil {
						enum = typeName(spec.Type)
					} else if len(spec.Values) > 0 {
						enum = ""
					}
					for _, id := range spec.Names {
						add(id, spec, false, enum)
					}
				}
			}
		}
	}
}

// said are the names in a declaration, without what functions do.
func said(node ast.Node) map[string]bool {
	out := map[string]bool{}
	ast.Inspect(node, func(node ast.Node) bool {
		if id, ok := node.(*ast.Ident); ok {
			out[id.Name] = true
		}
		_, body := node.(*ast.BlockStmt)
		return !body
	})
	return out
}

// unused are the names that no other package uses, by itself or through what it uses.
func (n *names) unused() []string {
	var follow func(e exported)
	seen := map[exported]bool{}
	follow = func(e exported) {
		d := n.declared[e]
		if d == nil || seen[e] {
			return
		}
		seen[e] = true
		for name := range d.says {
			if other := (exported{e.folder, name}); n.declared[other] != nil && n.declared[other].isType {
				follow(other)
			}
		}
	}
	for e := range n.used {
		follow(e)
	}
	var out []string
	for e, d := range n.declared {
		if !seen[e] && !seen[exported{e.folder, d.enum}] {
			out = append(out, e.String())
		}
	}
	slices.Sort(out)
	return out
}

// TestExportedNamesAreUsed holds that a package exports what others use. The examples are programs of their own, which nobody uses.
func TestExportedNamesAreUsed(t *testing.T) {
	code, err := repository()
	require.NoError(t, err)
	names := code.exportedNames()
	require.Greater(t, len(names.declared), 1000, "most names were not found")
	unused := slices.DeleteFunc(names.unused(), func(name string) bool { return strings.HasPrefix(name, "docs/examples/") })
	assert.LessOrEqual(t, len(unused), mostUnused, "exported, and used by no other package:\n%s", strings.Join(unused, "\n"))
}

func TestWhichExportedNamesAreUnused(t *testing.T) {
	code, err := read(fstest.MapFS{
		"a/a.go": {Data: []byte(`package a
			type Returned struct{ Held Held }
			type Held int
			type Kind string
			const (
				One Kind = "one"
				Two Kind = "two"
				Lone = 1
			)
			func Make() *Returned { var x Inside; _ = x; return nil }
			func (*Returned) Method() Given { return Given{} }
			type Given struct{}
			type Inside struct{}
			func Tested() {}
			func Within() { Lonely() }
			func Lonely() {}
			func small() {}`)},
		"a/inside_test.go":  {Data: []byte("package a\nfunc f() { Within() }")},
		"a/outside_test.go": {Data: []byte("package a_test\nimport \"" + module + "/a\"\nfunc f() { a.Tested() }")},
		"b/b.go":            {Data: []byte("package b\nimport other \"" + module + "/a\"\nfunc f() other.Kind { other.Make(); return \"\" }")},
		"c/main.go":         {Data: []byte("package main\nfunc Main() {}")},
	})
	require.NoError(t, err)
	assert.Equal(t, []string{"a.Inside", "a.Lone", "a.Lonely", "a.Tested", "a.Within"}, code.exportedNames().unused())
}
