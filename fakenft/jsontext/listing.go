package jsontext

import (
	"cmp"
	"encoding/json"
	"errors"
	"slices"

	"github.com/chainwalk/chainwalk/fakenft/syntax"
)

// errNoListing says that a text is JSON, and no listing of nft.
var errNoListing = errors.New(`is no listing of nft: it has no list "nftables"`)

// Listing reads what "nft -j list ruleset" has printed as commands that make it. There maps come before the chains that they lead to, which
// the kernel does not take, so the commands are in another order; and rules keep the handles that are told of them, which would say where
// to put them otherwise. Mistakes are as those of Commands. The error says what the text is in the place of a listing.
func Listing(in *syntax.Input) (commands []*syntax.Command, mistakes []*syntax.Mistake, err error) {
	root, ok := parse(in.Text)
	if !ok {
		return nil, nil, whyNoJSON(in.Text)
	}
	list := root.get("nftables")
	if list == nil || list.kind != array {
		return nil, nil, errNoListing
	}
	slices.SortStableFunc(list.items, func(a, b value) int { return cmp.Compare(a.rank(), b.rank()) })
	var handles []uint64
	for i := range list.items {
		if rule := list.items[i].get("rule"); rule != nil {
			handles = append(handles, rule.takeHandle())
		}
	}
	r := newReader(in)
	commands, ok = r.commands(root)
	if !ok {
		return nil, r.mistakes, nil
	}
	for _, c := range commands {
		if c.Rule != nil && len(handles) > 0 {
			c.Rule.Want, handles = handles[0], handles[1:]
		}
	}
	return commands, r.mistakes, nil
}

// whyNoJSON is in the words of encoding/json, which has some; it takes what nft does not.
func whyNoJSON(text string) error {
	if err := json.Unmarshal([]byte(text), new(any)); err != nil {
		return err
	}
	return errors.New("is no JSON that nft reads")
}

// ranks are the kinds of objects in the order in which the kernel takes them: what is named before what names it.
var ranks = map[string]int{
	"table": 1, "chain": 2, "counter": 3, "quota": 3, "limit": 3, "ct helper": 3, "ct timeout": 3, "ct expectation": 3, "synproxy": 3,
	"secmark": 3, "flowtable": 3, "set": 4, "map": 4, "meter": 4, "element": 5, "rule": 6,
}

// rank is that of an object in a listing; 0 for what is of no kind.
func (v *value) rank() int {
	if v.kind != object || len(v.items) == 0 {
		return 0
	}
	return ranks[v.items[0].key]
}

// takeHandle takes the handle out of what a listing says of a rule; 0 if there is none.
func (v *value) takeHandle() uint64 {
	handle := v.get("handle")
	if handle == nil || handle.kind != integer {
		return 0
	}
	number := handle.num
	v.items = slices.DeleteFunc(v.items, func(item value) bool { return item.key == "handle" })
	return uint64(max(number, 0))
}
