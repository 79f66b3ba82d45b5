package fakeipt

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/chainwalk/chainwalk/fakeipt/ruleset"
	"github.com/chainwalk/chainwalk/fakeipt/xtables"
	"github.com/chainwalk/chainwalk/netfilter"
)

// Load fills the kernel's tables of one family from iptables-save text, with or
// without counters and comments. The tables in the text replace those in the kernel.
// name is what errors call the text; they are *ParseError. Accounting objects
// that rules name are made. A rule with an extension that is not known is kept as an OpaqueRule.
func (k *Kernel) Load(f netfilter.Family, name string, r io.Reader) error {
	return k.load(f, name, r, true)
}

// load is Load. Extensions need not be known in what is foreign.
func (k *Kernel) load(f netfilter.Family, name string, r io.Reader, foreign bool) error {
	text, err := readAll(r)
	if err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	k.namespace.Lock()
	defer k.namespace.Unlock()
	k.addNamedObjects(text)
	restore := newRestorer(f, caller{kernel: k}, xtables.FactsOf(f).Tool+"-restore", io.Discard)
	defer restore.close()
	restore.counters = true
	restore.dump = &dumpText{source: name, foreign: foreign, words: &restore.parser.args}
	restore.parser.dump = restore.dump
	before := k.Ruleset(f)
	if err := restore.run(endLine(text)); err != nil {
		k.rulesets[indexOf(f)].Store(before)
		return parseError(name, text, err)
	}
	k.orderAs(f, text)
	return nil
}

// LoadSave returns a new kernel with the ruleset of iptables-save text; see Kernel.Load.
func LoadSave(f netfilter.Family, d netfilter.Dialect, name string, r io.Reader) (*Kernel, error) {
	k := New(Options{Dialect: d})
	if err := k.Load(f, name, r); err != nil {
		return nil, err
	}
	return k, nil
}

// endLine sees to it that the last line ends: files are often copied without.
func endLine(text []byte) []byte {
	if len(text) > 0 && text[len(text)-1] != '\n' {
		return append(text, '\n')
	}
	return text
}

// orderAs gives the tables the order of the text, which is the order of loading (legacy).
func (k *Kernel) orderAs(f netfilter.Family, text []byte) {
	if k.dialect == netfilter.NFT {
		return
	}
	place := map[string]int{}
	for line := range bytes.Lines(text) {
		if line[0] == '*' {
			place[string(xtables.FirstWord(line[1:]))] = len(place)
		}
	}
	tables := slices.Clone(k.Ruleset(f).Tables())
	slices.SortStableFunc(tables, func(a, b *ruleset.Table) int {
		pa, ina := place[a.Name()]
		pb, inb := place[b.Name()]
		if ina && inb {
			return pa - pb
		}
		return 0
	})
	k.rulesets[indexOf(f)].Store(ruleset.New(f, k.dialect, tables...))
}

// addNamedObjects makes every accounting object that the text names.
func (k *Kernel) addNamedObjects(text []byte) {
	option := []byte("--nfacct-name ")
	for {
		_, rest, ok := bytes.Cut(text, option)
		if !ok {
			return
		}
		text = rest
		name := xtables.FirstWord(rest)
		// It may be there, or be no name: the rule then says so.
		_ = k.namespace.Accounts().Add(string(name))
	}
}

// parseError puts an error of the input into words for people.
func parseError(name string, text []byte, err error) error {
	var placed *restoreError
	if !errors.As(err, &placed) {
		return fmt.Errorf("%s: %w", name, err)
	}
	p := &ParseError{File: name, Line: placed.line, Column: placed.column, Token: placed.token, Msg: placed.err.Error()}
	switch {
	case errors.Is(err, errLineFailed):
		p.Msg = notInTable(lineOf(text, placed.line))
	case errors.Is(err, errCommitExpected):
		p.Msg = "COMMIT expected: " + cutOff
	}
	// An error that the tools notice with the commit names the line that it comes from.
	var commit *ruleset.CommitError
	switch atCommit := errors.As(err, &commit); {
	case !atCommit && !bytes.HasSuffix(text, []byte("\n")) && placed.line == bytes.Count(text, []byte("\n"))+1:
		p.Msg += ": " + cutOff
	case atCommit && commit.Line > 0:
		p.Line, p.Column = commit.Line, 1
	case placed.origin != nil:
		p.Line, p.Column, p.Token = placed.origin.line, placed.origin.column, placed.origin.token
	}
	return p
}

// cutOff is what is likely if the last line cannot be.
const cutOff = "the text ends within a table: if it was cut off, give all of it"

// otherTools are the first words of what people give in the place of what iptables-save prints.
var otherTools = [...]struct{ begins, advice string }{
	{"Chain ", "what \"iptables -L\" prints does not say all of a rule: give what iptables-save prints"},
	{"-P ", inOneTable}, {"-N ", inOneTable}, {"-A ", inOneTable},
	{"table ", "what nft prints is not read: give what iptables-save prints"},
}

const inOneTable = "what \"iptables -S\" prints does not say its table: put a line \"*TABLE\", " +
	"such as *filter, before it, and COMMIT behind it"

// notInTable says what to do about a line that is in no table.
func notInTable(line []byte) string {
	for _, other := range otherTools {
		if bytes.HasPrefix(line, []byte(other.begins)) {
			return other.advice
		}
	}
	return fmt.Sprintf("not in a table: %.40q: a line \"*TABLE\" must come first; what is not of iptables-save is to be taken out", line)
}

// lineOf is a line of a text, by its number.
func lineOf(text []byte, number int) []byte {
	for line := range bytes.Lines(text) {
		if number--; number == 0 {
			return bytes.TrimRight(line, "\r\n")
		}
	}
	return nil
}
