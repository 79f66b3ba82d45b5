package nftables

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
)

// Table is what a table holds, apart from rules and elements.
type Table struct {
	// Chains, Sets and Maps are by name.
	Chains map[string]Chain
	Sets   map[string]Set
	Maps   map[string]Set
}

// Chain is a chain. Only one at a hook has a type, a hook and a priority.
type Chain struct {
	Type, Hook string
	Priority   int
}

// Set is a set, or a map.
type Set struct {
	// Type is that of the elements, as nft's JSON spells it: a string, or the strings of a concatenation joined by " . ".
	Type string
	// Verdicts says that it is a map whose values are verdicts.
	Verdicts bool
	// Timeout is how many seconds an element lives; 0: for ever.
	Timeout int
	// Dynamic is not told by nft 1.0.6, Timeouts says that elements may have a timeout.
	Timeouts bool
}

// Table implements Interface.
func (r *Runner) Table(name string) (*Table, error) {
	output, err := r.run(nil, "--json", "--terse", "list", "table", Word(r.family), name)
	if err != nil {
		return nil, err
	}
	table, err := parseTable(output)
	if err != nil {
		return nil, fmt.Errorf("listing table %s %s: %w", Word(r.family), name, err)
	}
	return table, nil
}

// objects returns the objects of a listing, each as {"kind": {...}}, without reading what they hold.
func objects(output []byte) ([]json.RawMessage, error) {
	var listing struct {
		Objects []json.RawMessage `json:"nftables"`
	}
	if err := json.Unmarshal(output, &listing); err != nil {
		return nil, fmt.Errorf("nft's JSON: %w", err)
	}
	if len(listing.Objects) == 0 {
		return nil, errors.New("nft's JSON has no metainfo")
	}
	var first struct {
		Metainfo struct {
			Schema int `json:"json_schema_version"`
		} `json:"metainfo"`
	}
	if err := json.Unmarshal(listing.Objects[0], &first); err != nil || first.Metainfo.Schema != 1 {
		return nil, fmt.Errorf("nft's JSON is of schema %d: 1 is known", first.Metainfo.Schema)
	}
	return listing.Objects[1:], nil
}

// chainObject and setObject are chains, and sets and maps, in nft's JSON.
type (
	chainObject struct {
		Name     string `json:"name"`
		Type     string `json:"type"`
		Hook     string `json:"hook"`
		Priority int    `json:"prio"`
	}
	setObject struct {
		Name    string          `json:"name"`
		Type    json.RawMessage `json:"type"`
		Map     string          `json:"map"`
		Flags   json.RawMessage `json:"flags"`
		Timeout int             `json:"timeout"`
	}
)

// parseTable reads what nft prints of a table. It passes over the rules, which are most of it.
func parseTable(output []byte) (*Table, error) {
	all, err := objects(output)
	if err != nil {
		return nil, err
	}
	table := &Table{Chains: map[string]Chain{}, Sets: map[string]Set{}, Maps: map[string]Set{}}
	for _, object := range all {
		if bytes.HasPrefix(object, []byte(`{"rule"`)) {
			continue
		}
		var named struct {
			Chain *chainObject `json:"chain"`
			Set   *setObject   `json:"set"`
			Map   *setObject   `json:"map"`
		}
		if err := json.Unmarshal(object, &named); err != nil {
			return nil, fmt.Errorf("nft's JSON: %w", err)
		}
		switch {
		case named.Chain != nil:
			table.Chains[named.Chain.Name] = Chain{Type: named.Chain.Type, Hook: named.Chain.Hook, Priority: named.Chain.Priority}
		case named.Set != nil:
			table.Sets[named.Set.Name] = named.Set.set()
		case named.Map != nil:
			table.Maps[named.Map.Name] = named.Map.set()
		}
	}
	return table, nil
}

func (o *setObject) set() Set {
	return Set{
		Type:     strings.Join(words(o.Type), " . "),
		Verdicts: o.Map == "verdict",
		Timeout:  o.Timeout,
		Timeouts: bytes.Contains(o.Flags, []byte(`"timeout"`)),
	}
}

// words reads a string, or a list of them. Newer tools print what they have not got a word for as an object: that is no type of ours.
func words(value json.RawMessage) []string {
	var one string
	if json.Unmarshal(value, &one) == nil {
		return []string{one}
	}
	var several []string
	if json.Unmarshal(value, &several) == nil {
		return several
	}
	return nil
}

// Jumps implements Interface.
func (r *Runner) Jumps(table, chain, target string) (bool, error) {
	output, err := r.run(nil, "--json", "--terse", "list", "chain", Word(r.family), table, chain)
	if errors.Is(err, ErrNotFound) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	all, err := objects(output)
	if err != nil {
		return false, fmt.Errorf("listing chain %s %s %s: %w", Word(r.family), table, chain, err)
	}
	for _, object := range all {
		if jumps(object, target) {
			return true, nil
		}
	}
	return false, nil
}

// jumps says whether the object is a rule that leads to the chain.
func jumps(object json.RawMessage, target string) bool {
	type destination struct {
		Target string `json:"target"`
	}
	var named struct {
		Rule struct {
			Expr []struct {
				Jump, Goto destination
			} `json:"expr"`
		} `json:"rule"`
	}
	if json.Unmarshal(object, &named) != nil {
		return false // an expression that is no object is none of ours
	}
	for _, expr := range named.Rule.Expr {
		if expr.Jump.Target == target || expr.Goto.Target == target {
			return true
		}
	}
	return false
}
