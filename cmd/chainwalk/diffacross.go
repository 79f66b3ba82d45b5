package main

import (
	"errors"
	"fmt"
	"slices"

	"github.com/chainwalk/chainwalk/scenarios/explain/names"
	"github.com/chainwalk/chainwalk/scenarios/users/allpackets"
)

// checkAcross refuses what a comparison of a cluster's nodes cannot be with.
func (o *diffOptions) checkAcross(paths []string) error {
	switch {
	case len(paths) < 2:
		return fmt.Errorf("--across: want two nodes or more, got %d", len(paths))
	case !slices.Equal(o.classes, []string{"new"}):
		return errors.New("--across compares the first packets of connections, so that --class must be new")
	case o.certificate != "":
		return errors.New("--certificate is for two sides, and --across leaves out what differs by node: compare two nodes without it")
	case o.objects.given() != "":
		return fmt.Errorf("--across compares nodes as they are: leave out %s, and name objects with -f", o.objects.given())
	}
	return nil
}

// runAcross compares the nodes of a cluster.
func runAcross(s streams, o diffOptions, paths []string) error {
	options, err := o.options()
	if err != nil {
		return err
	}
	if err := o.checkAcross(paths); err != nil {
		return err
	}
	objects, err := readKnownObjects(s, o.hosts.objects, &o.hosts.ignored)
	if err != nil {
		return err
	}
	var book *names.Book
	if len(objects) > 0 {
		book = names.New(objects)
	}
	sides, err := o.hosts.nodes(s, paths, book)
	if err != nil {
		return err
	}
	result, err := allpackets.Across(sides, objects, options)
	if err != nil {
		return err
	}
	result.All = o.verbose
	if err := writeAnswer(s, result, o.output); err != nil {
		return err
	}
	alike, open := result.State()
	switch {
	case open:
		return toolStatus(exitUsage) // the answer says what is not known
	case !alike:
		return errNotHeld
	}
	return nil
}
