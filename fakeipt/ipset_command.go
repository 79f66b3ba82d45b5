package fakeipt

import (
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"github.com/chainwalk/chainwalk/fakeipt/internal/libc"
)

// ipsetVersion is what the tool says its version is.
const ipsetVersion = "v7.17"

const ipsetProtocol = 7

// setTool is one run of ipset.
type setTool struct {
	*program
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
	out     io.Writer
}

// setCommand is a command of ipset.
type setCommand struct {
	name, letter string
	args         int // that must be there
	more         bool
	run          func(t *setTool, w *setWords) error
}

func setCommands() []setCommand {
	return []setCommand{
		{"create", "n", 2, true, (*setTool).create},
		{"add", "a", 2, true, (*setTool).add},
		{"del", "d", 2, true, (*setTool).del},
		{"test", "t", 2, true, (*setTool).test},
		{"destroy", "x", 0, false, (*setTool).destroy},
		{"list", "l", 0, false, (*setTool).list},
		{"save", "s", 0, false, (*setTool).save},
		{"restore", "r", 0, false, (*setTool).restore},
		{"flush", "f", 0, false, (*setTool).flush},
		{"rename", "e", 2, false, (*setTool).rename},
		{"swap", "w", 2, false, (*setTool).swap},
		{"help", "h", 0, false, (*setTool).help},
		{"version", "v", 0, false, (*setTool).version},
	}
}

// matches reports whether a word names the command: its letter or the beginning of its name, both also behind two dashes, or the capital
// letter behind one. The first command that fits is meant.
func (c *setCommand) matches(word string) bool {
	bare := strings.TrimPrefix(word, "--")
	return bare == c.letter || bare != "" && strings.HasPrefix(c.name, bare) || word == "-"+strings.ToUpper(c.letter) ||
		word == "-"+c.letter && (c.letter == "v" || c.letter == "h")
}

// runIPSet is ipset.
func (p *program) runIPSet() int {
	t := &setTool{program: p, out: p.stdout, created: map[string]Family{}}
	p.kernel.lock.Lock()
	defer p.kernel.lock.Unlock()
	err := t.command(p.args)
	if err == nil {
		err = t.commit()
	}
	return t.report(err)
}

// errNotInSet is the status of test that finds nothing; the text is printed already.
var errNotInSet = errors.New("not in the set")

func (t *setTool) report(err error) int {
	if err == nil {
		return 0
	}
	switch {
	case errors.Is(err, errNotInSet):
		return statusOther
	case errors.Is(err, errSetNoFile):
		return statusSetNoFile
	}
	status, help := statusOther, ""
	var e *setError
	if errors.As(err, &e) && e.usage {
		status, help = statusParameter, "Try `ipset help' for more information.\n"
	}
	if !t.quiet {
		where := ""
		if t.line > 0 && status == statusOther {
			where = fmt.Sprintf("Error in line %d: ", t.line)
		}
		fmt.Fprintf(t.stderr, "ipset %s: %s%v\n%s", ipsetVersion, where, err, help)
	}
	return status
}

// command carries one command line out.
func (t *setTool) command(args []string) error {
	words, err := t.options(args)
	if err != nil {
		return err
	}
	if len(words) == 0 {
		return setUsagef("No command specified.")
	}
	if words[0] == "-" {
		return setErrorf("not supported: typing commands (-): give them to restore")
	}
	commands := setCommands()
	i := slices.IndexFunc(commands, func(c setCommand) bool { return c.matches(words[0]) })
	if i < 0 {
		return setUsagef("No command specified: unknown argument %s", words[0])
	}
	c, words := &commands[i], words[1:]
	if len(words) < c.args {
		word := [...]string{"", "second "}[len(words)]
		return setUsagef("Missing %smandatory argument to command %s", word, c.name)
	}
	if limit := max(c.args, 1); !c.more && len(words) > limit || c.name == "restore" && len(words) > 0 {
		return setUsagef("Unknown argument %s", words[min(limit, len(words)-1)])
	}
	if t.line > 0 && slices.Contains([]string{"restore", "version", "help"}, c.name) {
		return setUsagef("Command `%s' is invalid in restore mode.", c.name)
	}
	return c.run(t, &setWords{words: words})
}

