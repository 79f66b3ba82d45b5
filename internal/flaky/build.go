package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strconv"
)

// testPackage is a package that has tests.
type testPackage struct {
	ImportPath, Dir           string
	Imports                   []string
	TestImports, XTestImports []string
	TestGoFiles, XTestGoFiles []string

	// binary is its test binary, with the arguments that every run has.
	binary string
	args   []string
}

// build makes the test binaries of all packages that have tests.
func build(ctx context.Context, o options, folder string) ([]*testPackage, error) {
	packages, err := list(ctx, o.packages)
	if err != nil {
		return nil, err
	}
	for i, p := range packages {
		// By the name that it has in go test: client-go tells the API server which program asks.
		p.binary = filepath.Join(folder, strconv.Itoa(i), path.Base(p.ImportPath)+".test")
		args := []string{"test", "-c", "-o", p.binary}
		if o.race {
			args = append(args, "-race")
		}
		if output, err := exec.CommandContext(ctx, "go", append(args, p.ImportPath)...).CombinedOutput(); err != nil {
			return nil, fmt.Errorf("go test -c %s: %w\n%s", p.ImportPath, err, output)
		}
		if slices.Contains(slices.Concat(p.Imports, p.TestImports, p.XTestImports), "pgregory.net/rapid") {
			p.args = []string{"-rapid.nofailfile"}
		}
	}
	return packages, nil
}

// list asks for the packages that have tests.
func list(ctx context.Context, patterns []string) (packages []*testPackage, err error) {
	command := exec.CommandContext(ctx, "go", append([]string{"list", "-json"}, patterns...)...)
	var complaints bytes.Buffer
	command.Stderr = &complaints
	listed, err := command.Output()
	if err != nil {
		return nil, fmt.Errorf("go list: %w\n%s", err, &complaints)
	}
	for decoder := json.NewDecoder(bytes.NewReader(listed)); ; {
		p := &testPackage{}
		if err := decoder.Decode(p); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			return nil, fmt.Errorf("go list: %w", err)
		}
		if len(p.TestGoFiles)+len(p.XTestGoFiles) > 0 {
			packages = append(packages, p)
		}
	}
	if len(packages) == 0 {
		return nil, errors.New("no package has tests")
	}
	return packages, nil
}
