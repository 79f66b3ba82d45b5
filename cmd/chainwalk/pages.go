//go:build pages

package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/cobra/doc"
)

// releaseCommands are in the build of a release alone, by the tag pages: chainwalk itself does not carry what they link.
func releaseCommands() []*cobra.Command {
	return []*cobra.Command{{
		Use:    "pages FOLDER",
		Short:  "Write the manual pages and shell completions",
		Hidden: true,
		Args:   cobra.ExactArgs(1),
		RunE:   func(cmd *cobra.Command, args []string) error { return writePages(cmd.Root(), args[0]) },
	}}
}

// writePages writes a page for each command into FOLDER/man, and the completion of each shell into FOLDER/completions. The pages have the
// date of SOURCE_DATE_EPOCH.
func writePages(root *cobra.Command, folder string) error {
	man, completions := filepath.Join(folder, "man"), filepath.Join(folder, "completions")
	err := errors.Join(os.MkdirAll(man, 0o750), os.MkdirAll(completions, 0o750))
	if err != nil {
		return err
	}
	if os.Getenv("SOURCE_DATE_EPOCH") == "" {
		return errors.New("SOURCE_DATE_EPOCH is not set: give the time of the commit, in seconds since 1970, which the pages have as their date")
	}
	root.DisableAutoGenTag = true
	asMarkdown(root)
	header := doc.GenManHeader{Section: "1", Source: "chainwalk", Manual: "chainwalk"} // each page has the title of its command
	if err := doc.GenManTree(root, &header, man); err != nil {
		return fmt.Errorf("write the manual pages: %w", err)
	}
	for name, write := range map[string]func(io.Writer) error{
		"chainwalk.bash": func(w io.Writer) error { return root.GenBashCompletionV2(w, true) },
		"chainwalk.zsh":  root.GenZshCompletion,
		"chainwalk.fish": func(w io.Writer) error { return root.GenFishCompletion(w, true) },
		"chainwalk.ps1":  root.GenPowerShellCompletionWithDesc,
	} {
		var text bytes.Buffer
		if err := write(&text); err != nil {
			return fmt.Errorf("write %s: %w", name, err)
		}
		// Packages keep the mode, and all users are to read it.
		if err := os.WriteFile(filepath.Join(completions, name), text.Bytes(), 0o644); err != nil { //nolint:gosec // see above
			return err
		}
	}
	return nil
}

// asMarkdown has the texts of commands say in Markdown, which manual pages are made of, what they say as they are: "[-f FILE] (A | B)" is
// no link, and indented lines stay lines.
func asMarkdown(cmd *cobra.Command) {
	cmd.Use = strings.ReplaceAll(cmd.Use, "] (", `] \(`)
	cmd.Long = regexp.MustCompile(`(?m)^  (\S)`).ReplaceAllString(cmd.Long, "    $1")
	for _, sub := range cmd.Commands() {
		asMarkdown(sub)
	}
}
