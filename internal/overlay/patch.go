package overlay

import (
	"bytes"
	"cmp"
	"fmt"
	"slices"

	"github.com/bluekeyes/go-gitdiff/gitdiff"
)

// Patch is a change of files of the module, as git diff prints it.
type Patch struct {
	Name string
	Text []byte
}

// Patch makes the changes of all the patches. Each is against the files as the
// Overlay has them before, so that each can be checked alone; as git apply does it,
// lines that have moved are found by what the patch has around its changes. Two
// patches may not replace the same line. What two of them add at one place stands in
// the order of the patches.
func (o *Overlay) Patch(patches ...Patch) error {
	changed := map[string][]replacement{}
	for i := range patches {
		p := &patches[i]
		files, _, err := gitdiff.Parse(bytes.NewReader(p.Text))
		if err != nil {
			return fmt.Errorf("patch %s: %w", p.Name, err)
		}
		if len(files) == 0 {
			return fmt.Errorf("patch %s changes no file", p.Name)
		}
		for _, file := range files {
			if file.IsNew || file.IsDelete || file.IsRename || file.IsBinary {
				return fmt.Errorf("patch %s: %s: lines of files that are there can be changed, and nothing else",
					p.Name, cmp.Or(file.NewName, file.OldName))
			}
			found, err := o.replacements(p.Name, file)
			if err != nil {
				return err
			}
			changed[file.NewName] = append(changed[file.NewName], found...)
		}
	}
	for file, all := range changed {
		source, err := o.Source(file)
		if err != nil {
			return err
		}
		if source, err = replaceAll(source, all); err != nil {
			return fmt.Errorf("%s: %w", file, err)
		}
		if err := o.Put(file, source); err != nil {
			return err
		}
	}
	return nil
}

// replacement puts other lines in the place of some.
type replacement struct {
	patch string
	// at is the first of the lines, from 0, and old how many they are: none where lines
	// are only added.
	at, old int
	now     []string
}

// replacements are what a patch does to a file.
func (o *Overlay) replacements(patch string, file *gitdiff.File) ([]replacement, error) {
	source, err := o.Source(file.NewName)
	if err != nil {
		return nil, fmt.Errorf("patch %s: %w", patch, err)
	}
	lines := slices.Collect(bytesLines(source))
	var all []replacement
	for _, fragment := range file.TextFragments {
		at, ok := place(lines, fragment)
		if !ok {
			return nil, fmt.Errorf("patch %s: %s has no such lines any more as around line %d", patch, file.NewName, fragment.OldPosition)
		}
		all = append(all, replacementsAt(patch, fragment, at)...)
	}
	return all, nil
}

func bytesLines(source []byte) func(func(string) bool) {
	return func(yield func(string) bool) {
		for line := range bytes.Lines(source) {
			if !yield(string(line)) {
				return
			}
		}
	}
}

// place returns the line, from 0, at which the file has what the fragment begins with
// and changes: the nearest one to where the fragment says that it is.
func place(lines []string, fragment *gitdiff.TextFragment) (int, bool) {
	var old []string
	for _, l := range fragment.Lines {
		if l.Old() {
			old = append(old, l.Line)
		}
	}
	said := int(fragment.OldPosition) - 1
	best, found := 0, false
	for at := 0; at+len(old) <= len(lines); at++ {
		if slices.Equal(lines[at:at+len(old)], old) && (!found || distance(at, said) < distance(best, said)) {
			best, found = at, true
		}
	}
	return best, found
}

func distance(a, b int) int { return max(a-b, b-a) }

// replacementsAt are what the fragment changes if it begins at that line.
func replacementsAt(patch string, fragment *gitdiff.TextFragment, at int) []replacement {
	var all []replacement
	within := false
	for _, l := range fragment.Lines {
		if l.Op == gitdiff.OpContext {
			within = false
			at++
			continue
		}
		if !within {
			all, within = append(all, replacement{patch: patch, at: at}), true
		}
		last := &all[len(all)-1]
		if l.Op == gitdiff.OpDelete {
			last.old++
			at++
		} else {
			last.now = append(last.now, l.Line)
		}
	}
	return all
}

// replaceAll makes all replacements in a file.
func replaceAll(source []byte, all []replacement) ([]byte, error) {
	slices.SortStableFunc(all, func(a, b replacement) int {
		return cmp.Or(cmp.Compare(a.at, b.at), cmp.Compare(min(a.old, 1), min(b.old, 1)))
	})
	lines := slices.Collect(bytesLines(source))
	var out []byte
	done, by := 0, ""
	for _, r := range all {
		if r.at < done {
			return nil, fmt.Errorf("line %d is changed by the patches %s and %s", r.at+1, by, r.patch)
		}
		for _, line := range slices.Concat(lines[done:r.at], r.now) {
			out = append(out, line...)
		}
		done, by = r.at+r.old, r.patch
	}
	for _, line := range lines[done:] {
		out = append(out, line...)
	}
	return out, nil
}
