package scenarios

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path/filepath"
	"slices"

	"github.com/chainwalk/chainwalk/internal/document"
	"github.com/chainwalk/chainwalk/scenarios/format/manifest"
)

// File is a file that was given or found, as far as it could be read.
type File struct {
	// Path is what errors and reports call it: "<stdin>" for standard input.
	Path string
	// Scenario is nil where Err says why the file is none.
	Scenario *Scenario
	Err      error
	// Objects are the objects of a file without a scenario, if the caller asked for them (Loader.Objects).
	Objects []manifest.Object
}

// Load reads scenario files, as LoadEach does. What is wrong with any of them is in the
// error; the scenarios that are in order are returned as well.
func Load(paths ...string) ([]*Scenario, error) {
	files, err := loadEach(nil, paths...)
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

// loadEach reads scenario files, as a Loader does.
func loadEach(stdin io.Reader, paths ...string) ([]File, error) {
	return (&Loader{Stdin: stdin}).Load(paths...)
}

// Loader says how files are read.
type Loader struct {
	Stdin io.Reader // what the path - is; nil: there is none
	// Ignored is called for each object of an unknown kind and each unknown field, which are then skipped; nil: they are errors.
	Ignored func(at document.Position, what string)
	// Objects has files of Kubernetes objects read as well, which are otherwise passed over in folders and no scenarios where they are given.
	Objects bool
	// Controller makes the EndpointSlices of services that select pods: controller.New. Scenarios that need it keep it. Those that are read
	// without one are checked, as far as these slices go, when they are run on a backend that has one.
	Controller manifest.NewSliceController
}

// Load reads scenario files. Of a folder it reads every file below it whose name ends in .yaml or .yml, sorted by path, but for those
// that hold Kubernetes objects, which scenarios include. "-" is standard input, which may be given once. The
// error is of paths that lead to no scenario; what is wrong with one file is in its File.
func (l *Loader) Load(paths ...string) ([]File, error) {
	var files []File
	for i, path := range paths {
		switch {
		case path == "-" && l.Stdin == nil:
			return nil, errors.New("-: there is no standard input to read")
		case path == "-" && slices.Contains(paths[:i], path):
			return nil, errors.New("- is given twice: standard input can be read only once")
		}
		found, err := findFiles(path)
		if err != nil {
			return nil, err
		}
		before := len(files)
		for _, name := range found {
			f, objects := l.file(name)
			if !objects || name == path || l.Objects {
				files = append(files, f)
			}
		}
		if len(files) == before {
			return nil, fmt.Errorf("find scenarios: no scenario in %s (files of scenarios end in .yaml or .yml)", path)
		}
	}
	return files, nil
}

// findFiles are the files that a path may stand for, in order: itself, or the YAML files of a folder.
func findFiles(path string) ([]string, error) {
	if path == "-" {
		return []string{path}, nil
	}
	var files []string
	err := filepath.WalkDir(path, func(p string, entry fs.DirEntry, err error) error {
		if err == nil && !entry.IsDir() && (p == path || IsYAML(p)) {
			files = append(files, p)
		}
		return err
	})
	slices.Sort(files)
	var at *fs.PathError
	if errors.As(err, &at) {
		return nil, fmt.Errorf("find scenarios: %s: %w", at.Path, at.Err)
	}
	if err != nil {
		return nil, fmt.Errorf("find scenarios: %w", err)
	}
	return files, nil
}

// IsYAML reports whether a file is taken for one in YAML, by its name.
func IsYAML(path string) bool { return slices.Contains([]string{".yaml", ".yml"}, filepath.Ext(path)) }

// file reads a file, and says whether it holds Kubernetes objects in place of a scenario.
func (l *Loader) file(path string) (f File, objects bool) {
	r, name, err := document.Open(path, l.Stdin)
	if err != nil {
		return File{Path: name, Err: err}, false
	}
	defer r.Close() //nolint:errcheck // nothing was written
	f = File{Path: name}
	docs, err := document.Parse(name, r)
	objects = manifest.AreObjects(docs)
	switch {
	case err != nil:
	case objects && l.Objects:
		f.Objects, err = manifest.Decode(name, docs, l.Ignored)
	default:
		f.Scenario, err = l.decode(name, docs)
	}
	f.Err = err
	return f, objects
}

// Read reads one scenario. Files that it refers to are looked for beside the
// file of that name.
func Read(name string, r io.Reader) (*Scenario, error) {
	return new(Loader).Read(name, r)
}

// Read reads one scenario, as the function Read does.
func (l *Loader) Read(name string, r io.Reader) (*Scenario, error) {
	docs, err := document.Parse(name, r)
	if err != nil {
		return nil, err
	}
	return l.decode(name, docs)
}

func (l *Loader) decode(name string, docs []*document.Document) (*Scenario, error) {
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
	s := Scenario{controller: l.Controller}
	d := document.NewDecoder(name)
	d.Ignore(l.Ignored)
	d.Decode(docs[0].Node, &s)
	if err := d.Err(); err != nil {
		return nil, err
	}
	c := checker{scenario: &s, controller: l.Controller}
	cluster := c.run()
	if len(c.errs) > 0 {
		return nil, c.errs
	}
	if l.Controller != nil || !s.needsController() {
		s.cluster = cluster
	}
	return &s, nil
}
