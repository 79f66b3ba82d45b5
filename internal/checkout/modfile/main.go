// Command modfile prints the flags with which the go command, in a nested module that links kubernetes, takes it from a checkout.
//
//	modfile -kubernetes DIR [-line 1.36] -upstream proxier/upstream -out bin/upstream.mod
package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/chainwalk/chainwalk/internal/checkout"
	"github.com/chainwalk/chainwalk/internal/command"
)

type options struct{ kubernetes, line, upstream, out string }

// linked are the minor versions of which the nested module has a module file: its own go.mod for the newest, and versions/1.N.mod.
var linked = []int{35, 36, 37}

func main() { os.Exit(newCommand().Run(context.Background(), os.Args[1:], os.Stdout, os.Stderr)) }

func newCommand() *command.Command {
	var o options
	return &command.Command{
		Name: "modfile",
		Flags: func(set *flag.FlagSet) {
			set.StringVar(&o.kubernetes, "kubernetes", "", "the root of a clone of github.com/kubernetes/kubernetes")
			set.StringVar(&o.line, "line", "", "the version whose interfaces it has, such as 1.36 (default: told by the checkout)")
			set.StringVar(&o.upstream, "upstream", filepath.Join("proxier", "upstream"), "the folder of the nested module")
			set.StringVar(&o.out, "out", filepath.Join("bin", "upstream", "checkout.mod"), "the module file to write")
		},
		Valid: func(args []string) bool { return len(args) == 0 && o.kubernetes != "" },
		Look: func(ctx context.Context, _ []string, out io.Writer) (bool, error) {
			return true, write(ctx, o, out)
		},
	}
}

// write writes the module file and prints the flags.
func write(ctx context.Context, o options, out io.Writer) error {
	c, err := checkout.Open(ctx, o.kubernetes)
	if err != nil {
		return err
	}
	line := o.line
	if line == "" {
		line = fmt.Sprintf("1.%d", c.Line(linked))
	}
	newest := fmt.Sprintf("1.%d", linked[len(linked)-1])
	base, tags := filepath.Join(o.upstream, "versions", line+".mod"), " -tags=upstream_"+line[:1]+"_"+line[min(2, len(line)):]
	if line == newest {
		base, tags = filepath.Join(o.upstream, "go.mod"), ""
	}
	if _, err := os.Stat(base); err != nil {
		return fmt.Errorf("UPSTREAM=%s: the versions are 1.35, 1.36 and 1.37 (%w)", line, err)
	}
	file, err := filepath.Abs(o.out)
	if err != nil {
		return err
	}
	if err := c.WriteModFile(ctx, base, file); err != nil {
		return err
	}
	_, err = fmt.Fprintf(out, "-modfile=%s -mod=mod%s\n", file, tags)
	return err
}
