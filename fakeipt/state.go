package fakeipt

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/chainwalk/chainwalk/fakeipt/nfacct"
)

// madePrefix begins a comment line that says which built-in chains of a table the nft tools have made.
const madePrefix = "#made "

// WriteState writes one family's tables so that ReadState makes them again: iptables-save text with counters, and
// before it comment lines with what that text does not say. A rule that cannot be read again is an error.
func (k *Kernel) WriteState(f Family, w io.Writer) error {
	rs := k.Ruleset(f)
	if k.dialect == NFT {
		for _, t := range rs.tables {
			line := madePrefix + t.kind.name
			for _, name := range t.kind.builtins() {
				if t.made&t.kind.hookOf(name) != 0 {
					line += " " + name
				}
			}
			if _, err := io.WriteString(w, line+"\n"); err != nil {
				return err
			}
		}
	}
	text := &lineCounter{to: w}
	if err := rs.save(text, saveOptions{counters: true, state: true}); err != nil {
		return err
	}
	if text.lines != rs.savedLines() {
		return errLineBreak
	}
	return nil
}

// stateWriter is a match or target that iptables-save prints so that it is read as another one, or not at all. Its appendState appends
// options that make it again.
type stateWriter interface {
	appendState(dst []byte, f Family, d Dialect) []byte
}

// matchState and targetState are saved as the state has them.
type (
	matchState struct {
		Match
		of stateWriter
	}
	targetState struct {
		Target
		of stateWriter
	}
)

func (m matchState) appendSave(dst []byte, f Family, d Dialect) []byte {
	return m.of.appendState(dst, f, d)
}

func (t targetState) appendSave(dst []byte, f Family, d Dialect) []byte {
	return t.of.appendState(dst, f, d)
}

// asState is the rule that is saved as the state has it; most rules are that themselves.
func (r *Rule) asState() *Rule {
	return r.replaced(
		func(m Match) (Match, bool) {
			w, ok := m.(stateWriter)
			return matchState{m, w}, ok
		},
		func(t Target) (Target, bool) {
			w, ok := t.(stateWriter)
			return targetState{t, w}, ok
		})
}

// errLineBreak is a rule that iptables-save prints so that nothing can read it again.
var errLineBreak = errors.New("not supported: a rule with a line break in a text cannot be kept")

// savedLines is the number of lines that iptables-save prints without comments, if no rule has a line break in it.
func (rs *Ruleset) savedLines() int {
	n := 0
	for _, t := range rs.tables {
		n += 2 + t.chains.count + t.ruleCount()
	}
	return n
}

// lineCounter counts the lines that are written through it.
type lineCounter struct {
	to    io.Writer
	lines int
}

func (l *lineCounter) Write(p []byte) (int, error) {
	l.lines += bytes.Count(p, []byte("\n"))
	return l.to.Write(p)
}

// ReadState fills a kernel on which no tool has run with what WriteState wrote. name is what errors call the text.
// Objects that rules name are to be read before.
func (k *Kernel) ReadState(f Family, name string, r io.Reader) error {
	text, err := readAll(r)
	if err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	if err := k.load(f, name, bytes.NewReader(text), false); err != nil {
		return err
	}
	rs := &Ruleset{family: f, dialect: k.dialect, tables: slices.Clone(k.Ruleset(f).tables)}
	number := 0
	for line := range bytes.Lines(text) {
		number++
		if line[0] != '#' {
			break
		}
		words, ok := strings.CutPrefix(string(line), madePrefix)
		if !ok {
			continue
		}
		if err := rs.setMade(strings.Fields(words)); err != nil {
			return &ParseError{File: name, Line: number, Msg: err.Error()}
		}
	}
	for _, t := range rs.tables {
		k.register(t)
	}
	k.rulesets[f.index()].Store(rs)
	return nil
}

// setMade notes the built-in chains that are made: the words are a table and its chains.
func (rs *Ruleset) setMade(words []string) error {
	if len(words) == 0 || rs.Table(words[0]) == nil {
		return fmt.Errorf("%sneeds one of the tables below", madePrefix)
	}
	t := *rs.Table(words[0])
	t.made = 0
	for _, chain := range words[1:] {
		hook := t.kind.hookOf(chain)
		if hook == 0 {
			return fmt.Errorf("table %s has no built-in chain %q", words[0], chain)
		}
		t.made |= hook
	}
	for i, old := range rs.tables {
		if old.kind == t.kind {
			rs.tables[i] = &t
		}
	}
	return nil
}

// WriteObjects writes the objects that rules name so that ReadObjects makes them again: what "nfacct list" prints and, each
// line behind the word "ipset", what "ipset save" prints. Accounting objects come first.
func (k *Kernel) WriteObjects(w io.Writer) error {
	for _, o := range k.acct.List() {
		if _, err := io.WriteString(w, o.Line()); err != nil {
			return err
		}
	}
	var sets bytes.Buffer
	if err := k.SaveSets(&sets); err != nil {
		return err
	}
	for line := range bytes.Lines(sets.Bytes()) {
		if _, err := fmt.Fprintf(w, "%s%s", setPrefix, line); err != nil {
			return err
		}
	}
	slots := k.sets.Slots()
	for _, name := range slices.Sorted(maps.Keys(slots)) {
		if _, err := fmt.Fprintf(w, "%s%d %s\n", slotPrefix, slots[name], name); err != nil {
			return err
		}
	}
	return nil
}

// slotPrefix begins a comment line with the place of a set in the kernel's table: a number and the set's name.
const slotPrefix = "#slot "

// setPrefix begins a line about sets.
const setPrefix = "ipset "

// ReadObjects makes the objects that WriteObjects wrote. name is what errors call the text.
func (k *Kernel) ReadObjects(name string, r io.Reader) error {
	lines := bufio.NewScanner(r)
	var sets bytes.Buffer
	slots := map[string]int{}
	for number := 1; lines.Scan(); number++ {
		line := lines.Text()
		if words, ok := strings.CutPrefix(line, slotPrefix); ok {
			if err := readSlot(slots, words); err != nil {
				return &ParseError{File: name, Line: number, Token: words, Msg: err.Error()}
			}
		}
		if text, ok := strings.CutPrefix(line, setPrefix); ok {
			sets.WriteString(text)
		}
		// Every line has one, so that errors tell the right number.
		sets.WriteByte('\n')
		if strings.HasPrefix(line, "#") || strings.HasPrefix(line, setPrefix) {
			continue
		}
		o, ok := nfacct.ParseLine(line)
		if !ok {
			return &ParseError{File: name, Line: number, Token: line, Msg: "want an object as nfacct lists it"}
		}
		if err := k.acct.AddObject(o); err != nil {
			return &ParseError{File: name, Line: number, Token: o.Name, Msg: err.Error()}
		}
	}
	if err := lines.Err(); err != nil {
		return err
	}
	if err := k.LoadSets(name, &sets); err != nil {
		return err
	}
	if len(slots) > 0 && !k.sets.Place(slots) {
		return &ParseError{File: name, Msg: "the lines " + strings.TrimSpace(slotPrefix) + " are not those of the sets"}
	}
	return nil
}

// readSlot reads what stands behind slotPrefix.
func readSlot(slots map[string]int, words string) error {
	digits, name, _ := strings.Cut(words, " ")
	slot, err := strconv.Atoi(digits)
	if err != nil {
		return errors.New("want a number and the name of a set")
	}
	slots[name] = slot
	return nil
}
