package fakenft

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"github.com/chainwalk/chainwalk/fakenft/check"
	"github.com/chainwalk/chainwalk/fakenft/compile"
	"github.com/chainwalk/chainwalk/fakenft/jsontext"
	"github.com/chainwalk/chainwalk/fakenft/parse"
	"github.com/chainwalk/chainwalk/fakenft/syntax"
	"github.com/chainwalk/chainwalk/netfilter/nftables"
)

// TableName names a table: of two families, both may have one of a name.
type TableName struct {
	Family nftables.Family
	Name   string
}

// TableNameOf names a table by the word that nft has for its family: "inet", "ip6".
func TableNameOf(family, name string) TableName {
	f, _ := syntax.FamilyNamed(family)
	return TableName{f, name}
}

// LoadError is why a listing cannot be loaded. Nothing of it was loaded then.
type LoadError struct {
	// Name is the listing's; Line and Column say where in it, from 1; 0: that is not known, as of JSON.
	Name         string
	Line, Column int
	Text         string
}

// Error is the place and the text.
func (e *LoadError) Error() string {
	if e.Line == 0 {
		return e.Name + ": " + e.Text
	}
	return fmt.Sprintf("%s:%d:%d: %s", e.Name, e.Line, e.Column, e.Text)
}

// IsListing says whether a text is what nft prints of tables, as text or as JSON.
func IsListing(text string) bool {
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		switch {
		case line == "" || strings.HasPrefix(line, "#"):
			continue
		case strings.HasPrefix(line, "{"):
			rest := strings.TrimLeft(line[1:], " \t\r\n")
			return strings.HasPrefix(rest, `"nftables"`) || rest == "" && strings.Contains(text[:min(len(text), 64)], `"nftables"`)
		}
		return strings.HasPrefix(line, "table ") && strings.Contains(line, "{")
	}
	return false
}

// Load gives the kernel the tables of what "nft list ruleset" has printed, as text or with -j, of this version or a newer one. In JSON maps
// come before the chains that they lead to, so that nft itself would not take it. Tables that skip names, if it is not nil, are left out.
func (t *Tools) Load(name string, listing io.Reader, skip func(TableName) bool) error {
	text, err := io.ReadAll(listing)
	if err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	in := &syntax.Input{Name: name, Text: string(text)}
	commands, err := readListing(in, text)
	if err != nil {
		return err
	}
	keepHandles(in, commands)
	if skip != nil {
		commands = slices.DeleteFunc(commands, func(c *syntax.Command) bool { return skip(TableName{c.Handle.Family, c.Handle.Table}) })
	}
	return t.load(in, commands)
}

// readListing reads the commands that make what a listing has.
func readListing(in *syntax.Input, text []byte) ([]*syntax.Command, error) {
	if bytes.HasPrefix(bytes.TrimLeft(text, " \t\r\n"), []byte("{")) {
		ordered, handles, err := orderedJSON(text)
		if err != nil {
			return nil, &LoadError{Name: in.Name, Text: err.Error()}
		}
		in.Text = ordered
		commands, mistakes, isJSON := jsontext.Commands(in)
		if !isJSON {
			return nil, &LoadError{Name: in.Name, Text: "is no JSON"}
		}
		number := 0
		for _, c := range commands {
			if c.Rule != nil && number < len(handles) {
				c.Rule.Want = handles[number]
				number++
			}
		}
		return commands, loadError(in, mistakes)
	}
	commands, mistakes := parse.Text(in, parse.Options{})
	return commands, loadError(in, mistakes)
}

// keepHandles lets the rules of a listing in text have the handles that it tells of them, as "nft -a" does behind each rule.
func keepHandles(in *syntax.Input, commands []*syntax.Command) {
	if !strings.Contains(in.Text, "# handle ") {
		return
	}
	lines := strings.Split(in.Text, "\n")
	for _, c := range commands {
		if c.Table == nil {
			continue
		}
		for _, chain := range c.Table.Chains {
			for _, rule := range chain.Rules {
				rule.Want = handleFrom(lines, int(rule.Loc.Line))
			}
		}
	}
}

