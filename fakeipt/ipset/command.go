package ipset

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"slices"
	"strings"

	"github.com/chainwalk/chainwalk/fakeipt/internal/libc"
)

// version is what the tool says its version is.
const version = "v7.17"

const protocol = 7

// Tool is ipset with what it works on.
type Tool struct {
	Sets *Table
	// Named counts what names each set, besides sets of sets. No rule may change as long as the tool runs.
	Named func() map[string]int

	Stdin          io.Reader
	Stdout, Stderr io.Writer
	// ReadFile and WriteFile are for the file of -f, as those of package os.
	ReadFile  func(name string) ([]byte, error)
	WriteFile func(name string, text []byte, mode fs.FileMode) error
}

// The exit statuses.
const (
	statusFailed = 1
	statusUsage  = 2
)

// run is one run of ipset.
type run struct {
	*Tool
	exist, quiet, sorted   bool
	namesOnly, headersOnly bool
	output, file           string
	line                   int  // of restore, 0: none
	ended                  bool // restore reads no further: that is what a test that finds its element does
	pending                []pendingChange
	saving                 bool // a save is on its way
	// created are the families of the sets that this run has created, or would have if they had not been there: the tool does not ask the
	// kernel for them.
	created map[string]Family
}

// command is a command of ipset.
type command struct {
	name, letter string
	args         int // that must be there
	more         bool
	run          func(t *run, w *wordReader) error
}

func commands() []command {
	return []command{
		{"create", "n", 2, true, (*run).create},
		{"add", "a", 2, true, (*run).add},
		{"del", "d", 2, true, (*run).del},
		{"test", "t", 2, true, (*run).test},
		{"destroy", "x", 0, false, (*run).destroy},
		{"list", "l", 0, false, (*run).list},
		{"save", "s", 0, false, (*run).save},
		{"restore", "r", 0, false, (*run).restore},
		{"flush", "f", 0, false, (*run).flush},
		{"rename", "e", 2, false, (*run).rename},
		{"swap", "w", 2, false, (*run).swap},
		{"help", "h", 0, false, (*run).help},
		{"version", "v", 0, false, (*run).version},
	}
}

// matches reports whether a word names the command: its letter or the beginning of its name, both also behind two dashes, or the capital
// letter behind one. The first command that fits is meant.
func (c *command) matches(word string) bool {
	bare := strings.TrimPrefix(word, "--")
	return bare == c.letter || bare != "" && strings.HasPrefix(c.name, bare) || word == "-"+strings.ToUpper(c.letter) ||
		word == "-"+c.letter && (c.letter == "v" || c.letter == "h")
}

// Run runs ipset with the words behind its name and returns its exit status.
func (t *Tool) Run(args []string) int {
	r := t.newRun()
	err := r.command(args)
	if err == nil {
		err = r.commit()
	}
	return r.report(err)
}

func (t *Tool) newRun() *run { return &run{Tool: t, created: map[string]Family{}} }

// LineError is a line that Load does not take.
type LineError struct {
	Line int // from 1
	Err  error
}

// Error is the error without the line.
func (e *LineError) Error() string { return e.Err.Error() }

// Unwrap is the error of the line.
func (e *LineError) Unwrap() error { return e.Err }

// Load makes the sets of "ipset save" text, which is the standard input. Errors are *LineError.
func (t *Tool) Load() error {
	r := t.newRun()
	err := r.restore(nil)
	if err == nil {
		err = r.commit()
	}
	if err != nil {
		return &LineError{Line: r.line, Err: err}
	}
	return nil
}

// references counts what names each set: rules and sets of sets.
func (t *Tool) references() map[string]int {
	count := t.Named()
	t.Sets.lock.RLock()
	defer t.Sets.lock.RUnlock()
	for _, s := range t.Sets.order {
		for _, k := range s.order {
			count[k.set]++
		}
	}
	return count
}

// errNotInSet is the status of test that finds nothing; the text is printed already.
var errNotInSet = errors.New("not in the set")

func (t *run) report(err error) int {
	if err == nil {
		return 0
	}
	switch {
	case errors.Is(err, errNotInSet):
		return statusFailed
	case errors.Is(err, errNoFile):
		return statusNoFile
	}
	status, help := statusFailed, ""
	var e *toolError
	if errors.As(err, &e) && e.usage {
		status, help = statusUsage, "Try `ipset help' for more information.\n"
	}
	if !t.quiet {
		where := ""
		if t.line > 0 && status == statusFailed {
			where = fmt.Sprintf("Error in line %d: ", t.line)
		}
		fmt.Fprintf(t.Stderr, "ipset %s: %s%v\n%s", version, where, err, help)
	}
	return status
}

