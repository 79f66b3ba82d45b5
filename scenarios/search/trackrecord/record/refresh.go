package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"

	"github.com/chainwalk/chainwalk/internal/overlay"
	"github.com/chainwalk/chainwalk/scenarios/search/trackrecord"
)

// patchFolder is where the patches are, in the module.
const patchFolder = "scenarios/search/trackrecord/patches"

// refresh writes the patches anew as git prints them now: with the numbers of lines, and the lines around, that the source has.
func refresh(ctx context.Context, root string, out io.Writer) error {
	patches, err := trackrecord.Patches()
	if err != nil {
		return err
	}
	for _, p := range patches {
		text, err := refreshed(ctx, root, p)
		if err != nil {
			return err
		}
		if bytes.Equal(text, p.Text) {
			continue
		}
		fmt.Fprintln(out, p.Name)
		if err := os.WriteFile(filepath.Join(root, filepath.FromSlash(patchFolder), p.Name+".patch"), text, 0o644); err != nil {
			return err
		}
	}
	return nil
}

// indexLine names contents by their hashes, which would change with every other change of the file.
var indexLine = regexp.MustCompile(`(?m)^index .*\n`)

func refreshed(ctx context.Context, root string, p overlay.Patch) (text []byte, err error) {
	dir, err := os.MkdirTemp("", "refresh")
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	sound, faulty := overlay.New(root), overlay.New(root)
	if err := faulty.Patch(p); err != nil {
		return nil, err
	}
	for _, file := range faulty.Files() {
		for side, o := range map[string]*overlay.Overlay{"a": sound, "b": faulty} {
			source, err := o.Source(file)
			if err != nil {
				return nil, err
			}
			to := filepath.Join(dir, side, filepath.FromSlash(file))
			if err := os.MkdirAll(filepath.Dir(to), 0o755); err != nil {
				return nil, err
			}
			if err := os.WriteFile(to, source, 0o644); err != nil {
				return nil, err
			}
		}
	}
	command := exec.CommandContext(ctx, "git", "diff", "--no-index", "--no-prefix", "--no-color", "a", "b")
	command.Dir = dir
	text, err = command.Output()
	var status *exec.ExitError
	if errors.As(err, &status) && status.ExitCode() == 1 {
		err = nil // there is a difference
	}
	if err != nil {
		return nil, fmt.Errorf("git diff of %s: %w", p.Name, err)
	}
	return indexLine.ReplaceAll(text, nil), nil
}
