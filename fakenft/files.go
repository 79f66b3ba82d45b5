package fakenft

import (
	"io/fs"
	"path"
	"strings"
	"syscall"
)

// files are the files of the machine as nft in a folder sees them. They are parse.Files.
type files struct {
	root fs.FS
	dir  string
}

// place is where a file is below the root.
func (f files) place(name string) string {
	if !strings.HasPrefix(name, "/") {
		name = path.Join("/", f.dir, name)
	}
	if name = strings.TrimPrefix(path.Clean(name), "/"); name == "" {
		return "."
	}
	return name
}

// isFolder says whether a name is that of a folder.
func (f files) isFolder(name string) bool {
	if name == "" || f.root == nil {
		return false
	}
	info, err := fs.Stat(f.root, f.place(name))
	return err == nil && info.IsDir()
}

// Read is what a file holds: nothing if it is a folder.
func (f files) Read(name string) ([]byte, error) {
	if name == "" || f.root == nil {
		return nil, syscall.ENOENT
	}
	if f.isFolder(name) {
		return nil, nil
	}
	return fs.ReadFile(f.root, f.place(name))
}

// Glob lists the files that a pattern matches, in order, by names that begin as the pattern does.
func (f files) Glob(pattern string) ([]string, error) {
	if pattern == "" || f.root == nil {
		return nil, nil
	}
	base := f.place(pattern)
	found, err := fs.Glob(f.root, base)
	if err != nil {
		return nil, err
	}
	names := make([]string, len(found))
	for i, name := range found {
		names[i] = asWritten(pattern, name)
	}
	return names, nil
}

// asWritten is the name of a file that a pattern has matched: as many of its last parts as the pattern has, behind what the pattern begins
// with.
func asWritten(pattern, found string) string {
	patterns, parts := strings.Split(pattern, "/"), strings.Split(found, "/")
	for i, k := len(patterns)-1, len(parts)-1; i >= 0 && k >= 0; i, k = i-1, k-1 {
		switch patterns[i] {
		case "", ".", "..":
			k++ // not a part of the name below the root
		default:
			patterns[i] = parts[k]
		}
	}
	return strings.Join(patterns, "/")
}
