package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"time"

	"github.com/fsnotify/fsnotify"

	"github.com/chainwalk/chainwalk/internal/document"
	"github.com/chainwalk/chainwalk/scenarios"
)

// settleTime is how long an editor may take to write all that it writes.
const settleTime = 100 * time.Millisecond

// watchScenarios runs scenarios, and again after each change of a file, until the context ends. What the last run gave is what it gives.
func watchScenarios(ctx context.Context, s streams, paths []string, o runOptions) (err error) {
	backend, closeBackend, err := startBackend(ctx, s, o)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, closeBackend()) }()
	for {
		changes, err := fsnotify.NewWatcher()
		if err != nil {
			return fmt.Errorf("--watch: %w", err)
		}
		files, came := o.load(s, paths)
		if err := watchFolders(changes, paths, files); err != nil {
			return errors.Join(fmt.Errorf("--watch: %w", err), changes.Close())
		}
		if came == nil {
			came = runFiles(ctx, s, backend, files, o)
		}
		if came != nil && !errors.Is(came, errNotHeld) {
			fmt.Fprintf(s.errOut, "chainwalk: %v\n", came)
		}
		changed, ok := awaitChange(ctx, changes, included(files), o)
		if err := changes.Close(); err != nil || !ok {
			return errors.Join(came, err)
		}
		fmt.Fprintf(s.errOut, "chainwalk: %s changed: running again\n", changed)
	}
}

// watchFolders watches the folders of the paths and of all files that the scenarios are made of. A folder is watched and not a file: an
// editor puts a new file in the place of an old one.
func watchFolders(w *fsnotify.Watcher, paths []string, files []scenarios.File) error {
	var errs []error
	for _, path := range paths {
		errs = append(errs, w.Add(filepath.Dir(path)), filepath.WalkDir(path, func(p string, entry fs.DirEntry, err error) error {
			if err == nil && entry.IsDir() {
				err = w.Add(p)
			}
			return err
		}))
	}
	for _, file := range included(files) {
		errs = append(errs, w.Add(filepath.Dir(file)))
	}
	return errors.Join(errs...)
}

// included are the files that scenarios are made of.
func included(files []scenarios.File) []string {
	var out []string
	for _, f := range files {
		out = append(out, filepath.Clean(f.Path))
		if f.Scenario == nil {
			out = append(out, filepath.Clean(document.FirstPosition(f.Err).File)) // one that it includes, maybe
			continue
		}
		for _, file := range f.Scenario.Files() {
			out = append(out, filepath.Clean(file))
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// awaitChange waits until a file changes and whoever changes it is done, and names it; false if the context ends before.
func awaitChange(ctx context.Context, w *fsnotify.Watcher, files []string, o runOptions) (changed string, ok bool) {
	var settled <-chan time.Time
	for {
		select {
		case <-ctx.Done():
			return "", false
		case event := <-w.Events:
			name := filepath.Clean(event.Name)
			if !event.Has(fsnotify.Chmod) && (slices.Contains(files, name) || scenarios.IsYAML(name)) {
				changed, settled = event.Name, o.clock.After(settleTime)
			}
		case <-settled:
			return changed, true
		}
	}
}
