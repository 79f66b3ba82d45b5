package differ

import (
	"fmt"
	"os"
	"path/filepath"

	"github.com/chainwalk/chainwalk/internal/document"
	"github.com/chainwalk/chainwalk/netfilter"
)

// fileRules are the rules for case files: they hold input and output of tools, of any length, which may have bytes that are no text.
func fileRules() *document.Rules {
	return &document.Rules{AnyLength: true, YAMLScalars: true, YAMLStrings: true}
}

// readFile reads a walkCase or textCase from a file.
func readFile(path string, into any) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer func() { _ = f.Close() }()
	rules := fileRules()
	doc, err := rules.ParseOne(path, f)
	if err != nil {
		return err
	}
	d := rules.NewDecoder(path)
	d.Decode(doc.Node, into)
	if err := d.Err(); err != nil {
		return err
	}
	var dialect netfilter.Dialect
	switch c := into.(type) {
	case *walkCase:
		dialect = c.Dialect
	case *textCase:
		dialect = c.Dialect
	}
	if _, err := netfilter.ParseDialect(string(dialect)); err != nil {
		return fmt.Errorf("%s: dialect: %w", path, err)
	}
	return nil
}

// writeFile writes a walkCase or textCase to a file of the folder, which is made if it is missing, and returns the file's path.
func writeFile(folder, name string, from any) (string, error) {
	data, err := fileRules().YAML(from)
	if err != nil {
		return "", fmt.Errorf("%s: %w", name, err)
	}
	if err := os.MkdirAll(folder, 0o755); err != nil {
		return "", err
	}
	path := filepath.Join(folder, name)
	return path, os.WriteFile(path, data, 0o644)
}