// command carries one command line out.
func (t *run) command(args []string) error {
	words, err := t.options(args)
	if err != nil {
		return err
	}
	if len(words) == 0 {
		return usagef("No command specified.")
	}
	if words[0] == "-" {
		return errorf("not supported: typing commands (-): give them to restore")
	}
	commands := commands()
	i := slices.IndexFunc(commands, func(c command) bool { return c.matches(words[0]) })
	if i < 0 {
		return usagef("No command specified: unknown argument %s", words[0])
	}
	c, words := &commands[i], words[1:]
	if len(words) < c.args {
		word := [...]string{"", "second "}[len(words)]
		return usagef("Missing %smandatory argument to command %s", word, c.name)
	}
	if limit := max(c.args, 1); !c.more && len(words) > limit || c.name == "restore" && len(words) > 0 {
		return usagef("Unknown argument %s", words[min(limit, len(words)-1)])
	}
	if t.line > 0 && slices.Contains([]string{"restore", "version", "help"}, c.name) {
		return usagef("Command `%s' is invalid in restore mode.", c.name)
	}
	return c.run(t, &wordReader{words: words})
}

// options takes the options that may stand anywhere out of the words.
func (t *run) options(args []string) ([]string, error) {
	var words []string
	for i := 0; i < len(args); i++ {
		switch option := optionLetter(args[i]); option {
		case "!":
			t.exist = true
		case "q":
			t.quiet = true
		case "s":
			t.sorted = true
		case "n":
			t.namesOnly = true
		case "t":
			t.headersOnly = true
		case "r":
			return nil, errorf("not supported: option -r")
		case "o", "f":
			if i+1 == len(args) {
				return nil, usagef("Missing mandatory argument to option -%s", option)
			}
			if i++; option == "f" {
				t.file = args[i]
			} else {
				t.output = args[i]
			}
		default:
			words = append(words, args[i])
		}
	}
	switch t.output {
	case "", "plain", "save", "xml":
		return words, nil
	}
	return nil, errorf("Syntax error: unknown output mode '%s'", t.output)
}

// optionLetters are the letters of the options by their names.
var optionLetters = map[string]string{"exist": "!", "quiet": "q", "sorted": "s", "name": "n", "terse": "t", "resolve": "r", "output": "o", "file": "f"}

// optionLetter is the letter of the option that a word is, "" if it is none.
func optionLetter(word string) string {
	bare := strings.TrimPrefix(strings.TrimPrefix(word, "-"), "-")
	if bare == word {
		return ""
	}
	for name, letter := range optionLetters {
		if bare == letter || bare == name {
			return letter
		}
	}
	return ""
}

func (t *run) setName(w *wordReader) (string, error) {
	name, _ := w.next()
	if len(name) > MaxName {
		return "", errNameLong(name)
	}
	return name, nil
}

// sentName is setName for a command that is then sent to the kernel, and the noted changes before it.
func (t *run) sentName(w *wordReader) (string, error) {
	name, err := t.setName(w)
	if err != nil {
		return "", err
	}
	return name, t.commit()
}

// sentSet is the set that the next word names, for a command that is sent to the kernel.
func (t *run) sentSet(w *wordReader) (*Set, error) {
	name, err := t.sentName(w)
	if err != nil {
		return nil, err
	}
	return t.find(name)
}

// set is the set that the next word names.
func (t *run) set(w *wordReader) (*Set, error) {
	name, err := t.setName(w)
	if err != nil {
		return nil, err
	}
	return t.find(name)
}

func (t *run) find(name string) (*Set, error) {
	s := t.Sets.find(name)
	if s == nil {
		return nil, errMissing
	}
	return s, nil
}

func (t *run) create(w *wordReader) error {
	name, err := t.setName(w)
	if err != nil {
		return err
	}
	typeName, _ := w.next()
	kind, o, err := parseCreate(typeName, w)
	if err == nil {
		err = t.commit()
	}
	if err == nil {
		err = checkNewName(name)
	}
	if err != nil {
		return err
	}
	err = t.Sets.create(name, kind, o)
	if errors.Is(err, errExists) && t.exist {
		old := t.Sets.find(name)
		if old.kind == kind && old.options.same(o) {
			err = nil
		}
	}
	if err == nil {
		t.created[name] = o.family
	}
	return err
}

