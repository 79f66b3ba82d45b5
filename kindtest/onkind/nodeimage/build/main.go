// Command build makes the node image for kind, or with -binaries the programs of Kubernetes and etcd alone, whose folder it prints. What
// has not changed is not built again. -missing builds nothing, and says whether these programs have been built; the status is 1 if not.
//
//	build [-binaries | -missing] [-source FOLDER] [-cache FOLDER] [-mirror URL]
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"

	"github.com/chainwalk/chainwalk/internal/command"
	"github.com/chainwalk/chainwalk/kindtest/onkind/nodeimage"
)

func main() { newCommand().Main() }

func newCommand() *command.Command {
	var o options
	look := func(ctx context.Context, _ []string, out io.Writer) (bool, error) {
		if o.cache == "" {
			cache, err := nodeimage.Cache()
			if err != nil {
				return false, err
			}
			o.cache = cache
		}
		if o.missing {
			return o.sayMissing(ctx, out)
		}
		return true, o.build(ctx, out)
	}
	return &command.Command{Name: "build", Flags: o.define, Valid: o.valid, Look: look}
}

// options are the flags.
type options struct {
	source, cache, mirror string
	binaries, missing     bool
}

func (o *options) define(flags *flag.FlagSet) {
	flags.StringVar(&o.source, "source", ".", "chainwalk's source tree")
	flags.StringVar(&o.cache, "cache", "", "folder of what has been built (default chainwalk/nodeimage in the user's cache folder)")
	flags.StringVar(&o.mirror, "mirror", nodeimage.Mirror, "where Debian's packages come from")
	flags.BoolVar(&o.missing, "missing", false, "build nothing, and say whether the programs of Kubernetes and etcd have been built")
	flags.BoolVar(&o.binaries, "binaries", false, "build the programs of Kubernetes and etcd only, and print their folder")
}

func (o *options) valid(args []string) bool { return len(args) == 0 && !(o.binaries && o.missing) }

// sayMissing prints what has not been built.
func (o *options) sayMissing(ctx context.Context, out io.Writer) (held bool, err error) {
	_, err = nodeimage.BuiltBinaries(ctx, o.source, o.cache)
	if errors.Is(err, nodeimage.ErrNotBuilt) {
		fmt.Fprintln(out, err)
		return false, nil
	}
	return err == nil, err
}

func (o *options) build(ctx context.Context, out io.Writer) error {
	b := nodeimage.Options{Source: o.source, Cache: o.cache, Mirror: o.mirror, Out: out}
	if !o.binaries {
		return nodeimage.Build(ctx, b)
	}
	built, err := nodeimage.BuildBinaries(ctx, b)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintln(out, built.Folder())
	return err
}