// options takes the options that may stand anywhere out of the words.
func (t *setTool) options(args []string) ([]string, error) {
	var words []string
	for i := 0; i < len(args); i++ {
		switch option := setOption(args[i]); option {
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
			return nil, setErrorf("not supported: option -r")
		case "o", "f":
			if i+1 == len(args) {
				return nil, setUsagef("Missing mandatory argument to option -%s", option)
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
	return nil, setErrorf("Syntax error: unknown output mode '%s'", t.output)
}

// setOptions are the letters of the options by their names.
var setOptions = map[string]string{"exist": "!", "quiet": "q", "sorted": "s", "name": "n", "terse": "t", "resolve": "r", "output": "o", "file": "f"}

// setOption is the letter of the option that a word is, "" if it is none.
func setOption(word string) string {
	bare := strings.TrimPrefix(strings.TrimPrefix(word, "-"), "-")
	if bare == word {
		return ""
	}
	for name, letter := range setOptions {
		if bare == letter || bare == name {
			return letter
		}
	}
	return ""
}

func (t *setTool) setName(w *setWords) (string, error) {
	name, _ := w.next()
	if len(name) > maxSetName {
		return "", errSetNameLong(name)
	}
	return name, nil
}

// sentName is setName for a command that is then sent to the kernel, and the noted changes before it.
func (t *setTool) sentName(w *setWords) (string, error) {
	name, err := t.setName(w)
	if err != nil {
		return "", err
	}
	return name, t.commit()
}

// sentSet is the set that the next word names, for a command that is sent to the kernel.
func (t *setTool) sentSet(w *setWords) (*IPSet, error) {
	name, err := t.sentName(w)
	if err != nil {
		return nil, err
	}
	return t.find(name)
}

// set is the set that the next word names.
func (t *setTool) set(w *setWords) (*IPSet, error) {
	name, err := t.setName(w)
	if err != nil {
		return nil, err
	}
	return t.find(name)
}

func (t *setTool) find(name string) (*IPSet, error) {
	s := t.kernel.sets.find(name)
	if s == nil {
		return nil, errSetMissing
	}
	return s, nil
}

func (t *setTool) create(w *setWords) error {
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
		err = newSetName(name)
	}
	if err != nil {
		return err
	}
	err = t.kernel.sets.create(name, kind, o)
	if errors.Is(err, errSetExists) && t.exist {
		old := t.kernel.sets.find(name)
		if old.kind == kind && old.options.same(o) {
			err = nil
		}
	}
	if err == nil {
		t.created[name] = o.Family
	}
	return err
}

// seen is the set as the tool takes it to be. foreign says that its family is another one.
func (t *setTool) seen(s *IPSet) (as *IPSet, foreign bool) {
	f, ok := t.created[s.name]
	if !ok || f == s.options.Family {
		return s, false
	}
	other := *s
	other.options.Family = f
	return &other, true
}

func (t *setTool) test(w *setWords) error {
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
		found, err = t.kernel.sets.holds(s, &c)
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
		fmt.Fprintf(t.stderr, "Warning: %s is in set %s.\n", text, s.name)
		fallthrough
	case found:
		t.ended = true
	default:
		if !t.quiet {
			fmt.Fprintf(t.stderr, "%s is NOT in set %s.\n", text, s.name)
		}
		return errNotInSet
	}
	return nil
}

func (t *setTool) destroy(w *setWords) error {
	if len(w.words) == 0 {
		return t.destroyAll()
	}
	s, err := t.sentSet(w)
	if errors.Is(err, errSetMissing) && t.exist {
		return nil
	}
	if err != nil {
		return err
	}
	if t.kernel.setReferences()[s.name] > 0 {
		return errSetBusy
	}
	t.kernel.sets.destroy(s.name)
	return nil
}

func (t *setTool) destroyAll() error {
	if err := t.commit(); err != nil {
		return err
	}
	references := t.kernel.setReferences()
	names := t.kernel.sets.Names()
	for _, name := range names {
		if references[name] > 0 {
			return errSetBusy
		}
	}
	for _, name := range names {
		t.kernel.sets.destroy(name)
	}
	return nil
}

func (t *setTool) flush(w *setWords) error {
	if len(w.words) == 0 {
		if err := t.commit(); err != nil {
			return err
		}
		for _, name := range t.kernel.sets.Names() {
			t.kernel.sets.flush(t.kernel.sets.find(name))
		}
		return nil
	}
	s, err := t.sentSet(w)
	if err == nil {
		t.kernel.sets.flush(s)
	}
	return err
}

func (t *setTool) rename(w *setWords) error {
	from, err := t.setName(w)
	if err != nil {
		return err
	}
	to, err := t.sentName(w)
	if err == nil {
		err = newSetName(to)
	}
	switch {
	case err != nil:
		return err
	case !t.kernel.sets.Has(from):
		return errSetMissing
	case t.kernel.setReferences()[from] > 0:
		return errSetRenameBusy
	}
	return t.kernel.sets.rename(from, to)
}

func (t *setTool) swap(w *setWords) error {
	a, err := t.setName(w)
	if err != nil {
		return err
	}
	b, err := t.sentName(w)
	if err != nil {
		return err
	}
	return t.kernel.sets.swap(a, b)
}

func (t *setTool) version(*setWords) error {
	fmt.Fprintf(t.out, "ipset %s, protocol version: %d\n", ipsetVersion, ipsetProtocol)
	return nil
}

// help has words of its own.
func (t *setTool) help(w *setWords) error {
	if len(w.words) > 0 {
		return setErrorf("not supported: help of a type")
	}
	fmt.Fprintf(t.out, "ipset %s\n\nUsage: ipset [options] COMMAND\n\nSee the manual page of ipset.\n", ipsetVersion)
	return nil
}

// chosen are the sets that list and save are about.
func (t *setTool) chosen(w *setWords) ([]*IPSet, error) {
	if len(w.words) > 0 {
		s, err := t.sentSet(w)
		return []*IPSet{s}, err
	}
	if err := t.commit(); err != nil {
		return nil, err
	}
	t.kernel.sets.lock.RLock()
	defer t.kernel.sets.lock.RUnlock()
	return t.kernel.sets.dumped(), nil
}

func (t *setTool) list(w *setWords) error {
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
	references := t.kernel.setReferences()
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
func (t *setTool) keepOutput(mode string) {
	if t.output == "" {
		t.output = mode
	}
}

func (t *setTool) appendListed(dst []byte, s *IPSet, references int) []byte {
	table := t.kernel.sets
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

func (t *setTool) save(w *setWords) error {
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
func (t *setTool) appendSaved(dst []byte, sets []*IPSet) []byte {
	t.kernel.sets.lock.Lock()
	defer t.kernel.sets.lock.Unlock()
	for _, s := range sets {
		dst = s.appendSave(dst, t.sorted)
	}
	return dst
}

func (s *IPSet) appendSave(dst []byte, sorted bool) []byte {
	dst = append(appendFields(fmt.Appendf(dst, "create %s %s", s.name, s.kind.name), s.header()), '\n')
	for _, k := range s.liveKeys(sorted) {
		dst = append(s.appendEntry(fmt.Appendf(dst, "add %s ", s.name), k), '\n')
	}
	return dst
}

// print writes to the standard output or the file of -f.
func (t *setTool) print(text []byte) error {
	if t.file == "" {
		_, err := t.out.Write(text)
		return err
	}
	if err := os.WriteFile(t.file, text, 0o644); err != nil {
		return setErrorf("Cannot open %s for writing: %s", t.file, libc.FileErrorText(err))
	}
	return nil
}

// pendingChange is an add or del of restore that is not yet sent to the kernel.
type pendingChange struct {
	set     *IPSet
	adds    bool
	foreign bool // the element is of another family than the set
	change  entryChange
	line    int
	exist   bool
}

func (t *setTool) add(w *setWords) error { return t.changeEntry(w, true) }

func (t *setTool) del(w *setWords) error { return t.changeEntry(w, false) }

// changeEntry notes a change: those of one set, one after the other, go to the kernel together, once a line for something else is read
// without an error. So the changes before a bad line are lost.
func (t *setTool) changeEntry(w *setWords, adds bool) error {
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
func (t *setTool) commit() error {
	line := t.line
	for i := range t.pending {
		p := &t.pending[i]
		err := errSetProtocol
		if !p.foreign {
			err = t.kernel.sets.change(p.set, p.adds, &p.change, t.pending[0].exist)
		}
		if err != nil {
			t.line, t.pending = p.line, nil
			return err
		}
	}
	t.line, t.pending = line, nil
	return nil
}

// restore reads commands from the standard input or the file of -f.
// setReferences counts what names each set: rules of every ruleset, and sets of sets.
func (k *Kernel) setReferences() map[string]int {
	count := map[string]int{}
	for _, rs := range k.allRulesets() {
		for _, t := range rs.Tables() {
			for c := range t.Chains() {
				for _, r := range c.Rules {
					r.countSets(count)
				}
			}
		}
	}
	k.sets.lock.RLock()
	defer k.sets.lock.RUnlock()
	for _, s := range k.sets.order {
		for _, key := range s.order {
			count[key.set]++
		}
	}
	return count
}

func (r *Rule) countSets(count map[string]int) {
	for _, m := range r.Matches {
		if s, ok := m.(*MatchSet); ok {
			count[s.Set]++
		}
	}
	if t, ok := r.Target.(*TargetSet); ok {
		for _, ref := range []SetRef{t.Add, t.Del, t.Map} {
			if ref.Set != "" {
				count[ref.Set]++
			}
		}
	}
}

// SaveSets writes every set as "ipset save" prints it.
func (k *Kernel) SaveSets(w io.Writer) error {
	k.sets.lock.Lock()
	defer k.sets.lock.Unlock()
	var text []byte
	for _, s := range k.sets.dumped() {
		text = s.appendSave(text, false)
	}
	_, err := w.Write(text)
	return err
}

// LoadSets makes the sets of "ipset save" text. name is what errors call the text; they are *ParseError.
func (k *Kernel) LoadSets(name string, r io.Reader) error {
	t := &setTool{program: &program{kernel: k, stdin: r, stdout: io.Discard, stderr: io.Discard}, out: io.Discard, created: map[string]Family{}}
	k.lock.Lock()
	defer k.lock.Unlock()
	err := t.restore(nil)
	if err == nil {
		err = t.commit()
	}
	if err != nil {
		return &ParseError{File: name, Line: t.line, Msg: err.Error()}
	}
	return nil
}
