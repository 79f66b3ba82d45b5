package scenarios

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path/filepath"
	"slices"

	"github.com/chainwalk/chainwalk/internal/document"
	"github.com/chainwalk/chainwalk/scenarios/manifest"
)

// File is a file that was given or found, as far as it could be read.
type File struct {
	// Path is what errors and reports call it: "<stdin>" for standard input.
	Path string
	// Scenario is nil where Err says why the file is none.
	Scenario *Scenario
	Err      error
}

// Load reads scenario files, as LoadEach does. What is wrong with any of them is in the
// error; the scenarios that are in order are returned as well.
func Load(paths ...string) ([]*Scenario, error) {
	files, err := LoadEach(nil, paths...)
	if err != nil {
		return nil, err
	}
	var out []*Scenario
	var errs []error
	for _, f := range files {
		if f.Err != nil {
			errs = append(errs, f.Err)
			continue
		}
		out = append(out, f.Scenario)
	}
	return out, errors.Join(errs...)
}

// LoadEach reads scenario files. Of a folder it reads every file below it whose name ends in .yaml or .yml, sorted by path, but for those
// that hold Kubernetes objects, which scenarios include. "-" is standard input, which is read from stdin and may be given once. The
// error is of paths that lead to no scenario; what is wrong with one file is in its File.
func LoadEach(stdin io.Reader, paths ...string) ([]File, error) {
	var files []File
	for i, path := range paths {
		switch {
		case path == "-" && stdin == nil:
			return nil, errors.New("-: there is no standard input to read")
		case path == "-" && slices.Contains(paths[:i], path):
			return nil, errors.New("- is given twice: standard input can be read only once")
		}
		found, err := findFiles(path)
		if err != nil {
			return nil, fmt.Errorf("find scenarios: %w", err)
		}
		before := len(files)
		for _, name := range found {
			f, objects := loadFile(name, stdin)
			if !objects || name == path {
				files = append(files, f)
			}
		}
		if len(files) == before {
			return nil, fmt.Errorf("find scenarios: no scenario in %s (files of scenarios end in .yaml or .yml)", path)
		}
	}
	return files, nil
}

// findFiles are the files that a path may stand for, in order.
func findFiles(path string) ([]string, error) {
	if path == "-" {
		return []string{path}, nil
	}
	var files []string
	err := filepath.WalkDir(path, func(p string, entry fs.DirEntry, err error) error {
		if err == nil && !entry.IsDir() && (p == path || isYAML(p)) {
			files = append(files, p)
		}
		return err
	})
	slices.Sort(files)
	return files, err
}

func isYAML(path string) bool { return slices.Contains([]string{".yaml", ".yml"}, filepath.Ext(path)) }

// loadFile reads a file, and says whether it holds Kubernetes objects in place of a scenario.
func loadFile(path string, stdin io.Reader) (f File, objects bool) {
	r, name, err := document.Open(path, stdin)
	if err != nil {
		return File{Path: name, Err: err}, false
	}
	defer r.Close() //nolint:errcheck // nothing was written
	f = File{Path: name}
	docs, err := document.Parse(name, r)
	if err == nil {
		f.Scenario, err = decode(name, docs)
	}
	f.Err = err
	return f, manifest.AreObjects(docs)
}

// Read reads one scenario. Files that it refers to are looked for beside the
// file of that name.
func Read(name string, r io.Reader) (*Scenario, error) {
	docs, err := document.Parse(name, r)
	if err != nil {
		return nil, err
	}
	return decode(name, docs)
}

func decode(name string, docs []*document.Document) (*Scenario, error) {
	if manifest.AreObjects(docs) {
		return nil, &document.Error{
			Position: document.At(name, docs[0].Node),
			Msg:      "Kubernetes objects, and no scenario (a scenario has name and steps, and its objects in objects)",
		}
	}
	if len(docs) != 1 {
		return nil, &document.Error{
			Position: document.Position{File: name},
			Msg:      fmt.Sprintf("has %d YAML documents (want one scenario)", len(docs)),
		}
	}
	var s Scenario
	if err := document.Decode(docs[0], &s); err != nil {
		return nil, err
	}
	c := checker{scenario: &s}
	s.cluster = c.run()
	if len(c.errs) > 0 {
		return nil, c.errs
	}
	return &s, nil
}
