package main

import (
	"context"
	_ "embed" // of the patch
	"fmt"
	"os"
	"strings"

	"github.com/chainwalk/chainwalk/internal/overlay"
	"github.com/chainwalk/chainwalk/kindtest/onkind/cluster"
	"github.com/chainwalk/chainwalk/scenarios/search/trackrecord"
)

// unevenShares is a fault of this command alone, for what a hundred tries cannot tell: where two endpoints are left the first one gets a
// third.
const unevenShares = "uneven-shares"

// unevenSharesPatch is where the proxier writes how likely a rule is.
//
//go:embed uneven-shares.patch
var unevenSharesPatch []byte

// faultOf is the one fault whose name begins so: of the track record, or this command's own.
func faultOf(begin string) (string, error) {
	names := []string{unevenShares}
	for _, f := range trackrecord.Faults() {
		names = append(names, f.Name)
	}
	var found []string
	for _, name := range names {
		if name == begin {
			return begin, nil
		}
		if strings.HasPrefix(name, begin) {
			found = append(found, name)
		}
	}
	switch len(found) {
	case 0:
		return "", fmt.Errorf("there is no fault %q: docs/track-record.md has them all, and %s", begin, unevenShares)
	case 1:
		return found[0], nil
	}
	return "", fmt.Errorf("the fault %q is one of %s", begin, strings.Join(found, ", "))
}

// buildFaulty builds chainwalk with a fault that is always on.
func buildFaulty(ctx context.Context, root, path, fault string) error {
	o, err := overlayOf(root, fault)
	if err != nil {
		return err
	}
	folder, err := os.MkdirTemp("", "chainwalk-fault-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(folder) //nolint:errcheck // of the temporary folder
	file, err := o.Write(folder)
	if err != nil {
		return err
	}
	return cluster.BuildProgram(ctx, root, "chainwalk", path, "-overlay", file)
}

// overlayOf are the files of a build that has a fault.
func overlayOf(root, fault string) (*overlay.Overlay, error) {
	if fault != unevenShares {
		o, err := trackrecord.Overlay(root)
		if err == nil {
			err = trackrecord.SwitchOn(o, fault)
		}
		return o, err
	}
	o := overlay.New(root)
	return o, o.Patch(overlay.Patch{Name: unevenShares, Text: unevenSharesPatch})
}
