package overlay

import (
	"encoding/json"
	"fmt"
	"go/format"
	"go/parser"
	"go/token"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strings"
)

// Overlay is a set of changed files of a module.
type Overlay struct {
	root  string
	files map[string][]byte // by path in the module, with slashes
}

// New returns an Overlay of the module in the folder root, without a file yet.
func New(root string) *Overlay {
	return &Overlay{root: root, files: map[string][]byte{}}
}

// Root returns the folder of the module that the working directory is in.
func Root() (string, error) {
	output, err := exec.Command("go", "env", "GOMOD").Output()
	if err != nil {
		return "", fmt.Errorf("asking the go command for its module: %w", err)
	}
	file := strings.TrimSpace(string(output))
	if file == "" || file == os.DevNull {
		return "", fmt.Errorf("the working directory is in no module")
	}
	return filepath.Dir(file), nil
}

// Source returns what a file holds: in the Overlay, else on disk.
func (o *Overlay) Source(file string) ([]byte, error) {
	if content, ok := o.files[file]; ok {
		return content, nil
	}
	return os.ReadFile(filepath.Join(o.root, filepath.FromSlash(file)))
}

// Put gives a file other contents, or makes it. Go source must parse; it is formatted.
func (o *Overlay) Put(file string, content []byte) error {
	if path.Ext(file) == ".go" {
		formatted, err := format.Source(content)
		if err != nil {
			return fmt.Errorf("%s: %w", file, err)
		}
		content = formatted
	}
	o.files[file] = content
	return nil
}

// Import adds an import to Go source that has none of it yet.
func Import(source []byte, importPath string) ([]byte, error) {
	file, err := parser.ParseFile(token.NewFileSet(), "", source, parser.ImportsOnly)
	if err != nil {
		return nil, err
	}
	for _, spec := range file.Imports {
		if spec.Path.Value == `"`+importPath+`"` {
			return source, nil
		}
	}
	end := int(file.Name.End()) - 1
	added := []byte("; import \"" + importPath + "\"")
	return slices.Concat(source[:end:end], added, source[end:]), nil
}

// Files returns the paths of the files, sorted.
func (o *Overlay) Files() []string {
	names := make([]string, 0, len(o.files))
	for name := range o.files {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

// Write writes the files into an empty folder, and beside them the one for the flag
// -overlay, whose path it returns.
func (o *Overlay) Write(dir string) (string, error) {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return "", err
	}
	replace := map[string]string{}
	for i, name := range o.Files() {
		at := filepath.Join(dir, fmt.Sprintf("%03d-%s", i, path.Base(name)))
		if err := os.WriteFile(at, o.files[name], 0o644); err != nil {
			return "", err
		}
		replace[filepath.Join(o.root, filepath.FromSlash(name))] = at
	}
	text, err := json.MarshalIndent(map[string]any{"Replace": replace}, "", "  ")
	if err != nil {
		return "", err
	}
	file := filepath.Join(dir, "overlay.json")
	return file, os.WriteFile(file, text, 0o644)
}
