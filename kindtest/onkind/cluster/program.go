package cluster

import (
	"context"
	"fmt"
	"os"
	"os/exec"

	"golang.org/x/sync/errgroup"

	"github.com/chainwalk/chainwalk/internal/scratchimage"
)

// BuildProgram builds a program of the module in root, a folder of cmd, for the nodes, which may have no C library, and writes it to path.
// What only debuggers need is left out: each node is sent a copy.
func BuildProgram(ctx context.Context, root, program, path string, flags ...string) error {
	arguments := append(append([]string{"build", "-ldflags=-s -w"}, flags...), "-o", path, "./cmd/"+program)
	build := exec.CommandContext(ctx, "go", arguments...)
	build.Dir = root
	build.Env = append(os.Environ(), "CGO_ENABLED=0", "GOOS=linux")
	if output, err := build.CombinedOutput(); err != nil {
		return fmt.Errorf("build %s for the nodes: %w\n%s", program, err, output)
	}
	return nil
}

// LoadProgram packs a static program into an image of its own, gives it to every node, and returns the image's name. It stays there
// until the node goes.
func (c *Cluster) LoadProgram(ctx context.Context, name, file string) (string, error) {
	packed, err := scratchimage.Read(name, file)
	if err != nil {
		return "", err
	}
	group, ctx := errgroup.WithContext(ctx)
	for _, host := range c.hosts {
		group.Go(func() error { return loadImage(ctx, host, packed) })
	}
	return packed.String(), group.Wait()
}