// seen is the set as the tool takes it to be. foreign says that its family is another one.
func (t *run) seen(s *Set) (as *Set, foreign bool) {
	f, ok := t.created[s.name]
	if !ok || f == s.options.family {
		return s, false
	}
	other := *s
	other.options.family = f
	return &other, true
}

func (t *run) test(w *wordReader) error {
	s, err := t.set(w)
	if err != nil {
		return err
	}
	as, foreign := t.seen(s)
	c, err := as.parseChange("test", w)
	if err == nil {
		err = t.commit()
	}
	found := false
	if err == nil && !foreign {
		found, err = t.Sets.holds(s, &c)
	}
	if err != nil {
		return err
	}
	text := s.appendElement(nil, &c.element)
	if c.ref != "" {
		text = fmt.Appendf(text, " %s %s", map[bool]string{true: "before", false: "after"}[c.before], c.ref)
	}
	switch {
	case found && !t.quiet:
		fmt.Fprintf(t.Stderr, "Warning: %s is in set %s.\n", text, s.name)
		fallthrough
	case found:
		t.ended = true
	default:
		if !t.quiet {
			fmt.Fprintf(t.Stderr, "%s is NOT in set %s.\n", text, s.name)
		}
		return errNotInSet
	}
	return nil
}

func (t *run) destroy(w *wordReader) error {
	if len(w.words) == 0 {
		return t.destroyAll()
	}
	s, err := t.sentSet(w)
	if errors.Is(err, errMissing) && t.exist {
		return nil
	}
	if err != nil {
		return err
	}
	if t.references()[s.name] > 0 {
		return errBusy
	}
	t.Sets.destroy(s.name)
	return nil
}

func (t *run) destroyAll() error {
	if err := t.commit(); err != nil {
		return err
	}
	references := t.references()
	names := t.Sets.names()
	for _, name := range names {
		if references[name] > 0 {
			return errBusy
		}
	}
	for _, name := range names {
		t.Sets.destroy(name)
	}
	return nil
}

func (t *run) flush(w *wordReader) error {
	if len(w.words) == 0 {
		if err := t.commit(); err != nil {
			return err
		}
		for _, name := range t.Sets.names() {
			t.Sets.flush(t.Sets.find(name))
		}
		return nil
	}
	s, err := t.sentSet(w)
	if err == nil {
		t.Sets.flush(s)
	}
	return err
}

func (t *run) rename(w *wordReader) error {
	from, err := t.setName(w)
	if err != nil {
		return err
	}
	to, err := t.sentName(w)
	if err == nil {
		err = checkNewName(to)
	}
	switch {
	case err != nil:
		return err
	case !t.Sets.Has(from):
		return errMissing
	case t.references()[from] > 0:
		return errRenameBusy
	}
	return t.Sets.rename(from, to)
}

func (t *run) swap(w *wordReader) error {
	a, err := t.setName(w)
	if err != nil {
		return err
	}
	b, err := t.sentName(w)
	if err != nil {
		return err
	}
	return t.Sets.swap(a, b)
}

func (t *run) version(*wordReader) error {
	fmt.Fprintf(t.Stdout, "ipset %s, protocol version: %d\n", version, protocol)
	return nil
}

// help has words of its own.
func (t *run) help(w *wordReader) error {
	if len(w.words) > 0 {
		return errorf("not supported: help of a type")
	}
	fmt.Fprintf(t.Stdout, "ipset %s\n\nUsage: ipset [options] COMMAND\n\nSee the manual page of ipset.\n", version)
	return nil
}

// chosen are the sets that list and save are about.
func (t *run) chosen(w *wordReader) ([]*Set, error) {
	if len(w.words) > 0 {
		s, err := t.sentSet(w)
		return []*Set{s}, err
	}
	if err := t.commit(); err != nil {
		return nil, err
	}
	t.Sets.lock.RLock()
	defer t.Sets.lock.RUnlock()
	return t.Sets.dumped(), nil
}

