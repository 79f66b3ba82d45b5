package files

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
)

// object is an object of JSON, its values not read yet.
type object map[string]json.RawMessage

func (o object) has(keys ...string) bool {
	for _, key := range keys {
		if _, is := o[key]; !is {
			return false
		}
	}
	return true
}

// json reads the lists that the tools print with -j; there may be several in one file.
func (r *reader) json(text string) error {
	d := json.NewDecoder(strings.NewReader(text))
	for {
		var value json.RawMessage
		switch err := d.Decode(&value); {
		case errors.Is(err, io.EOF):
			return nil
		case err != nil:
			r.broken(err)
			return nil
		}
		var list []object
		if err := json.Unmarshal(value, &list); err != nil {
			r.other(value)
			continue
		}
		// Versions before 5.0 print an empty object for each device that they leave out.
		list = slices.DeleteFunc(list, func(o object) bool { return len(o) == 0 })
		if len(list) == 0 {
			r.empty()
		} else if err := r.list(list); err != nil {
			return err
		}
	}
}

// broken is text that begins as JSON and is none.
func (r *reader) broken(err error) {
	if r.anyUse {
		r.unread("file "+r.name, "not understood to its end: %v", err)
		return
	}
	r.ignore("it is neither JSON nor what the tools print as text: %v", err)
}

// other is JSON that is no list of objects.
func (r *reader) other(value json.RawMessage) {
	var o object
	_ = json.Unmarshal(value, &o) // of another type it has no keys
	if o.has("nftables") {
		r.anyUse = true
		r.nftJSON = append(r.nftJSON, nftListing{r.name, string(value)})
		return
	}
	r.ignore("it is JSON of another kind")
}

// list reads what one tool has printed.
func (r *reader) list(list []object) error {
	switch first := list[0]; {
	case first.has("ifindex", "ifname"):
		for _, l := range decoded[link](r, "device", list) {
			if err := r.addLink(&l); err != nil {
				return err
			}
		}
	case first.has("mac", "ifname"):
		r.tell(fdbEntries)
		r.fdb = append(r.fdb, decoded[fdbEntry](r, "forwarding entry", list)...)
	case first.has("dst", "lladdr") || first.has("dst", "dev", "state"):
		r.tell(neighbourTable)
		r.neighs = append(r.neighs, decoded[neighbour](r, "neighbour", list)...)
	case first.has("priority", "src"):
		r.addPolicyRules(r.policyRules(list))
	case first.has("dst", "flags") || first.has("dst", "dev") || first.has("dst", "nexthops"):
		r.addRoutes(decoded[route](r, "route", list))
	default:
		r.ignore("it is JSON of another kind")
	}
	return nil
}

// decoded are the objects that can be read.
func decoded[T any](r *reader, what string, list []object) []T {
	var items []T
	for _, o := range list {
		var item T
		if err := o.into(&item); err != nil {
			r.unread(fmt.Sprintf("%s in %s", what, r.name), "%v", err)
			continue
		}
		items = append(items, item)
	}
	return items
}

func (o object) into(item any) error {
	text, err := json.Marshal(o)
	if err != nil {
		return err
	}
	return json.Unmarshal(text, item)
}

// knownSelectors are the keys of a policy rule that a snapshot holds, or that say nothing about packets.
var knownSelectors = []string{
	"priority", "not", "src", "srclen", "dst", "dstlen", "fwmark", "fwmask", "iif", "oif", "table", "action", "protocol", "iif_detached",
	"oif_detached",
}

func (r *reader) policyRules(list []object) []policyRule {
	var rules []policyRule
	for _, o := range list {
		_, inverted := o["not"]
		delete(o, "not") // its value is null
		var q policyRule
		if err := o.into(&q); err != nil {
			r.unread("policy rule in "+r.name, "%v", err)
			continue
		}
		q.Not = inverted
		for _, key := range slices.Sorted(maps.Keys(o)) {
			if !slices.Contains(knownSelectors, key) {
				q.Others = append(q.Others, key)
			}
		}
		rules = append(rules, q)
	}
	return rules
}
