package fakeipt

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/chainwalk/chainwalk/fakeipt/ruleset"
	"github.com/chainwalk/chainwalk/fakeipt/xtables"
	"github.com/chainwalk/chainwalk/internal/libc"
	"github.com/chainwalk/chainwalk/netfilter"
)

// restore is iptables-restore or ip6tables-restore.
func (run *toolRun) restore() int {
	r := newRestorer(run.family, caller{run, run.kernel}, run.name, run.stdout)
	defer r.close()
	flags, status, ok := run.restoreFlags(r)
	if !ok {
		return status
	}
	in, done, err := run.fileOrStdin(flags.files)
	if err != nil {
		fmt.Fprintf(run.stderr, "Can't open %s: %s\n", flags.files[0], libc.FileErrorText(err))
		return xtables.StatusOther
	}
	defer done()
	if flags.interval && !flags.wait && run.kernel.dialect == netfilter.Legacy {
		fmt.Fprintln(run.stderr, "Option --wait-interval requires option --wait")
		return xtables.StatusOther
	}
	input, err := readAll(in)
	if err != nil {
		fmt.Fprintf(run.stderr, "%s: %v\n", run.name, err)
		return xtables.StatusOther
	}
	if hasTable(input) {
		if status, ok := run.enter(Visit{Locks: true, Wait: flags.waitSeconds}); !ok {
			return status
		}
	}
	run.kernel.namespace.Lock()
	defer run.kernel.namespace.Unlock()
	return run.reportInputError(r.run(input))
}

// hasTable says that the input has a line "*TABLE", without which the tool does not come to the kernel.
func hasTable(input []byte) bool {
	return bytes.HasPrefix(input, []byte("*")) || bytes.Contains(input, []byte("\n*"))
}

// readAll reads everything; a reader that knows its length is read into one piece.
func readAll(in io.Reader) ([]byte, error) {
	sized, ok := in.(interface{ Len() int })
	if !ok {
		return io.ReadAll(in)
	}
	buf := make([]byte, sized.Len())
	n, err := io.ReadFull(in, buf)
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		err = nil
	}
	return buf[:n], err
}

// reportInputError prints an error of the input and returns the exit status.
func (run *toolRun) reportInputError(err error) int {
	var placed *restoreError
	if !errors.As(err, &placed) {
		return 0
	}
	var end *farewell
	if errors.As(err, &end) {
		return run.farewell(end)
	}
	if usage, ok := xtables.AsProblem(err); ok {
		return run.report(usage, placed.line)
	}
	var commit *ruleset.CommitError
	if errors.As(err, &commit) && commit.Failures != nil {
		return run.reportBatch(commit.Failures, true)
	}
	var refused *ruleset.Refusal
	switch {
	case errors.Is(err, errCommitExpected):
		fmt.Fprintf(run.stderr, "%s: COMMIT expected at line %d\n", run.name, placed.line)
	case errors.As(err, &refused) && run.kernel.dialect == netfilter.NFT:
		fmt.Fprintf(run.stderr, "%s: line %d failed: %s.\n", run.name, placed.line, refused.Msg)
	default:
		fmt.Fprintf(run.stderr, "%s: line %d failed\n", run.name, placed.line)
	}
	return xtables.StatusOther
}

// restoreFlags is what the command line of a restore says besides the restorer's own settings.
type restoreFlags struct {
	wait, interval bool
	waitSeconds    int
	files          []string
}

// restoreLongs are the long options of a restore. The nft tools have the two at the end too, but do not know what to do with them.
var restoreLongs = []libc.LongOption{
	{Name: "counters", Letter: 'c'}, {Name: "verbose", Letter: 'v'}, {Name: "version", Letter: 'V'}, {Name: "test", Letter: 't'},
	{Name: "help", Letter: 'h'}, {Name: "noflush", Letter: 'n'}, {Name: "modprobe", Letter: 'M', Arg: libc.ArgRequired},
	{Name: "table", Letter: 'T', Arg: libc.ArgRequired}, {Name: "wait", Letter: 'w', Arg: libc.ArgOptional},
	{Name: "wait-interval", Letter: 'W', Arg: libc.ArgOptional}, {Name: "ipv4", Letter: '4'}, {Name: "ipv6", Letter: '6'},
}