func (t *run) list(w *wordReader) error {
	sets, err := t.chosen(w)
	if err != nil {
		return err
	}
	t.keepOutput("plain")
	switch t.output {
	case "save":
		return t.print(t.appendSaved(nil, sets))
	case "xml":
		return t.print(t.appendXML(nil, sets))
	}
	references := t.references()
	var text []byte
	for i, s := range sets {
		if t.namesOnly {
			text = append(append(text, s.name...), '\n')
			continue
		}
		if i > 0 {
			text = append(text, '\n')
		}
		text = t.appendListed(text, s, references[s.name])
	}
	return t.print(text)
}

// keepOutput settles how sets are printed, if no option has: the first list or save of a restore decides for all.
func (t *run) keepOutput(mode string) {
	if t.output == "" {
		t.output = mode
	}
}

func (t *run) appendListed(dst []byte, s *Set, references int) []byte {
	table := t.Sets
	table.lock.Lock()
	defer table.lock.Unlock()
	keys := s.liveKeys(t.sorted)
	dst = fmt.Appendf(dst, "Name: %s\nType: %s\nRevision: %d\nHeader:", s.name, s.kind.name, s.kind.revision)
	dst = fmt.Appendf(appendFields(dst, s.header()), "\nSize in memory: %d\nReferences: %d\nNumber of entries: %d\n", s.memory(), references, len(keys))
	switch {
	case !t.headersOnly:
		dst = append(dst, "Members:\n"...)
	case !t.saving:
		return dst
	}
	for _, k := range keys {
		dst = append(s.appendEntry(dst, k), '\n')
	}
	return dst
}

func (t *run) save(w *wordReader) error {
	if t.output == "plain" || t.output == "xml" {
		t.saving = true
		defer func() { t.saving = false }()
		return t.list(w)
	}
	sets, err := t.chosen(w)
	if err != nil {
		return err
	}
	t.keepOutput("save")
	return t.print(t.appendSaved(nil, sets))
}

// appendSaved appends the sets as input of restore.
func (t *run) appendSaved(dst []byte, sets []*Set) []byte {
	t.Sets.lock.Lock()
	defer t.Sets.lock.Unlock()
	for _, s := range sets {
		dst = s.appendSave(dst, t.sorted)
	}
	return dst
}

func (s *Set) appendSave(dst []byte, sorted bool) []byte {
	dst = append(appendFields(fmt.Appendf(dst, "create %s %s", s.name, s.kind.name), s.header()), '\n')
	for _, k := range s.liveKeys(sorted) {
		dst = append(s.appendEntry(fmt.Appendf(dst, "add %s ", s.name), k), '\n')
	}
	return dst
}

// print writes to the standard output or the file of -f.
func (t *run) print(text []byte) error {
	if t.file == "" {
		_, err := t.Stdout.Write(text)
		return err
	}
	if err := t.WriteFile(t.file, text, 0o644); err != nil {
		return errorf("Cannot open %s for writing: %s", t.file, libc.FileErrorText(err))
	}
	return nil
}

// pendingChange is an add or del of restore that is not yet sent to the kernel.
type pendingChange struct {
	set     *Set
	adds    bool
	foreign bool // the element is of another family than the set
	change  entryChange
	line    int
	exist   bool
}

func (t *run) add(w *wordReader) error { return t.changeEntry(w, true) }

func (t *run) del(w *wordReader) error { return t.changeEntry(w, false) }

// changeEntry notes a change: those of one set, one after the other, go to the kernel together, once a line for something else is read
// without an error. So the changes before a bad line are lost.
func (t *run) changeEntry(w *wordReader, adds bool) error {
	s, err := t.set(w)
	if err != nil {
		return err
	}
	command := "del"
	if adds {
		command = "add"
	}
	as, foreign := t.seen(s)
	c, err := as.parseChange(command, w)
	if err != nil {
		return err
	}
	if n := len(t.pending); n > 0 && (t.pending[n-1].set != s || t.pending[n-1].adds != adds) {
		if err := t.commit(); err != nil {
			return err
		}
	}
	t.pending = append(t.pending, pendingChange{s, adds, foreign, c, t.line, t.exist})
	return nil
}

// commit sends the changes that are noted, in one message with the flags of the first.
func (t *run) commit() error {
	line := t.line
	for i := range t.pending {
		p := &t.pending[i]
		err := errProtocol
		if !p.foreign {
			err = t.Sets.change(p.set, p.adds, &p.change, t.pending[0].exist)
		}
		if err != nil {
			t.line, t.pending = p.line, nil
			return err
		}
	}
	t.line, t.pending = line, nil
	return nil
}
