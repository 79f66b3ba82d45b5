// Command record runs the track record: it builds chainwalk with all faults of scenarios/search/trackrecord in it, and has `chainwalk fuzz`
// look for each, without telling it what is wrong.
//
//	record [-seeds N] [-cases N] [-jobs N] [-only NAME,...] [-kept] [-write]
//	record -replay [-jobs N] [-only NAME,...]
//	record -refresh
//
// With -write a small scenario that shows a fault is kept in scenarios/testdata/regress, if it fails with the fault and holds without, and
// docs/track-record.md is written; with -only the lines of these faults, and the others stay. Without it the command says what was found,
// and replays the kept files on both proxiers; with -kept that is all it looks for. It ends with status 1 if a fault was not found, if the
// sound proxier fails a case, or if a kept file does not fail with its fault, or fails without.
//
// With -replay it looks for nothing either, and only replays the kept files with their faults and without.
//
// With -refresh it looks for nothing: it writes the patches of the faults anew, with the lines around them as the source has them now, and
// names those that were others.
package main

import (
	"context"
	"errors"
	"flag"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"github.com/chainwalk/chainwalk/internal/command"
	"github.com/chainwalk/chainwalk/internal/overlay"
	"github.com/chainwalk/chainwalk/scenarios/search/trackrecord"
)

func main() {
	var o options
	c := command.Command{Name: "record", Flags: o.define, Valid: o.valid}
	c.Look = func(ctx context.Context, _ []string, out io.Writer) (bool, error) { return record(ctx, o, out) }
	c.Main()
}

// options are the flags.
type options struct {
	seeds, cases, jobs int
	only               string
	write, kept        bool
	replay, refresh    bool
}

func (o *options) define(flags *flag.FlagSet) {
	flags.IntVar(&o.seeds, "seeds", 1, "with how many seeds each fault is looked for")
	flags.IntVar(&o.cases, "cases", 2000, "how many cases may be judged until a fault is found")
	flags.IntVar(&o.jobs, "jobs", runtime.NumCPU(), "how many faults are looked for at once")
	flags.StringVar(&o.only, "only", "", "these faults only: their names with commas between them")
	flags.BoolVar(&o.kept, "kept", false, "look only for the faults of which a file is kept")
	flags.BoolVar(&o.replay, "replay", false, "look for no fault: replay the kept files with their faults and without")
	flags.BoolVar(&o.refresh, "refresh", false, "write the patches of the faults anew where lines have moved, and no more")
	flags.BoolVar(&o.write, "write", false, "keep what was found, and write docs/track-record.md")
}

func (o *options) valid(args []string) bool {
	return len(args) == 0 && o.seeds > 0 && o.cases > 0 && o.jobs > 0 && !(o.write && (o.kept || o.replay))
}

// record does everything, and says whether every fault was found.
func record(ctx context.Context, o options, out io.Writer) (held bool, err error) {
	root, err := overlay.Root()
	if err != nil {
		return false, err
	}
	if o.refresh {
		return true, refresh(ctx, root, out)
	}
	dir, err := os.MkdirTemp("", "trackrecord")
	if err != nil {
		return false, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	b, err := build(ctx, root, dir)
	if err != nil {
		return false, err
	}
	faults := slices.DeleteFunc(trackrecord.Faults(), func(f trackrecord.Fault) bool {
		return o.only != "" && !slices.Contains(strings.Split(o.only, ","), f.Name) || (o.kept || o.replay) && !isKept(root, &f)
	})
	hunts := b.huntAll(ctx, o, faults, out)
	if ctx.Err() != nil {
		return false, ctx.Err()
	}
	held = o.only != "" || o.replay || b.sound(ctx, o, out)
	for i := range hunts {
		held = held && hunts[i].good()
	}
	writeSummary(out, hunts, !o.replay)
	if o.write {
		err = writePage(filepath.Join(root, "docs", "track-record.md"), hunts, o.seeds)
	}
	return held, err
}
