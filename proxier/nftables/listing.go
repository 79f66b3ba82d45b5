package nftables

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
)

// Sets implements Interface.
func (r *Runner) Sets(table string) (map[string]Set, error) {
	sets := map[string]Set{}
	err := r.list(func(o *object) {
		if o.Set != nil && o.Set.Table == table {
			sets[o.Set.Name] = o.Set.set()
		}
	}, "--terse", "list", "sets", "table", Word(r.family), table)
	if err != nil {
		return nil, err
	}
	return sets, nil
}

// Chains implements Interface. It has nft list those of all tables of the family, for which nft need not read their rules.
func (r *Runner) Chains(table string) (map[string]Chain, error) {
	chains := map[string]Chain{}
	err := r.list(func(o *object) {
		if o.Chain != nil && o.Chain.Table == table {
			chains[o.Chain.Name] = Chain{Type: o.Chain.Type, Hook: o.Chain.Hook, Priority: o.Chain.Priority}
		}
	}, "list", "chains", Word(r.family))
	if err != nil {
		return nil, err
	}
	return chains, nil
}

// InUse implements Interface. It asks whether the kernel would delete the chain.
func (r *Runner) InUse(table, chain string) (bool, error) {
	_, err := r.run(nil, "--check", "delete", "chain", Word(r.family), table, chain)
	switch {
	case err == nil, errors.Is(err, ErrNotFound):
		return false, nil
	case errors.Is(err, errBusy):
		return true, nil
	default:
		return false, err
	}
}

// object is one of a listing in nft's JSON. Of what it may be, only what is asked for is read.
type object struct {
	Metainfo *struct {
		Schema int `json:"json_schema_version"`
	} `json:"metainfo"`
	Chain *chainObject `json:"chain"`
	Set   *setObject   `json:"set"`
}

type chainObject struct {
	Table    string `json:"table"`
	Name     string `json:"name"`
	Type     string `json:"type"`
	Hook     string `json:"hook"`
	Priority int    `json:"prio"`
}

type setObject struct {
	Table   string    `json:"table"`
	Name    string    `json:"name"`
	Type    nameOrSet `json:"type"`
	Flags   nameOrSet `json:"flags"`
	Timeout int       `json:"timeout"`
}

func (o *setObject) set() Set {
	timeouts := false
	for _, flag := range o.Flags {
		timeouts = timeouts || flag == "timeout"
	}
	return Set{Type: strings.Join(o.Type, " . "), Timeout: o.Timeout, Timeouts: timeouts}
}

// nameOrSet is a name, or several. What newer tools print as an object is none that is known here, and is left out.
type nameOrSet []string

// UnmarshalJSON implements json.Unmarshaler. It takes anything.
func (n *nameOrSet) UnmarshalJSON(text []byte) error {
	var one string
	if json.Unmarshal(text, &one) == nil {
		*n = nameOrSet{one}
		return nil
	}
	var several []string
	if json.Unmarshal(text, &several) == nil {
		*n = several
	}
	return nil
}

// list has nft list objects as JSON, and calls visit with each.
func (r *Runner) list(visit func(*object), args ...string) error {
	output, err := r.run(nil, append([]string{"--json"}, args...)...)
	if err != nil {
		return err
	}
	if err := eachObject(output, visit); err != nil {
		return fmt.Errorf("%s %s: %w", r.tool, strings.Join(args, " "), err)
	}
	return nil
}

// eachObject calls visit with each object of a listing but the first, which says how the listing is to be read.
func eachObject(output []byte, visit func(*object)) error {
	var listing struct {
		Objects []object `json:"nftables"`
	}
	if err := json.Unmarshal(output, &listing); err != nil {
		return fmt.Errorf("JSON: %w", err)
	}
	if len(listing.Objects) == 0 || listing.Objects[0].Metainfo == nil {
		return errors.New("JSON: the listing does not begin with metainfo")
	}
	if schema := listing.Objects[0].Metainfo.Schema; schema != 1 {
		return fmt.Errorf("JSON: schema %d is not known: 1 is", schema)
	}
	for i := range listing.Objects[1:] {
		visit(&listing.Objects[i+1])
	}
	return nil
}
