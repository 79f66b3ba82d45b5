package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"go/ast"
	"go/importer"
	"go/parser"
	"go/token"
	"go/types"
	"io"
	"os"
	"os/exec"
	"path"
	"path/filepath"
)

const module = "github.com/chainwalk/chainwalk"

// mutated are the packages whose source is changed, by their folders.
var mutated = []string{
	"proxier/internal/changes", "proxier/internal/model", "proxier/internal/ipt", "proxier/internal/nft", "proxier/conntrack", "proxier",
}

// listed is what the go command says of a package.
type listed struct {
	ImportPath, Dir, Export string
	GoFiles                 []string
	TestGoFiles             []string
	XTestGoFiles            []string
	Imports                 []string
	TestImports             []string
	XTestImports            []string
	Deps                    []string
}

// list asks the go command, in the folder root.
func list(root string, args ...string) ([]listed, error) {
	command := exec.Command("go", append([]string{"list", "-json"}, args...)...)
	command.Dir = root
	command.Stderr = os.Stderr
	output, err := command.Output()
	if err != nil {
		return nil, fmt.Errorf("go list: %w", err)
	}
	var packages []listed
	for decoder := json.NewDecoder(bytes.NewReader(output)); ; {
		var p listed
		if err := decoder.Decode(&p); errors.Is(err, io.EOF) {
			return packages, nil
		} else if err != nil {
			return nil, err
		}
		packages = append(packages, p)
	}
}

// source is a package with its types.
type source struct {
	folder string
	fset   *token.FileSet
	files  map[string]*ast.File // by path in the module
	text   map[string][]byte
	info   *types.Info
	types  *types.Package
}

// load reads the packages that are mutated.
func load(root string) ([]*source, error) {
	var patterns []string
	for _, folder := range mutated {
		patterns = append(patterns, "./"+folder)
	}
	packages, err := list(root, append([]string{"-export", "-deps"}, patterns...)...)
	if err != nil {
		return nil, err
	}
	exports, byPath := map[string]string{}, map[string]listed{}
	for _, p := range packages {
		exports[p.ImportPath], byPath[p.ImportPath] = p.Export, p
	}
	var sources []*source
	for _, folder := range mutated {
		s, err := check(byPath[module+"/"+folder], folder, exports)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", folder, err)
		}
		sources = append(sources, s)
	}
	return sources, nil
}

func check(p listed, folder string, exports map[string]string) (*source, error) {
	s := &source{
		folder: folder, fset: token.NewFileSet(), files: map[string]*ast.File{}, text: map[string][]byte{},
		info: &types.Info{Types: map[ast.Expr]types.TypeAndValue{}, Defs: map[*ast.Ident]types.Object{}, Uses: map[*ast.Ident]types.Object{}},
	}
	var files []*ast.File
	for _, name := range p.GoFiles {
		text, err := os.ReadFile(filepath.Join(p.Dir, name))
		if err != nil {
			return nil, err
		}
		file, err := parser.ParseFile(s.fset, name, text, parser.SkipObjectResolution)
		if err != nil {
			return nil, err
		}
		at := path.Join(folder, name)
		s.files[at], s.text[at] = file, text
		files = append(files, file)
	}
	lookup := func(path string) (io.ReadCloser, error) {
		if exports[path] == "" {
			return nil, fmt.Errorf("no export data of %s", path)
		}
		return os.Open(exports[path])
	}
	config := types.Config{Importer: importer.ForCompiler(s.fset, "gc", lookup)}
	var err error
	s.types, err = config.Check(p.ImportPath, s.fset, files, s.info)
	return s, err
}
