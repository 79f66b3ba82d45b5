package cluster

import (
	"context"

	"golang.org/x/sync/errgroup"

	"github.com/chainwalk/chainwalk/internal/scratchimage"
)

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
