package fakeipt

import (
	"bytes"
	"errors"
	"fmt"
	"io"

	"github.com/chainwalk/chainwalk/fakeipt/internal/libc"
)

// restorer reads restore input and makes tables of it.
type restorer struct {
	kernel   *Kernel
	family   Family
	parser   *commandParser
	tool     string // as messages name it
	noflush  bool
	counters bool
	lenient  bool // the counters of a policy may be missing
	test     bool
	verbose  bool
	only     string // the table of -T, "" for all

	stdout io.Writer
	warn   func(suffix string)
	line   int
	table  string // the table of the last "*" line, even if it is left out
	x      *execution
	// late is the first error that the nft tools only notice when they commit.
	late   *restoreError
	expect int // number of chains that the input may name
}

// restoreError is an error with its place in the input.
type restoreError struct {
	line, column int
	token        string
	err          error
	origin       *restoreError // the place that the tool does not tell of
}

func (r *restoreError) Error() string { return fmt.Sprintf("line %d: %v", r.line, r.err) }

func (r *restoreError) Unwrap() error { return r.err }

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

// place adds the place of the word that was read last.
func (r *restorer) place(err error) error {
	var placed *restoreError
	if errors.As(err, &placed) {
		return err
	}
	column, token := 0, ""
	if _, ok := asProblem(err); ok {
		column, token = r.parser.args.place()
	}
	return &restoreError{line: r.line, column: column, token: token, err: err}
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
		if r.only != "" && r.table != r.only && (r.table != "" || r.kernel.dialect == Legacy) {
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
	return string(line) == "COMMIT\n" || r.kernel.dialect == NFT && string(line) == "COMMIT"
}

// begin acts on "*TABLE".
func (r *restorer) begin(line []byte) error {
	name := firstWord(line[1:])
	if name == nil {
		return badParameter("%s: line %d table name invalid", r.tool, r.line)
	}
	r.table = string(name)
	kind := findTableKind(r.table)
	switch {
	case kind == nil && r.kernel.dialect == NFT:
		return badParameter("%s: line %d table name '%s' invalid", r.tool, r.line, name)
	case r.only != "" && r.only != r.table:
		return nil
	case kind == nil:
		return badParameter("%s: unable to initialize table '%s'", r.tool, name)
	}
	r.kernel.load(r.family, kind)
	r.parser.inTable(r.table, r.table)
	r.late = nil
	edit := newEdit(r.kernel.Ruleset(r.family), kind, r.kernel.objects, r.kernel.sets, r.expect)
	r.parser.chains = func(name []byte) string { return edit.find(name).name }
	r.x = &execution{edit: edit, warn: r.warn}
	if r.noflush {
		return nil
	}
	switch {
	case !r.verbose:
		edit.flushAll()
		return nil
	case r.kernel.dialect == NFT:
		// With -v these tools do not take the table away but empty it.
		all := &command{verbose: 1}
		return errors.Join(r.x.flush(all), r.x.deleteChains(all))
	}
	r.announceFlush(edit)
	edit.flushAll()
	return r.flushOutput()
}

// announceFlush prints what -v prints about the chains that are taken away.
func (r *restorer) announceFlush(e *tableEdit) {
	for _, s := range e.allChains() {
		r.x.out = fmt.Appendf(r.x.out, "Flushing chain `%s'\n", s.name)
	}
	for _, name := range e.userChains() {
		r.x.out = fmt.Appendf(r.x.out, "Deleting chain `%s'\n", name)
	}
	e.slots, e.slotSlab, e.recent = map[string]*chainSlot{}, nil, [2]*chainSlot{}
}

// tellAll says that every command is one with -v.
func (r *restorer) tellAll() bool { return r.verbose && !r.noflush }

// firstWord is the first word of a line that has no quotes, nil if there is none.
func firstWord(line []byte) []byte {
	word, _ := cutWord(line)
	return word
}

// cutWord is the first word and what is behind it.
func cutWord(line []byte) (word, rest []byte) {
	line = bytes.TrimLeft(line, " \t\n")
	if len(line) == 0 {
		return nil, nil
	}
	i := bytes.IndexAny(line, " \t\n")
	if i < 0 {
		return line, nil
	}
	return line[:i], line[i:]
}

// declare acts on ":CHAIN POLICY [PACKETS:BYTES]".
func (r *restorer) declare(line []byte) error {
	name, rest := cutWord(line[1:])
	if name == nil {
		return badParameter("%s: line %d chain name invalid", r.tool, r.line)
	}
	policy, rest := cutWord(rest)
	s := r.x.edit.find(name)
	var err error
	if r.kernel.dialect == NFT {
		err = r.declareNFT(s, name, policy)
	} else {
		err = r.declareLegacy(s, name, policy)
	}
	if err != nil || policy == nil || string(policy) == "-" || s.hook == 0 && r.kernel.dialect == NFT {
		return err
	}
	counters := &Counters{}
	if r.counters && !(r.lenient && firstWord(rest) == nil) {
		if counters, err = parsePolicyCounters(rest); err != nil {
			return badParameter("invalid policy counters for chain '%s'", name)
		}
	}
	return r.setPolicy(s, string(policy), counters)
}

func (r *restorer) setPolicy(s *chainSlot, policy string, counters *Counters) error {
	if r.late != nil {
		return nil
	}
	err := r.x.edit.setPolicy(s.name, policy, counters)
	if err == nil {
		r.x.edit.counted |= s.hook
		return nil
	}
	if r.kernel.dialect == NFT {
		return r.delay(err)
	}
	var refused *refusal
	errors.As(err, &refused)
	return &problem{status: statusOther, msg: fmt.Sprintf("Can't set policy `%s' on `%s' line %d: %s", policy, s.name, r.line, refused.msg)}
}

func (r *restorer) declareLegacy(s *chainSlot, name, policy []byte) error {
	if len(name) > maxChainName {
		return badParameter("Invalid chain name `%s' (%d chars max)", name, maxChainName)
	}
	if s.hook == 0 {
		switch {
		case r.noflush && s.live:
			r.x.edit.flushChain(s)
		case r.x.edit.createChain(s.name) != nil:
			return badParameter("error creating chain '%s':File exists", name)
		}
	}
	if policy == nil {
		return badParameter("%s: line %d policy invalid", r.tool, r.line)
	}
	return nil
}

func (r *restorer) declareNFT(s *chainSlot, name, policy []byte) error {
	switch {
	case name[0] == '-' || name[0] == '!':
		return badParameter("chain name not allowed to start with `%c'", name[0])
	case len(name) > maxChainName:
		return badParameter("chain name `%s' too long (must be under %d chars)", name, maxChainName+1)
	case isVerdictName(s.name):
		return badParameter("chain name may not clash with target name")
	case policy == nil:
		return badParameter("%s: line %d policy invalid", r.tool, r.line)
	case r.late != nil:
		return nil
	}
	e := r.x.edit
	e.touch()
	switch {
	case s.hook != 0:
		e.changed = true
		e.made |= s.hook
	case s.live:
		e.flushChain(s)
		s.fresh = true
	default:
		return e.createChain(s.name)
	}
	return nil
}

// parsePolicyCounters reads "[PACKETS:BYTES]".
func parsePolicyCounters(text []byte) (*Counters, error) {
	word := firstWord(text)
	inner, ok := bytes.CutPrefix(word, []byte("["))
	if !ok {
		return nil, errLineFailed
	}
	first, second, ok := bytes.Cut(inner, []byte(":"))
	if !ok {
		return nil, errLineFailed
	}
	packets, ok := libc.Decimal(first)
	n, okBytes := libc.ScanUnsigned(second)
	if !ok || !okBytes {
		return nil, errLineFailed
	}
	c := &Counters{}
	c.set(packets, n)
	return c, nil
}

// rule acts on a line that is a command.
func (r *restorer) rule(line []byte) error {
	w := &r.parser.args
	w.reset()
	column := 1
	if line[0] == '[' {
		var err error
		if line, column, err = r.ruleCounters(line); err != nil {
			return err
		}
	}
	if err := w.add(line, column); err != nil {
		return err
	}
	cmd, err := r.parser.parse()
	if err != nil || r.late != nil {
		return err
	}
	if cmd.ignore {
		return r.ignored(cmd)
	}
	r.x.edit.line = r.line
	if r.tellAll() {
		cmd.verbose++
	}
	if err := r.x.run(cmd); err != nil {
		err = r.blame(err, cmd)
		if r.kernel.dialect == Legacy {
			err = errors.Join(err, r.flushOutput())
		}
		if _, usage := asProblem(err); usage || r.kernel.dialect == Legacy {
			return err
		}
		return r.delay(err)
	}
	if r.kernel.dialect == NFT {
		// These tools run the commands when they commit.
		return nil
	}
	return r.flushOutput()
}

// ignored is a rule for the other family. The legacy tools look for its target all the same.
func (r *restorer) ignored(cmd *command) error {
	if r.kernel.dialect == NFT || targetExtensions[string(cmd.spec.jump)] != nil {
		return nil
	}
	_, err := r.x.target(&ruleSpec{jump: cmd.spec.jump, target: cmd.spec.target})
	if _, usage := asProblem(err); usage {
		return err
	}
	return nil
}

// delay keeps an error until the commit, as the nft tools do.
func (r *restorer) delay(err error) error {
	r.late = &restoreError{line: r.line, err: err}
	var placed *restoreError
	if errors.As(err, &placed) {
		r.late = placed
	}
	return nil
}

// flushOutput writes what commands print.
func (r *restorer) flushOutput() error {
	if len(r.x.out) == 0 {
		return nil
	}
	_, err := r.stdout.Write(r.x.out)
	r.x.out = r.x.out[:0]
	return err
}

// ruleCounters takes the leading "[PACKETS:BYTES]" off a line; with -c it becomes an option.
func (r *restorer) ruleCounters(line []byte) (rest []byte, column int, err error) {
	end := bytes.IndexByte(line, ']')
	if end < 0 {
		return nil, 0, badParameter("Bad line %d: need ]", r.line)
	}
	packets, count, ok := bytes.Cut(bytes.TrimLeft(line[1:end], ":"), []byte(":"))
	if !ok || len(count) == 0 {
		return nil, 0, badParameter("Bad line %d: need ]", r.line)
	}
	if r.counters {
		w := &r.parser.args
		w.words = append(w.words, setCountersOption, packets, count)
		w.columns = append(w.columns, 1, 2, 3+len(packets))
	}
	return line[end+1:], end + 2, nil
}

var setCountersOption = []byte("-c")

// commit ends a table.
func (r *restorer) commit() error {
	x := r.x
	if r.kernel.dialect == Legacy || !r.test {
		if err := r.flushOutput(); err != nil {
			return err
		}
	}
	r.x = nil
	if r.late != nil && !r.test {
		return r.tellLate()
	}
	if r.test || !x.edit.changed {
		return nil
	}
	return r.kernel.commit(r.family, x.edit)
}

// tellLate is the delayed error at its own line, or for a missing chain at that of the commit.
func (r *restorer) tellLate() error {
	var missing *missingChain
	if errors.As(r.late, &missing) {
		return &restoreError{line: r.line, err: badParameter("%s", missing.Error()), origin: r.late}
	}
	return r.late
}

// blame is an error of a command that was carried out, with the place of the word that it is about.
func (r *restorer) blame(err error, cmd *command) error {
	word := []byte(cmd.chain)
	var missing *missingChain
	_, usage := asProblem(err)
	if usage || errors.Is(err, errJumpToBuiltin) || errors.As(err, &missing) {
		word = cmd.spec.jump
	}
	e := &restoreError{line: r.line, column: 1, err: err}
	for i, w := range r.parser.args.words {
		if bytes.Equal(w, word) {
			e.column, e.token = r.parser.args.columns[i], string(w)
		}
	}
	return e
}
