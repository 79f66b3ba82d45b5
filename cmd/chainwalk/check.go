package main

import (
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/spf13/cobra"

	"github.com/chainwalk/chainwalk/internal/document"
	"github.com/chainwalk/chainwalk/scenarios"
	"github.com/chainwalk/chainwalk/scenarios/format/manifest"
	"github.com/chainwalk/chainwalk/scenarios/format/mistake"
	"github.com/chainwalk/chainwalk/scenarios/world/controller"
)

type checkOptions struct {
	output  string
	ignored ignored
}

func newCheckCommand(s streams) *cobra.Command {
	var o checkOptions
	cmd := &cobra.Command{
		Use:   "check PATH...",
		Short: "Find mistakes in scenarios and objects without running them",
		Long: `Reads scenarios and files of Kubernetes objects and prints likely mistakes, with file, line and column. It finds objects
that an API server would refuse (two services with one name, cluster IP or node port), objects that kube-proxy silently ignores (slices
whose label or port names match no service, endpoints of the wrong family), and nodes and zones that do not exist.

Folders are searched for *.yaml and *.yml files; all objects outside of scenarios count as one cluster. If a scenario contains a mistake on
purpose, name it in the field mistakes of the scenario, by the word that is printed in brackets.

Exit status: 0 nothing found, 1 mistakes, 2 a file could not be read, or bad usage.`,
		Example: `  chainwalk check scenarios/testdata/cases
  kubectl get services,endpointslices,nodes,pods -A -o yaml | chainwalk check -`,
		Args: somePaths,
		RunE: func(_ *cobra.Command, args []string) error {
			return runCheck(s, args, o)
		},
	}
	cmd.Flags().StringVarP(&o.output, "output", "o", "text", "how to print what is found: text or json")
	o.ignored.addFlag(cmd.Flags())
	completeWords(cmd, "output", "text", "json")
	return cmd
}

// checked is what was found.
type checked struct {
	files    int
	mistakes []mistake.Mistake
	unread   []error
}

func runCheck(s streams, paths []string, o checkOptions) error {
	if o.output != "text" && o.output != "json" {
		return fmt.Errorf("-o %s: want text or json", o.output)
	}
	found, err := checkPaths(s, paths, &o.ignored)
	if err != nil {
		return err
	}
	o.ignored.warn(s)
	write := found.writeText
	if o.output == "json" {
		write = found.writeJSON
	}
	if err := write(s.out); err != nil {
		return err
	}
	switch {
	case len(found.unread) > 0:
		return fmt.Errorf("%d of %d files could not be read:\n%w", len(found.unread), found.files, errors.Join(found.unread...))
	case len(found.mistakes) > 0:
		return errNotHeld
	}
	return nil
}

// checkPaths reads scenarios and objects, and looks at them. What scenarios include is theirs, and not looked at for itself.
func checkPaths(s streams, paths []string, skip *ignored) (*checked, error) {
	loader := scenarios.Loader{Stdin: s.in, Ignored: skip.ignore(), Objects: true, Controller: controller.New}
	files, err := loader.Load(paths...)
	if err != nil {
		return nil, err
	}
	var included []string
	for _, f := range files {
		if f.Scenario != nil {
			included = append(included, f.Scenario.Files()...)
		}
	}
	found := &checked{}
	var objects []manifest.Object
	for _, f := range files {
		if f.Objects != nil && slices.Contains(included, f.Path) {
			continue
		}
		found.files++
		switch {
		case f.Err != nil:
			found.unread = append(found.unread, f.Err)
		case f.Scenario != nil:
			found.mistakes = append(found.mistakes, mistake.InScenario(f.Scenario)...)
		}
		objects = append(objects, f.Objects...)
	}
	found.mistakes = append(found.mistakes, mistake.InObjects(objects)...)
	return found, nil
}

func (c *checked) writeText(w io.Writer) error {
	for _, m := range c.mistakes {
		fmt.Fprintln(w, m)
	}
	_, err := fmt.Fprintf(w, "%d files, %d mistakes, %d could not be read\n", c.files, len(c.mistakes), len(c.unread))
	return err
}

// foundMistake is a mistake as JSON has it.
type foundMistake struct {
	File    string `json:"file"`
	Line    int    `json:"line,omitempty"`
	Column  int    `json:"column,omitempty"`
	Kind    string `json:"kind"` // unread for what could not be read
	Object  string `json:"object,omitempty"`
	Message string `json:"message"`
}

func (c *checked) writeJSON(w io.Writer) error {
	list := []foundMistake{}
	for _, err := range c.unread {
		at := document.FirstPosition(err)
		list = append(list, foundMistake{File: at.File, Line: at.Line, Column: at.Column, Kind: "unread", Message: err.Error()})
	}
	for _, m := range c.mistakes {
		list = append(list, foundMistake{File: m.File, Line: m.Line, Column: m.Column, Kind: string(m.Kind), Object: m.Object, Message: m.Msg})
	}
	return writeJSON(w, struct {
		Version  int            `json:"version"`
		Files    int            `json:"files"`
		Mistakes []foundMistake `json:"mistakes"`
	}{1, c.files, list})
}