// handleFrom is the handle that ends the first line with one, from a line on, which are counted from 1; 0 if there is none.
func handleFrom(lines []string, number int) uint64 {
	for _, line := range lines[min(max(number-1, 0), len(lines)):] {
		if _, text, has := strings.Cut(line, " # handle "); has {
			handle, _ := strconv.ParseUint(strings.TrimSpace(text), 10, 64)
			return handle
		}
	}
	return 0
}

// loadError is the first of the mistakes that is more than a warning; nil if there is none.
func loadError(in *syntax.Input, mistakes []*syntax.Mistake) error {
	for _, m := range mistakes {
		if m.Warning {
			continue
		}
		e := &LoadError{Name: in.Name, Text: m.Text}
		if len(m.At) > 0 && m.At[0].In == in {
			e.Line, e.Column = int(m.At[0].Line), int(m.At[0].First)
		}
		return e
	}
	return nil
}

// load carries commands out, all of them or none.
func (t *Tools) load(in *syntax.Input, commands []*syntax.Command) error {
	t.namespace.Lock()
	defer t.namespace.Unlock()
	r := &run{invocation: &invocation{}, tools: t, state: t.kernel.State()}
	checker := check.New(&world{run: r, need: needOf(commands, false)})
	checker.Newer = true
	if err := loadError(in, checker.Commands(commands)); err != nil {
		return err
	}
	var requests []compile.Request
	var changes []nftables.Change
	for _, c := range commands {
		compiled, err := compile.Command(c)
		if err != nil {
			return loadError(in, []*syntax.Mistake{syntax.Wrong(err.Error(), c.Loc)})
		}
		for _, one := range compiled {
			requests, changes = append(requests, one), append(changes, one.Change)
		}
	}
	refusals := t.kernel.Commit(changes)
	if len(refusals) == 0 {
		return nil
	}
	first := &refusals[0]
	at := requests[first.Change].Places(first.Part, first.Index)
	return loadError(in, []*syntax.Mistake{syntax.Wrong("the kernel refuses this: "+first.Errno.Error(), at)})
}

// ranks are the kinds of objects in JSON in the order in which the kernel takes them: what is named before what names it.
var ranks = map[string]int{
	"table": 1, "chain": 2, "counter": 3, "quota": 3, "limit": 3, "ct helper": 3, "ct timeout": 3, "ct expectation": 3, "synproxy": 3, "secmark": 3,
	"flowtable": 3, "set": 4, "map": 4, "meter": 4, "element": 5, "rule": 6,
}

// orderedJSON is a listing with its objects in the order of ranks, and the handles of its rules, which are left out of it: there they would
// say where to put the rules.
func orderedJSON(text []byte) (ordered string, handles []uint64, err error) {
	var listing struct {
		Objects []map[string]json.RawMessage `json:"nftables"`
	}
	if err := json.Unmarshal(text, &listing); err != nil {
		return "", nil, err
	}
	if listing.Objects == nil {
		return "", nil, errors.New(`is no listing of nft: it has no list "nftables"`)
	}
	for _, o := range listing.Objects {
		if rule, is := o["rule"]; is {
			var fields map[string]json.RawMessage
			if err := json.Unmarshal(rule, &fields); err != nil {
				return "", nil, err
			}
			handle, _ := strconv.ParseUint(string(fields["handle"]), 10, 64)
			handles = append(handles, handle)
			delete(fields, "handle")
			if o["rule"], err = json.Marshal(fields); err != nil {
				return "", nil, err
			}
		}
	}
	slices.SortStableFunc(listing.Objects, func(a, b map[string]json.RawMessage) int { return cmp.Compare(rankOf(a), rankOf(b)) })
	out, err := json.Marshal(listing)
	return string(out), handles, err
}

func rankOf(object map[string]json.RawMessage) int {
	for kind := range object {
		return ranks[kind]
	}
	return 0
}
