// Package checkout makes builds that link kubernetes use a folder with its source, such as a developer's clone, instead of the modules that
// a go.mod of this repository names.
package checkout

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// module is what the go.mod of the folder says.
const module = "k8s.io/kubernetes"

// Checkout is a folder with the source of kubernetes.
type Checkout struct {
	Dir string // absolute
	// Minor is that of its version, 36 of v1.36.3; 0 if nothing says it.
	Minor int
	// Staging are the modules that it has itself, "k8s.io/api"; none in what the Go command has downloaded, which has them as modules.
	Staging []string
}

// Open looks into a folder. Its errors say what the folder is in the place of a checkout.
func Open(ctx context.Context, dir string) (*Checkout, error) {
	abs, err := filepath.Abs(dir)
	if err != nil {
		return nil, err
	}
	if info, err := os.Stat(abs); err != nil {
		return nil, fmt.Errorf("KUBERNETES=%s: there is no such folder", dir)
	} else if !info.IsDir() {
		return nil, fmt.Errorf("KUBERNETES=%s is a file: give the root of a clone of github.com/kubernetes/kubernetes", dir)
	}
	switch is, err := moduleOf(abs); {
	case errors.Is(err, fs.ErrNotExist):
		return nil, fmt.Errorf("KUBERNETES=%s has no go.mod: give the root of a clone of github.com/kubernetes/kubernetes", dir)
	case err != nil:
		return nil, fmt.Errorf("KUBERNETES=%s: %w", dir, err)
	case is != module:
		return nil, fmt.Errorf("KUBERNETES=%s is of the module %s, not %s: give the root of a clone of github.com/kubernetes/kubernetes", dir, is,
			module)
	}
	if _, err := os.Stat(filepath.Join(abs, "pkg", "proxy", "iptables", "proxier.go")); err != nil {
		return nil,
			fmt.Errorf("KUBERNETES=%s has no pkg/proxy/iptables/proxier.go: the clone is a partial one, or its mode iptables is gone", dir)
	}
	staging, err := stagingOf(abs)
	if err != nil {
		return nil, fmt.Errorf("KUBERNETES=%s: %w", dir, err)
	}
	return &Checkout{Dir: abs, Minor: minorOf(ctx, abs), Staging: staging}, nil
}

var moduleLine = regexp.MustCompile(`(?m)^module\s+(\S+)`)

func moduleOf(dir string) (string, error) {
	text, err := os.ReadFile(filepath.Join(dir, "go.mod"))
	if err != nil {
		return "", err
	}
	found := moduleLine.FindSubmatch(text)
	if found == nil {
		return "", errors.New("go.mod names no module")
	}
	return string(found[1]), nil
}

// stagingOf are the modules below staging/src.
func stagingOf(dir string) ([]string, error) {
	source := filepath.Join(dir, "staging", "src")
	files, err := filepath.Glob(filepath.Join(source, "k8s.io", "*", "go.mod"))
	if err != nil {
		return nil, err
	}
	var out []string
	for _, file := range files {
		name, err := filepath.Rel(source, filepath.Dir(file))
		if err != nil {
			return nil, err
		}
		out = append(out, filepath.ToSlash(name))
	}
	slices.Sort(out)
	return out, nil
}

var (
	downloaded = regexp.MustCompile(`@v1\.(\d+)\.`)
	tagged     = regexp.MustCompile(`^v1\.(\d+)\.`)
	changelog  = regexp.MustCompile(`CHANGELOG-1\.(\d+)\.md$`)
)

// minorOf tells the version by the folder's name, as the Go command gives it, by the tags of git, or by the newest change log.
func minorOf(ctx context.Context, dir string) int {
	if found := downloaded.FindStringSubmatch(filepath.Base(dir)); found != nil {
		return number(found[1])
	}
	git := exec.CommandContext(ctx, "git", "-C", dir, "describe", "--tags", "--match", "v1.*")
	git.Env = append(os.Environ(), "GIT_CEILING_DIRECTORIES="+filepath.Dir(dir)) // not a repository around it
	if out, err := git.Output(); err == nil {
		if found := tagged.FindSubmatch(out); found != nil {
			return number(string(found[1]))
		}
	}
	newest := 0
	logs, _ := filepath.Glob(filepath.Join(dir, "CHANGELOG", "*.md")) // the pattern is a good one
	for _, file := range logs {
		if found := changelog.FindStringSubmatch(file); found != nil {
			newest = max(newest, number(found[1]))
		}
	}
	return newest
}

func number(digits string) int {
	n, _ := strconv.Atoi(digits) // the patterns take digits only
	return n
}

// WriteModFile writes a module file like another one that takes kubernetes, and the modules that the checkout has itself, from it, for
// the flag -modfile; and beside it the sums of both. Replacements by relative paths stay as they are: the go command takes them from the
// main module.
func (c *Checkout) WriteModFile(ctx context.Context, base, file string) error {
	text, err := os.ReadFile(base)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		return err
	}
	if err := os.WriteFile(file, text, 0o644); err != nil {
		return err
	}
	edit := []string{"mod", "edit", "-replace=" + module + "=" + c.Dir}
	for _, name := range c.Staging {
		edit = append(edit, "-replace="+name+"="+filepath.Join(c.Dir, "staging", "src", filepath.FromSlash(name)))
	}
	if out, err := exec.CommandContext(ctx, "go", append(edit, file)...).CombinedOutput(); err != nil {
		return fmt.Errorf("go mod edit: %w: %s", err, out)
	}
	var sums []byte
	for _, sum := range []string{sumOf(base), filepath.Join(c.Dir, "go.sum")} {
		text, err := os.ReadFile(sum)
		if err != nil {
			return err
		}
		sums = append(sums, text...)
	}
	return os.WriteFile(sumOf(file), sums, 0o644)
}

// sumOf is the file with the sums that belongs to a module file.
func sumOf(file string) string { return strings.TrimSuffix(file, ".mod") + ".sum" }

// Line is the nearest of several minor versions that a program links, the newest for a checkout of which nothing says the version.
func (c *Checkout) Line(known []int) int {
	minor := cmp.Or(c.Minor, slices.Max(known))
	return slices.MinFunc(known, func(a, b int) int { return cmp.Compare(max(a-minor, minor-a), max(b-minor, minor-b)) })
}