// restoreFlags reads the command line. ok is false if the tool ends here.
func (run *toolRun) restoreFlags(r *restorer) (f restoreFlags, status int, ok bool) {
	longs := restoreLongs
	if run.kernel.dialect == netfilter.Legacy {
		longs = longs[:len(longs)-2]
	}
	g := libc.Getopt{Program: run.argv0, Stderr: run.stderr, Shorts: "bcvVthnwWT:M:", Longs: longs, Args: run.args}
	for {
		letter, arg, given := g.Next()
		if letter == libc.GetoptEnd {
			break
		}
		if letter == 'w' || letter == 'W' {
			arg, given = optionalArg(&g, arg, given)
		}
		if status, ok := run.restoreFlag(r, &f, letter, arg, given); !ok {
			return f, status, false
		}
	}
	f.files = g.Rest
	if len(f.files) > 1 {
		fmt.Fprintln(run.stderr, "Unknown arguments found on commandline")
		return f, xtables.StatusOther, false
	}
	return f, 0, true
}

// optionalArg is the argument of an option that takes the next word too, unless that looks like an option.
func optionalArg(g *libc.Getopt, arg string, given bool) (string, bool) {
	if given || g.InWord() || len(g.Args) == 0 || strings.HasPrefix(g.Args[0], "-") || strings.HasPrefix(g.Args[0], "!") {
		return arg, given
	}
	arg, g.Args = g.Args[0], g.Args[1:]
	return arg, true
}

// restoreFlag acts on one flag. ok is false if the tool ends here.
func (run *toolRun) restoreFlag(r *restorer, f *restoreFlags, letter byte, arg string, given bool) (status int, ok bool) {
	switch letter {
	case 'b':
		fmt.Fprintln(run.stderr, "-b/--binary option is not implemented")
	case 'c':
		r.counters = true
	case 'v':
		r.verbose = true
	case 't':
		r.test = true
	case 'n':
		r.noflush = true
	case 'T':
		r.only = &arg
	case 'M':
	case 'w', 'W':
		return run.restoreWait(f, letter, arg, given)
	case 'V':
		return run.printVersion(), false
	case 'h':
		fmt.Fprint(run.stderr, restoreHelp(run.name))
		return 0, false
	default:
		fmt.Fprintf(run.stderr, "Try `%s -h' for more information.\n", run.name)
		return xtables.StatusOther, false
	}
	return 0, true
}

// restoreWait acts on -w and -W, which the nft tools do not look at.
func (run *toolRun) restoreWait(f *restoreFlags, letter byte, arg string, given bool) (status int, ok bool) {
	if run.kernel.dialect == netfilter.NFT {
		return 0, true
	}
	var err error
	number, numeric := libc.ScanInteger(arg)
	switch {
	case letter == 'W':
		f.interval = true
		err = caller{run, run.kernel}.readWaitInterval([]byte(arg), given)
	case given && !numeric:
		err = xtables.BadParameter("wait seconds not numeric")
	default:
		f.wait, f.waitSeconds = true, number
	}
	if usage, bad := xtables.AsProblem(err); bad {
		return run.report(usage, 0), false
	}
	return 0, true
}

// restoreHelp is what -h prints.
func restoreHelp(name string) string {
	return "Usage: " + name + ` [OPTION]... [FILE]
Reads rules as iptables-save prints them from FILE or the standard input.

  -c, --counters        set the counters that the input has
  -n, --noflush         keep the rules and chains that the input does not name
  -t, --test            check the input, change nothing
  -T, --table=TABLE     only this table of the input
  -v, --verbose         say what is done
  -w, --wait[=SECONDS]  wait for the lock of the tools
  -M, --modprobe=FILE   not used
  -V, --version
  -h, --help
`
}

// fileOrStdin opens the input of a restore.
func (run *toolRun) fileOrStdin(files []string) (io.Reader, func(), error) {
	if len(files) == 0 {
		return run.stdin, func() {}, nil
	}
	f, err := os.Open(files[0])
	if err != nil {
		return nil, nil, err
	}
	return f, func() { _ = f.Close() }, nil
}
