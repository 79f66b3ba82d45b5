package scenarios

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"github.com/chainwalk/chainwalk/internal/document"
)

// Load reads scenario files. Of a folder it reads every file below it whose
// name ends in .yaml, sorted by path. What is wrong with any of them is in the
// error; the scenarios that are in order are returned as well.
func Load(paths ...string) ([]*Scenario, error) {
	files, err := findFiles(paths)
	if err != nil {
		return nil, err
	}
	var out []*Scenario
	var errs []error
	for _, file := range files {
		s, err := loadFile(file)
		if err != nil {
			errs = append(errs, err)
			continue
		}
		out = append(out, s)
	}
	return out, errors.Join(errs...)
}

func findFiles(paths []string) ([]string, error) {
	var files []string
	for _, path := range paths {
		before := len(files)
		err := filepath.WalkDir(path, func(p string, entry fs.DirEntry, err error) error {
			if err == nil && !entry.IsDir() && (p == path || filepath.Ext(p) == ".yaml") {
				files = append(files, p)
			}
			return err
		})
		if err != nil {
			return nil, fmt.Errorf("find scenarios: %w", err)
		}
		if len(files) == before {
			return nil, fmt.Errorf("find scenarios: no .yaml file in %s", path)
		}
		slices.Sort(files[before:])
	}
	return files, nil
}

func loadFile(path string) (*Scenario, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("read scenario: %w", err)
	}
	defer f.Close() //nolint:errcheck // nothing was written
	return Read(path, f)
}

// Read reads one scenario. Files that it refers to are looked for beside the
// file of that name.
func Read(name string, r io.Reader) (*Scenario, error) {
	docs, err := document.Parse(name, r)
	if err != nil {
		return nil, err
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
