package knft

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"sigs.k8s.io/knftables"
)

// entry is one object of a listing: its type and its fields.
type entry map[string]json.RawMessage

// list runs nft and returns the objects that it lists.
func (n *NFTables) list(ctx context.Context, args ...string) ([]entry, error) {
	out, err := n.run(ctx, "", append([]string{"--json"}, args...)...)
	if err != nil {
		return nil, fmt.Errorf("failed to run nft: %w", err)
	}
	var listing struct {
		Nftables []entry `json:"nftables"`
	}
	if err := json.Unmarshal(out, &listing); err != nil {
		return nil, fmt.Errorf("knft: reading a listing of nft: %w", err)
	}
	if len(listing.Nftables) == 0 {
		return nil, fmt.Errorf("knft: nft has listed nothing: %q", out)
	}
	var head struct {
		Version int `json:"json_schema_version"`
	}
	if err := json.Unmarshal(listing.Nftables[0]["metainfo"], &head); err != nil || head.Version != 1 {
		return nil, fmt.Errorf("knft: the listing of nft is not of version 1: %q", out)
	}
	return listing.Nftables[1:], nil
}

// ofType returns the objects of a type.
func ofType[T any](entries []entry, objectType string) ([]T, error) {
	var objects []T
	for _, e := range entries {
		fields, is := e[objectType]
		if !is {
			continue
		}
		var object T
		if err := json.Unmarshal(fields, &object); err != nil {
			return nil, fmt.Errorf("knft: reading a %s in a listing of nft: %w", objectType, err)
		}
		objects = append(objects, object)
	}
	return objects, nil
}

// named is an object that may have a name.
type named struct {
	Name *string `json:"name"`
}

// errAllTables is the error of listings of an NFTables without a table.
var errAllTables = errors.New("knft: there are listings only where New was given a family and a table")

// wholeTable lists the table without elements of sets.
func (n *NFTables) wholeTable(ctx context.Context) ([]entry, error) {
	return n.list(ctx, "--terse", "list", "table", string(n.family), n.table)
}

// ListAll returns the names of all objects of the table by their types, the table among them, in the order of nft's listing. Without the
// table, the error is IsNotFound.
func (n *NFTables) ListAll(ctx context.Context) (map[string][]string, error) {
	entries, err := n.wholeTable(ctx)
	if err != nil {
		return nil, err
	}
	all := map[string][]string{}
	for _, e := range entries {
		for objectType, fields := range e {
			var object named
			if err := json.Unmarshal(fields, &object); err != nil {
				return nil, fmt.Errorf("knft: reading a %s in a listing of nft: %w", objectType, err)
			}
			if object.Name != nil {
				all[objectType] = append(all[objectType], *object.Name)
			}
		}
	}
	return all, nil
}

// List returns the names of the objects of a type (chain, set, map, counter or flowtable, or the plural of it), in the order of nft's
// listing; nil if there are none. Without the table, the error is IsNotFound.
func (n *NFTables) List(ctx context.Context, objectType string) ([]string, error) {
	if n.table == "" {
		return nil, errAllTables
	}
	objectType = strings.TrimSuffix(objectType, "s")
	switch objectType {
	case "chain", "set", "map", "counter", "flowtable":
	default:
		return nil, fmt.Errorf("can't List() type %q", objectType)
	}
	entries, err := n.wholeTable(ctx)
	if err != nil {
		return nil, err
	}
	objects, err := ofType[named](entries, objectType)
	if err != nil {
		return nil, err
	}
	var names []string
	for _, o := range objects {
		if o.Name != nil {
			names = append(names, *o.Name)
		}
	}
	return names, nil
}

// ListRules returns the rules of a chain in their order, or those of all chains if it is empty: where they are, their handles and their
// comments, and not what they say. Their family and table are filled in, as the library does since v0.0.22.
func (n *NFTables) ListRules(ctx context.Context, chain string) ([]*knftables.Rule, error) {
	if n.table == "" {
		return nil, errAllTables
	}
	var entries []entry
	var err error
	if chain == "" {
		entries, err = n.wholeTable(ctx)
	} else {
		entries, err = n.list(ctx, "list", "chain", string(n.family), n.table, chain)
	}
	if err != nil {
		return nil, err
	}
	type rule struct {
		Chain   string  `json:"chain"`
		Handle  *int    `json:"handle"`
		Comment *string `json:"comment"`
	}
	listed, err := ofType[rule](entries, "rule")
	if err != nil {
		return nil, err
	}
	rules := make([]*knftables.Rule, 0, len(listed))
	for _, r := range listed {
		rules = append(rules, &knftables.Rule{Family: n.family, Table: n.table, Chain: r.Chain, Handle: r.Handle, Comment: r.Comment})
	}
	return rules, nil
}

// ListCounters returns the counters of the table that have names.
func (n *NFTables) ListCounters(ctx context.Context) ([]*knftables.Counter, error) {
	if n.table == "" {
		return nil, errAllTables
	}
	entries, err := n.list(ctx, "list", "counters", "table", string(n.family), n.table)
	if err != nil {
		return nil, err
	}
	type counter struct {
		Name    string  `json:"name"`
		Packets uint64  `json:"packets"`
		Bytes   uint64  `json:"bytes"`
		Handle  *int    `json:"handle"`
		Comment *string `json:"comment"`
	}
	listed, err := ofType[counter](entries, "counter")
	if err != nil {
		return nil, err
	}
	counters := make([]*knftables.Counter, 0, len(listed))
	for _, c := range listed {
		counters = append(counters, &knftables.Counter{
			Name: c.Name, Packets: &c.Packets, Bytes: &c.Bytes, Handle: c.Handle, Comment: c.Comment,
		})
	}
	return counters, nil
}
