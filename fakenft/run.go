package fakenft

import (
	"bytes"
	"fmt"
	"io"
	"strings"

	"github.com/chainwalk/chainwalk/fakenft/check"
	"github.com/chainwalk/chainwalk/fakenft/jsontext"
	"github.com/chainwalk/chainwalk/fakenft/parse"
	"github.com/chainwalk/chainwalk/fakenft/syntax"
	"github.com/chainwalk/chainwalk/internal/libc"
)

// run is one run of nft.
type run struct {
	*invocation
	tools  *Tools
	stdin  io.Reader
	out    bytes.Buffer
	errors bytes.Buffer

	names *libc.Names
	// What there was when the commands began, and what nft asks for of it.
	view view
	need need
}

// main does what the command line asks for and returns the exit status.
func (r *run) main() int {
	if lacks := r.unsupported(); lacks != "" {
		fmt.Fprintf(&r.errors, "nft: chainwalk does not support %s\n", lacks)
		return 1
	}
	switch {
	case len(r.defines) > 0 && !r.fileGiven:
		r.errors.WriteString("Error: -D/--define can only be used with -f/--filename\n")
		return 1
	case len(r.words) > 0:
		return r.input(&syntax.Input{Text: strings.Join(r.words, " ") + "\n"})
	case r.fileGiven:
		return r.fromFile()
	case r.interactive:
		return r.shell()
	}
	fmt.Fprintf(&r.errors, "%s: no command specified\n", r.name)
	return 1
}

// unsupported names an option that is not imitated.
func (r *run) unsupported() string {
	switch {
	case len(r.debug) > 0:
		return "-d/--debug"
	case r.optimize && r.fileGiven && len(r.words) == 0:
		return "-o/--optimize"
	case r.echo && r.json:
		return "-e/--echo with -j/--json"
	case r.reverseDNS:
		return "-N/--reversedns"
	}
	return ""
}

// stdinName is what nft calls standard input.
const stdinName = "/dev/stdin"

// fromFile runs the commands of a file.
func (r *run) fromFile() int {
	in := &syntax.Input{Name: r.file}
	if r.file == "-" || r.file == stdinName {
		in.Name = stdinName
		var err error
		if in.Text, err = readText(r.stdin); err != nil {
			fmt.Fprintf(&r.errors, "nft: reading standard input: %v\n", err)
			return 1
		}
		return r.input(in)
	}
	if r.tools.files().isFolder(r.file) {
		r.errors.WriteString("input in flex scanner failed\n")
		return 2
	}
	text, err := r.tools.files().Read(r.file)
	if err != nil {
		r.mistake(syntax.Wrong("Could not open file \""+r.file+"\": "+libc.FileErrorText(err), nowhere()))
		return 1
	}
	in.Text = string(text)
	return r.input(in)
}

// readText is all that there is to read, which is in memory already where its length is known.
func readText(from io.Reader) (string, error) {
	var text strings.Builder
	if known, is := from.(interface{ Len() int }); is {
		text.Grow(known.Len())
	}
	_, err := io.Copy(&text, from)
	return text.String(), err
}

// nowhere is the place of what nobody wrote.
func nowhere() syntax.Loc { return syntax.Loc{In: &syntax.Input{Name: "internal"}} }

// shell runs the lines of standard input one by one, as nft -i does where no terminal is.
func (r *run) shell() int {
	text, err := io.ReadAll(r.stdin)
	if err != nil {
		fmt.Fprintf(&r.errors, "nft: reading standard input: %v\n", err)
		return 1
	}
	for line := range strings.Lines(string(text)) {
		line = strings.TrimSuffix(line, "\n")
		if line == "quit" {
			break
		}
		if strings.TrimSpace(line) != "" {
			r.input(&syntax.Input{Text: line + "\n"})
		}
	}
	return 0
}

func (r *run) mistake(m *syntax.Mistake) { r.errors.WriteString(syntax.Render(m)) }

// input carries the commands of a text out: all of them, or none if one is refused. It returns the exit status.
func (r *run) input(in *syntax.Input) int {
	commands, mistakes := r.read(in)
	r.tools.namespace.Lock()
	defer r.tools.namespace.Unlock()
	r.view = r.tools.view()
	r.need = needOf(commands, r.echo)
	checker := check.New(&world{run: r, need: r.need})
	checker.Before = syntax.Counted(mistakes)
	mistakes = append(mistakes, checker.Commands(commands)...)
	for _, m := range mistakes {
		r.mistake(m)
	}
	if isWrong(mistakes) {
		return 1
	}
	return r.carryOut(commands)
}

// isWrong says whether one of the mistakes is more than a warning.
func isWrong(mistakes []*syntax.Mistake) bool {
	for _, m := range mistakes {
		if !m.Warning {
			return true
		}
	}
	return false
}

// read parses a text, as JSON if that was asked for and it is JSON.
func (r *run) read(in *syntax.Input) ([]*syntax.Command, []*syntax.Mistake) {
	if r.json {
		if commands, mistakes, isJSON := jsontext.Commands(in); isJSON {
			return commands, mistakes
		}
		if in.Name == stdinName {
			// The reader of JSON has read standard input to its end.
			in.Text = ""
		}
	}
	return parse.Text(in, parse.Options{
		Files: r.tools.files(), IncludePaths: append([]string{"/etc"}, r.includes...), Defines: r.defines,
	})
}

// carryOut answers the commands that only read at once, in their order, and then gives the kernel what the others change.
func (r *run) carryOut(commands []*syntax.Command) int {
	asked := newAsked(commands)
	for _, c := range commands {
		if reads(c.Op) {
			if !r.answer(c) {
				return 1
			}
			continue
		}
		if c.Op == syntax.OpRename {
			r.identify(&c.Handle)
		}
		if err := asked.add(c); err != nil {
			r.mistake(syntax.Wrong(err.Error(), c.Loc))
			return 1
		}
	}
	return r.transact(commands, asked)
}

// transact gives the kernel what commands change.
func (r *run) transact(commands []*syntax.Command, asked *asked) int {
	changes := asked.changes
	if len(changes) == 0 {
		return 0
	}
	if lacks := r.unechoed(changes); lacks != "" {
		fmt.Fprintf(&r.errors, "nft: chainwalk does not support %s\n", lacks)
		return 1
	}
	made := r.noting(changes)
	commit := r.tools.kernel.Commit
	if r.check {
		commit = r.tools.kernel.Check
	}
	refusals := commit(changes)
	for _, refusal := range refusals {
		r.refused(commands, changes[refusal.Change], &refusal, asked.place(&refusal))
	}
	if len(refusals) > 0 {
		return 1
	}
	r.echoed(changes, made)
	return 0
}

// reads says whether commands of that kind are answered without a transaction.
func reads(op syntax.Op) bool {
	switch op {
	case syntax.OpList, syntax.OpGet, syntax.OpReset, syntax.OpDescribe, syntax.OpMonitor, syntax.OpImport, syntax.OpExport:
		return true
	}
	return false
}

// identify gives the handle of a chain that is renamed its number.
func (r *run) identify(h *syntax.Handle) {
	if t := r.tableOf(h); t != nil {
		if c := t.Chain(h.Chain); c != nil {
			h.Number = c.Handle
		}
	}
}
