package main

import (
	"context"
	"errors"
	"path/filepath"

	"github.com/fsnotify/fsnotify"
)

// watchFile calls changed whenever a file was written or replaced, until the context ends. The folder is watched and not the
// file: an editor puts a new file in its place, and a ConfigMap is updated by changing a link beside it.
func watchFile(ctx context.Context, file string, changed func()) error {
	watcher, err := fsnotify.NewWatcher()
	if err != nil {
		return err
	}
	place, err := filepath.EvalSymlinks(file)
	if err == nil {
		err = watcher.Add(filepath.Dir(file))
	}
	if err != nil {
		return errors.Join(err, watcher.Close())
	}
	context.AfterFunc(ctx, func() { _ = watcher.Close() })
	go func() {
		for event := range watcher.Events {
			touched := filepath.Clean(event.Name) == filepath.Clean(file) && !event.Has(fsnotify.Chmod) && !event.Has(fsnotify.Remove)
			now, err := filepath.EvalSymlinks(file)
			moved := err == nil && now != place
			if touched || moved {
				place = now
				changed()
			}
		}
	}()
	return nil
}
