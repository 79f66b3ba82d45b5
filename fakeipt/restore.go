package fakeipt

import (
	"bytes"
	"errors"
	"io"

	"github.com/chainwalk/chainwalk/fakeipt/ruleset"
	"github.com/chainwalk/chainwalk/fakeipt/xtables"
	"github.com/chainwalk/chainwalk/netfilter"
)

// restorer reads restore input and makes tables of it.
type restorer struct {
	caller
	family   netfilter.Family
	parser   *commandParser
	tool     string // as messages name it
	noflush  bool
	counters bool
	dump     *dumpText // of Kernel.Load: the counters of a policy may be missing, and extensions need not be known
	test     bool
	verbose  bool
	only     *string // the table of -T; nil: all

	stdout io.Writer
	line   int
	table  string // the table of the last "*" line, even if it is left out
	x      *execution
	// late is the first error that the nft tools only notice when they commit.
	late   *restoreError
	expect int // number of chains that the input may name
}

// newRestorer returns a restorer that speaks as that tool.
func newRestorer(f netfilter.Family, c caller, tool string, stdout io.Writer) *restorer {
	r := &restorer{caller: c, family: f, tool: tool, stdout: stdout, parser: c.kernel.parser(f, c)}
	r.parser.restore = tool
	return r
}

// close gives up what the restorer has used.
func (r *restorer) close() { r.kernel.done(r.parser) }

// Errors of restore input as such.
var (
	errLineFailed     = errors.New("line failed")
	errCommitExpected = errors.New("COMMIT expected")
)

// maxLine is what the tool reads of a line at once; the rest counts as another line.
const maxLine = 10239

// run reads the whole input.
func (r *restorer) run(input []byte) error {
	r.expect = bytes.Count(input, []byte("\n:"))
	for len(input) > 0 {
		line := input
		if i := bytes.IndexByte(line[:min(len(line), maxLine)], '\n'); i >= 0 {
			line = line[:i+1]
		} else {
			line = line[:min(len(line), maxLine)]
		}
		input = input[len(line):]
		if i := bytes.IndexByte(line, 0); i >= 0 {
			// The tool's strings end at a NUL.
			line = line[:i]
		}
		r.line++
		if err := r.one(line); err != nil {
			return r.place(err)
		}
	}
	if r.x != nil {
		r.line++
		return r.place(errCommitExpected)
	}
	return nil
}

// one acts on one line.
func (r *restorer) one(line []byte) error {
	switch {
	case len(line) == 0 || line[0] == '\n':
		return nil
	case line[0] == '#':
		if r.verbose {
			_, err := r.stdout.Write(line)
			return err
		}
		return nil
	case r.x == nil && line[0] == '*':
		return r.begin(line)
	case r.x == nil:
		// The nft tools look at what comes before the first table.
		if r.only != nil && r.table != *r.only && (r.table != "" || r.kernel.dialect == netfilter.Legacy) {
			return nil
		}
		return errLineFailed
	case r.isCommit(line):
		return r.commit()
	case line[0] == ':':
		return r.declare(line)
	}
	return r.rule(line)
}

func (r *restorer) isCommit(line []byte) bool {
	return string(line) == "COMMIT\n" || r.kernel.dialect == netfilter.NFT && string(line) == "COMMIT"
}

// begin acts on "*TABLE".
func (r *restorer) begin(line []byte) error {
	name := xtables.FirstWord(line[1:])
	if name == nil {
		return xtables.BadParameter("%s: line %d table name invalid", r.tool, r.line)
	}
	r.table = string(name)
	kind := ruleset.FindKind(r.table)
	switch {
	case kind == nil && r.kernel.dialect == netfilter.NFT:
		return xtables.BadParameter("%s: line %d table name '%s' invalid", r.tool, r.line, name)
	case r.only != nil && *r.only != r.table:
		return nil
	case kind == nil:
		return xtables.BadParameter("%s: unable to initialize table '%s'", r.tool, name)
	}
	var native *nativeTable
	if r.caller.run != nil {
		native = r.kernel.nativeNamed(r.family, kind)
	}
	if err := native.known(); err != nil && r.noflush {
		return err
	}
	r.kernel.ensure(r.family, kind)
	head := r.table
	if r.tellAll() {
		head = "-v" // the tool puts it behind the table's name
	}
	r.parser.inTable(r.table, head)
	r.late = nil
	edit := r.kernel.edit(r.family, kind, native, r.expect)
	edit.Context.Elsewhere = r.caller.run == nil
	r.parser.chains = func(name []byte) string { return edit.SlotOfWord(name).Name }
	r.x = &execution{caller: r.caller, edit: edit, native: native}
	if r.noflush {
		return nil
	}
	all := &command{}
	if r.verbose {
		all.verbose = 1
		if r.kernel.dialect == netfilter.NFT {
			// With -v these tools do not take the table away but empty it.
			err := errors.Join(r.x.flush(all), r.x.deleteChains(all))
			edit.ForgetBuiltins()
			return err
		}
		r.x.announceFlush(all)
	}
	edit.FlushAll()
	return r.flushOutput()
}

// tellAll says that every command is one with -v.
func (r *restorer) tellAll() bool { return r.verbose && !r.noflush }

// flushOutput writes what commands print.
func (r *restorer) flushOutput() error { return r.x.print(r.stdout) }

// commit ends a table.
func (r *restorer) commit() error {
	x := r.x
	if r.kernel.dialect == netfilter.Legacy || !r.test {
		if err := r.flushOutput(); err != nil {
			return err
		}
	}
	r.x = nil
	if r.late != nil && !r.test {
		return r.tellLate()
	}
	if r.test || !x.edit.AsksKernel() {
		return nil
	}
	return r.kernel.commit(r.family, x.edit, x.native)
}
