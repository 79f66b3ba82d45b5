package main

import (
	"path/filepath"
	"regexp"
	"strings"

	"github.com/spf13/cobra"
)

// The names by which the program is called: its own, and that of a plugin of kubectl, whose file is named kubectl-chainwalk.
const (
	ownName    = "chainwalk"
	pluginFile = "kubectl-chainwalk"
	pluginName = "kubectl chainwalk"
)

// calledAs is what people type to start the program of the file argv[0].
func calledAs(argv0 string) string {
	if strings.TrimSuffix(filepath.Base(argv0), ".exe") == pluginFile {
		return pluginName
	}
	return ownName
}

// rename has the help texts of all commands say what is typed.
func rename(root *cobra.Command, name string) {
	if name == root.Name() {
		return
	}
	root.Annotations = map[string]string{cobra.CommandDisplayNameAnnotation: name}
	var known []string
	for _, sub := range root.Commands() {
		known = append(known, regexp.QuoteMeta(sub.Name()))
	}
	called := regexp.MustCompile(`\b` + regexp.QuoteMeta(root.Name()) + ` (` + strings.Join(known, "|") + `)\b`)
	var walk func(*cobra.Command)
	walk = func(cmd *cobra.Command) {
		for _, text := range []*string{&cmd.Short, &cmd.Long, &cmd.Example} {
			*text = called.ReplaceAllString(*text, name+" $1")
		}
		for _, sub := range cmd.Commands() {
			walk(sub)
		}
	}
	walk(root)
}
