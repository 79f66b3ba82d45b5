package fakenft

import (
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"github.com/chainwalk/chainwalk/fakenft/check"
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
	in, commands, err := listingOf(name, listing)
	if err != nil {
		return err
	}
	if skip != nil {
		commands = slices.DeleteFunc(commands, func(c *syntax.Command) bool { return skip(TableName{c.Handle.Family, c.Handle.Table}) })
	}
	return t.load(in, commands)
}

// LoadPlaces is Load of all tables, and says where in the listing their rules stand. It returns none of a listing in JSON.
func (t *Tools) LoadPlaces(name string, listing io.Reader) ([]RulePlace, error) {
	in, commands, err := listingOf(name, listing)
	if err != nil {
		return nil, err
	}
	var places []RulePlace
	if !isJSON(in.Text) {
		places = placesOf(commands)
	}
	if err := t.load(in, commands); err != nil {
		return nil, err
	}
	return places, nil
}

// listingOf reads a listing.
func listingOf(name string, listing io.Reader) (*syntax.Input, []*syntax.Command, error) {
	text, err := readText(listing)
	if err != nil {
		return nil, nil, fmt.Errorf("%s: %w", name, err)
	}
	in := &syntax.Input{Name: name, Text: text}
	commands, err := readListing(in)
	if err != nil {
		return nil, nil, err
	}
	keepHandles(in, commands)
	return in, commands, nil
}

// isJSON says whether a listing is what nft prints with -j.
func isJSON(listing string) bool { return strings.HasPrefix(strings.TrimLeft(listing, " \t\r\n"), "{") }

// readListing reads the commands that make what a listing has.
func readListing(in *syntax.Input) ([]*syntax.Command, error) {
	if isJSON(in.Text) {
		commands, mistakes, err := jsontext.Listing(in)
		if err != nil {
			return nil, &LoadError{Name: in.Name, Text: err.Error()}
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
			for i, rule := range chain.Rules {
				end := len(lines)
				if i+1 < len(chain.Rules) {
					end = int(chain.Rules[i+1].Loc.Line) - 1
				}
				begin := int(rule.Loc.Line) - 1
				rule.Want = handleOf(lines[begin:max(begin+1, end)])
			}
		}
	}
}

// handleOf is the handle that ends one of the lines up to the end of a block; 0 if there is none.
func handleOf(lines []string) uint64 {
	for _, line := range lines {
		if _, text, has := strings.Cut(line, " # handle "); has {
			handle, _ := strconv.ParseUint(strings.TrimSpace(text), 10, 64)
			return handle
		}
		if strings.TrimSpace(line) == "}" {
			break
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
	if err := t.checkLoaded(in, commands); err != nil {
		return err
	}
	asked := newAsked(commands)
	for _, c := range commands {
		if err := asked.add(c); err != nil {
			return loadError(in, []*syntax.Mistake{syntax.Wrong(err.Error(), c.Loc)})
		}
	}
	for _, change := range asked.changes {
		if object, is := change.(*nftables.AddObject); is {
			object.Elsewhere = true
		}
	}
	refusals := t.kernel.Commit(asked.changes)
	if len(refusals) == 0 {
		return nil
	}
	first := &refusals[0]
	return loadError(in, []*syntax.Mistake{syntax.Wrong("the kernel refuses this: "+first.Errno.Error(), asked.place(first))})
}

// checkLoaded evaluates the commands of a listing, of this version of nft or a newer one. The namespace is locked.
func (t *Tools) checkLoaded(in *syntax.Input, commands []*syntax.Command) error {
	r := &run{invocation: &invocation{}, tools: t, view: view{state: t.kernel.State()}}
	checker := check.New(&world{run: r, need: needOf(commands, false)})
	checker.Newer = true
	return loadError(in, checker.Commands(commands))
}
