// Command packages prints the packages whose code or tests start goroutines, or run tests in parallel: those that the race detector can
// find something in. With -others it prints all others.
//
//	packages [-others] PATTERN...
package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/chainwalk/chainwalk/internal/command"
)

func main() {
	others := false
	(&command.Command{
		Name: "packages",
		Flags: func(set *flag.FlagSet) {
			set.BoolVar(&others, "others", false, "print the packages that start no goroutine")
		},
		Valid: func(patterns []string) bool { return len(patterns) > 0 },
		Look: func(ctx context.Context, patterns []string, out io.Writer) (held bool, err error) {
			return true, list(ctx, patterns, others, out)
		},
	}).Main()
}

// listed is a package as "go list -json" prints it.
type listed struct {
	ImportPath, Dir                    string
	GoFiles, TestGoFiles, XTestGoFiles []string
}

// list prints the packages of the patterns that start goroutines, or those that do not.
func list(ctx context.Context, patterns []string, others bool, out io.Writer) error {
	cmd := exec.CommandContext(ctx, "go",
		append([]string{"list", "-json=ImportPath,Dir,GoFiles,TestGoFiles,XTestGoFiles", "--"}, patterns...)...)
	cmd.Stderr = os.Stderr
	text, err := cmd.Output()
	if err != nil {
		return err
	}
	for packages := json.NewDecoder(bytes.NewReader(text)); ; {
		var p listed
		switch err := packages.Decode(&p); {
		case errors.Is(err, io.EOF):
			return nil
		case err != nil:
			return err
		}
		starts, err := p.startsGoroutines()
		if err != nil {
			return err
		}
		if starts != others {
			fmt.Fprintln(out, p.ImportPath)
		}
	}
}

// ofKernel ends the names of files with tests on the real kernel, which have the race detector where they are run: make kernel.
const ofKernel = "_kernel_test.go"

// startsGoroutines reports whether a file of the package, or of its tests but for those on the real kernel, starts a goroutine.
func (p *listed) startsGoroutines() (starts bool, err error) {
	for _, names := range [][]string{p.GoFiles, p.TestGoFiles, p.XTestGoFiles} {
		for _, name := range names {
			if strings.HasSuffix(name, ofKernel) {
				continue
			}
			file, err := parser.ParseFile(token.NewFileSet(), filepath.Join(p.Dir, name), nil, parser.SkipObjectResolution)
			if err != nil {
				return false, err
			}
			if startsIn(file) {
				return true, nil
			}
		}
	}
	return false, nil
}

// startsIn reports whether a file has a go statement, a call of a method Go (of a sync.WaitGroup or an errgroup.Group), or a test that
// runs in parallel.
func startsIn(file *ast.File) (starts bool) {
	ast.Inspect(file, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.GoStmt:
			starts = true
		case *ast.CallExpr:
			method, ok := n.Fun.(*ast.SelectorExpr)
			starts = starts || ok && (method.Sel.Name == "Go" || method.Sel.Name == "Parallel" || method.Sel.Name == "RunParallel")
		}
		return !starts
	})
	return starts
}
