package nodeimage

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
)

// Cache is the folder of what has been built: chainwalk/nodeimage in the user's cache folder.
func Cache() (string, error) {
	folder, err := os.UserCacheDir()
	return filepath.Join(folder, "chainwalk", "nodeimage"), err
}

// key names a product by everything that it is made of. What has been built under a key is not built again.
type key string

// keyOf is the key of a product of these parts, in their order.
func keyOf(parts ...string) key {
	hash := sha256.New()
	for _, part := range parts {
		// The length keeps ("ab", "c") and ("a", "bc") apart.
		fmt.Fprintf(hash, "%d\n%s", len(part), part)
	}
	return key(hex.EncodeToString(hash.Sum(nil))[:16])
}

// textOf is every file of a tree as one text: name, length and content.
func textOf(tree fs.FS) (string, error) {
	var text []byte
	err := fs.WalkDir(tree, ".", func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		content, err := fs.ReadFile(tree, path)
		if err != nil {
			return err
		}
		text = fmt.Appendf(text, "%s\n%d\n%s", path, len(content), content)
		return nil
	})
	return string(text), err
}

// goFiles are the Go files at the top of a tree.
type goFiles struct{ fs.FS }

// ReadDir implements fs.ReadDirFS.
func (f goFiles) ReadDir(name string) ([]fs.DirEntry, error) {
	entries, err := fs.ReadDir(f.FS, name)
	return slices.DeleteFunc(entries, func(entry fs.DirEntry) bool {
		return entry.IsDir() || path.Ext(entry.Name()) != ".go" || strings.HasSuffix(entry.Name(), "_test.go")
	}), err
}

// folderOf is where the product of that name and key is kept.
func folderOf(cache, name string, k key) string {
	return filepath.Join(cache, name+"-"+string(k))
}

// keep has make fill the folder of a product unless it is there already. A folder is there only when it is complete. Products of the same
// name with other keys are removed: what is wanted again is built again.
func keep(cache, name string, k key, make func(folder string) error) (folder string, err error) {
	folder = folderOf(cache, name, k)
	if _, err := os.Stat(folder); err == nil {
		return folder, nil
	}
	if err := os.MkdirAll(cache, 0o755); err != nil {
		return "", err
	}
	next, err := os.MkdirTemp(cache, ".next-")
	if err != nil {
		return "", err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(next)) }() // renamed by then if all went well
	if err := os.Chmod(next, 0o755); err != nil {
		return "", err
	}
	if err := make(next); err != nil {
		return "", err
	}
	old, err := filepath.Glob(filepath.Join(cache, name+"-*"))
	if err != nil {
		return "", err
	}
	for _, path := range old {
		if err := os.RemoveAll(path); err != nil {
			return "", err
		}
	}
	return folder, os.Rename(next, folder)
}
