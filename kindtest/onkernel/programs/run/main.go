//go:build linux

// Command run has firewall programs live on the real iptables tools and on the fake ones at once, and compares each of their calls. The
// status is 1 if a call differs and no reason explains it, or a life does not come to its end. It needs root, debootstrap, and the programs
// of `make kind-binaries` for kube-proxy.
//
//	run [-dialect legacy|nft] [-keep FOLDER] [-show N] [-source FOLDER] [-cache FOLDER] [-mirror URL] [PROGRAM...]
package main

import (
	"context"
	"errors"
	"flag"
	"io"
	"os"
	"path/filepath"
	"slices"

	"github.com/chainwalk/chainwalk/internal/command"
	"github.com/chainwalk/chainwalk/kindtest/onkernel/programs"
	"github.com/chainwalk/chainwalk/kindtest/onkind/nodeimage"
	"github.com/chainwalk/chainwalk/netfilter"
)

func main() { newCommand().Main() }

func newCommand() *command.Command {
	var f flags
	return &command.Command{Name: "programs", Flags: f.define, Look: f.look}
}

// flags are the flags.
type flags struct {
	dialect, keep, source, cache, mirror string
	show                                 int
}

func (f *flags) define(set *flag.FlagSet) {
	set.StringVar(&f.dialect, "dialect", "", "of the tools: legacy or nft (default both)")
	set.StringVar(&f.keep, "keep", "",
		"folder in which each life leaves its calls and what it printed (default a temporary one, removed at the end)")
	set.IntVar(&f.show, "show", 10, "how many differences of a life to show")
	set.StringVar(&f.source, "source", ".", "chainwalk's source tree")
	set.StringVar(&f.cache, "cache", "", "folder of what is installed (default chainwalk/programs in the user's cache folder)")
	set.StringVar(&f.mirror, "mirror", nodeimage.Mirror, "where Debian's packages come from")
}

func (f *flags) look(ctx context.Context, args []string, out io.Writer) (held bool, err error) {
	o := programs.Options{Source: f.source, Cache: f.cache, Mirror: f.mirror, Programs: args, Keep: f.keep, Show: f.show, Out: out}
	if f.dialect != "" {
		d, err := netfilter.ParseDialect(f.dialect)
		if err != nil {
			return false, err
		}
		o.Dialects = []netfilter.Dialect{d}
	}
	if o.Cache == "" {
		folder, err := os.UserCacheDir()
		if err != nil {
			return false, err
		}
		o.Cache = filepath.Join(folder, "chainwalk", "programs")
	}
	if len(args) == 0 || slices.ContainsFunc(args, programs.NeedsKubernetes) {
		cache, err := nodeimage.Cache()
		if err != nil {
			return false, err
		}
		built, err := nodeimage.BuiltBinaries(ctx, f.source, cache)
		if err != nil {
			return false, err
		}
		o.Kubernetes = built.Folder()
	}
	if o.Keep == "" {
		if o.Keep, err = os.MkdirTemp("", "chainwalk-programs-"); err != nil {
			return false, err
		}
		defer func() { err = errors.Join(err, os.RemoveAll(o.Keep)) }()
	}
	return programs.Run(ctx, o)
}
