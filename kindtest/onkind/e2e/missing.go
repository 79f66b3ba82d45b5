package main

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"os/exec"
	"strings"

	"github.com/chainwalk/chainwalk/kindtest/onkind/nodeimage"
)

// sayMissing prints what a run would lack on this machine.
func sayMissing(ctx context.Context, out io.Writer, image string) (held bool, err error) {
	if why := missing(ctx, image); why != "" {
		fmt.Fprintln(out, why)
		return false, nil
	}
	return true, nil
}

// missing says what is not there of a Docker engine and a node image; empty if both are. A registry is not asked: an image that has to be
// pulled is missing.
func missing(ctx context.Context, image string) string {
	if output, err := exec.CommandContext(ctx, "docker", "version", "--format", "{{.Server.Version}}").CombinedOutput(); err != nil {
		return fmt.Sprintf("no Docker engine answers (make kind-engine starts one where it is installed): %s",
			cmp.Or(strings.TrimSpace(string(output)), err.Error()))
	}
	if image != "" {
		if !hasImage(ctx, image) {
			return fmt.Sprintf("the node image %s is not there", image)
		}
		return ""
	}
	if !hasImage(ctx, nodeimage.Tag) && !hasImage(ctx, published) {
		return fmt.Sprintf("there is no node image: neither %s (make kind-node-image builds it) nor one that kind publishes (%s)",
			nodeimage.Tag, published)
	}
	return ""
}

// published is the repository of the node images that kind publishes.
const published = "kindest/node"

// hasImage reports whether the engine has an image of that name; without a tag, any of the repository.
func hasImage(ctx context.Context, name string) bool {
	output, err := exec.CommandContext(ctx, "docker", "image", "ls", "--quiet", name).Output()
	return err == nil && len(output) > 0
}
