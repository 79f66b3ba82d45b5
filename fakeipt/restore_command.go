package fakeipt

import (
	"errors"
	"fmt"
	"io"
	"strings"
)

// runRestore is iptables-restore or ip6tables-restore.
func (p *program) runRestore() int {
	r := &restorer{kernel: p.kernel, family: p.family, tool: p.name, stdout: p.stdout}
	flags, status, ok := p.restoreFlags(r)
	if !ok {
		return status
	}
	if flags.version {
		return p.printVersion()
	}
	in, done, err := p.fileOrStdin(flags.file)
	if err != nil {
		fmt.Fprintf(p.stderr, "Can't open %s: No such file or directory\n", flags.file)
		return statusOther
	}
	defer done()
	input, err := readAll(in)
	if err != nil {
		fmt.Fprintf(p.stderr, "%s: %v\n", p.name, err)
		return statusOther
	}
	r.parser = newArgumentParser(p.family, p.kernel.dialect)
	r.parser.restore = p.name
	p.kernel.lock.Lock()
	defer p.kernel.lock.Unlock()
	return p.restoreError(r.run(input))
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

// restoreError prints an error of the input and returns the exit status.
func (p *program) restoreError(err error) int {
	var placed *restoreError
	if !errors.As(err, &placed) {
		return 0
	}
	if usage, ok := asProblem(err); ok {
		return p.report(usage, placed.line)
	}
	var commit *commitError
	if errors.As(err, &commit) && commit.failures != nil {
		return p.reportBatch(commit.failures, true)
	}
	var refused *refusal
	switch {
	case errors.Is(err, errCommitExpected):
		fmt.Fprintf(p.stderr, "%s: COMMIT expected at line %d\n", p.name, placed.line)
	case errors.As(err, &refused) && p.kernel.dialect == NFT:
		fmt.Fprintf(p.stderr, "%s: line %d failed: %s.\n", p.name, placed.line, refused.msg)
	default:
		fmt.Fprintf(p.stderr, "%s: line %d failed\n", p.name, placed.line)
	}
	return statusOther
}

// restoreFlags is what the command line of a restore says besides the restorer's own settings.
type restoreFlags struct {
	version, wait, interval bool
	file                    string
}

// longRestoreFlags are the long options of a restore.
var longRestoreFlags = map[string]byte{"counters": 'c', "verbose": 'v', "version": 'V', "test": 't', "help": 'h',
	"noflush": 'n', "modprobe": 'M', "table": 'T', "wait": 'w', "wait-interval": 'W', "ipv4": '4', "ipv6": '6'}

// restoreFlags reads the command line. ok is false if the tool ends here.
func (p *program) restoreFlags(r *restorer) (f restoreFlags, status int, ok bool) {
	args := p.args
	for len(args) > 0 {
		arg := args[0]
		args = args[1:]
		if len(arg) < 2 || arg[0] != '-' {
			if f.file != "" {
				fmt.Fprintln(p.stderr, "Unknown arguments found on commandline")
				return f, statusOther, false
			}
			f.file = arg
			continue
		}
		letters, value, given, found := cutFlag(arg)
		if !found {
			fmt.Fprintf(p.stderr, "%s: unrecognized option '%s'\nTry `%s -h' for more information.\n", p.argv0, arg, p.name)
			return f, statusOther, false
		}
		for i := range letters {
			if status, ok := p.restoreFlag(r, &f, letters[i], value, given, &args); !ok {
				return f, status, false
			}
		}
	}
	if f.interval && !f.wait && p.kernel.dialect == Legacy {
		fmt.Fprintln(p.stderr, "Option --wait-interval requires option --wait")
		return f, statusOther, false
	}
	return f, 0, true
}

// cutFlag parts "--NAME=VALUE", or "-ABC" into its letters.
func cutFlag(arg string) (letters, value string, given, found bool) {
	if !strings.HasPrefix(arg, "--") {
		return arg[1:], "", false, true
	}
	name, value, given := strings.Cut(arg[2:], "=")
	letter, found := longRestoreFlags[name]
	return string(letter), value, given, found
}

// restoreFlag acts on one flag.
func (p *program) restoreFlag(r *restorer, f *restoreFlags, letter byte, value string, given bool, args *[]string) (status int, ok bool) {
	optional := func() {
		if !given && len(*args) > 0 && !strings.HasPrefix((*args)[0], "-") {
			value, given, *args = (*args)[0], true, (*args)[1:]
		}
	}
	switch letter {
	case 'b', '4', '6':
	case 'c':
		r.counters = true
	case 'v':
		r.verbose = true
	case 'V':
		f.version = true
	case 't':
		r.test = true
	case 'n':
		r.noflush = true
	case 'w':
		f.wait = true
		optional()
		if _, number := parseNumber([]byte(value)); given && !number && p.kernel.dialect == Legacy {
			return p.report(&problem{status: statusParameter, msg: "wait seconds not numeric"}, 0), false
		}
	case 'W':
		f.interval = true
		optional()
		if p.kernel.dialect == Legacy {
			fmt.Fprintln(p.stderr, "Ignoring deprecated --wait-interval option.")
		}
	case 'T', 'M':
		if !given {
			if len(*args) == 0 {
				fmt.Fprintf(p.stderr, "%s: option requires an argument -- '%c'\nTry `%s -h' for more information.\n", p.argv0, letter, p.name)
				return statusOther, false
			}
			value, *args = (*args)[0], (*args)[1:]
		}
		if letter == 'T' {
			r.only = value
		}
	case 'h':
		return p.report(&problem{status: statusOther, msg: "not supported: -h"}, -1), false
	default:
		fmt.Fprintf(p.stderr, "%s: invalid option -- '%c'\nTry `%s -h' for more information.\n", p.argv0, letter, p.name)
		return statusOther, false
	}
	return 0, true
}
