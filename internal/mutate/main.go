package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"time"

	"github.com/chainwalk/chainwalk/internal/command"
	"github.com/chainwalk/chainwalk/internal/overlay"
)

func main() {
	var o options
	c := command.Command{Name: "mutate", Flags: o.define, Valid: o.valid,
		Look: func(ctx context.Context, _ []string, out io.Writer) (bool, error) {
			return mutate(ctx, o, out)
		}}
	c.Main()
}

// options are the flags.
type options struct {
	jobs      int
	only      string
	every     int
	list      bool
	reach     bool
	with      string
	seed      int
	cases     int
	mode      string
	journal   string
	again     bool
	survivors string
	slowest   time.Duration
	by        string
	prove     int
}

// Who is to notice.
const (
	withTests = "tests"
	withFuzz  = "fuzz"
)

func (o *options) define(flags *flag.FlagSet) {
	flags.IntVar(&o.jobs, "jobs", runtime.NumCPU(), "how many mutants are tried at once")
	flags.StringVar(&o.only, "only", "", "try the mutants whose names hold this text")
	flags.IntVar(&o.every, "every", 1, "try one mutant of so many")
	flags.BoolVar(&o.list, "list", false, "print the names of the mutants and end")
	flags.BoolVar(&o.reach, "reach", false, "print the names of the mutants that nobody comes by, and end")
	flags.StringVar(&o.with, "with", withTests, "who is to notice: tests, or fuzz")
	flags.IntVar(&o.seed, "seed", 1, "with fuzz: chooses the cases")
	flags.IntVar(&o.cases, "cases", 1000, "with fuzz: about how many cases a mutant meets")
	flags.StringVar(&o.mode, "mode", "iptables", "with fuzz: the mode of kube-proxy in the cases: iptables, nftables, or both")
	flags.StringVar(&o.journal, "journal", "", "a file that keeps what came of mutants: those in it are not tried again")
	flags.BoolVar(&o.again, "again", false, "try the survivors in the journal again")
	flags.StringVar(&o.survivors, "survivors", "proxier/testdata/survivors.yaml", "the list of mutants that nobody needs to notice")
	flags.StringVar(&o.by, "by", "", "with tests: those of the packages whose folders begin so")
	flags.IntVar(&o.prove, "prove", 0, "with fuzz: of a mutant that nobody notices, compare all packets with and without it in so many shards")
	flags.DurationVar(&o.slowest, "slowest", time.Minute, "leave out programs that take more time of processors without a mutant")
}

func (o *options) valid(args []string) bool {
	return len(args) == 0 && o.jobs > 0 && o.every > 0 && o.cases > 0 && o.prove >= 0 &&
		(o.with == withTests && o.prove == 0 || o.with == withFuzz)
}

// mutate does everything, and says whether every survivor is argued.
func mutate(ctx context.Context, o options, out io.Writer) (held bool, err error) {
	root, err := overlay.Root()
	if err != nil {
		return false, err
	}
	dir, err := os.MkdirTemp("", "mutate")
	if err != nil {
		return false, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	s, err := grow(ctx, root, dir)
	if err != nil {
		return false, err
	}
	fmt.Fprintf(out, "%d mutants, and %d that do not compile\n", len(s.mutants), s.dropped)
	if o.list {
		for _, m := range s.mutants {
			fmt.Fprintln(out, m.name)
		}
		return true, nil
	}
	list, err := readArgued(filepath.Join(root, o.survivors))
	if err != nil {
		return false, err
	}
	programs, err := prepare(ctx, o, root, dir, out)
	if err != nil {
		return false, err
	}
	if o.reach {
		s.writeUnreached(out, programs, list, o)
		return true, nil
	}
	journal, err := openJournal(o.journal, o.again)
	if err != nil {
		return false, err
	}
	results, err := meet(ctx, s, programs, journal, list, o, out)
	if err := errors.Join(err, journal.close()); err != nil {
		return false, err
	}
	return report(out, s, results, list, o), nil
}

// prepare builds the programs and runs them without a mutant.
func prepare(ctx context.Context, o options, root, dir string, out io.Writer) ([]*program, error) {
	overlayFile := filepath.Join(dir, "overlay.json")
	var built, programs []*program
	var err error
	if o.with == withFuzz {
		built, err = buildFuzz(ctx, root, dir, overlayFile, o)
	} else {
		built, err = buildTests(ctx, root, dir, overlayFile, o.by)
	}
	if err != nil {
		return nil, err
	}
	for _, p := range built {
		if p.folder != "" {
			if err := p.listTests(ctx); err != nil {
				return nil, err
			}
		}
		slow, err := p.measure(ctx, o.slowest)
		if err != nil {
			return nil, err
		}
		for _, name := range slow {
			fmt.Fprintf(out, "%s %s is left out: it %v\n", p.name, name, errTime)
		}
		fmt.Fprintln(out, p)
		programs = append(programs, p.split()...)
	}
	return programs, nil
}
