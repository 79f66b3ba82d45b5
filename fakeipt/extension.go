package fakeipt

import (
	"math/bits"

	"github.com/chainwalk/chainwalk/netfilter"
)

// extension is a match or a target that has options of its own.
type extension struct {
	name    string
	options []optionSpec
	// onlyIn is the family it exists in, 0 for both.
	onlyIn netfilter.Family
	// gone says that the tools have it and the kernel has not.
	gone      bool
	newMatch  func() matchParser
	newTarget func() targetParser
}

// optionSpec is one option of an extension. Its place in the list is its id.
type optionSpec struct {
	name      string
	flag      bool // takes no argument
	invert    bool // may stand behind "!"
	multi     bool // may be given again; the parser sees to it itself
	mandatory bool
	aliasOf   string // the option that this is another spelling of
	excludes  uint32 // ids that cannot be given as well
	requires  uint32 // ids that must be given as well
	// rank is the option's number in the tool, where that is not its place: of several options in the way the one of the lowest is told.
	rank uint8
}

// matchParser makes one match of a rule. It is used again for the next rule.
type matchParser interface {
	begin(f netfilter.Family)
	option(o *optionCall) error
	finish(seen uint32) (Match, error)
}

// targetParser makes the target of a rule.
type targetParser interface {
	begin(f netfilter.Family)
	option(o *optionCall) error
	finish(seen uint32) (Target, error)
}

// find returns the id of an option, -1 if there is none of that name.
func (e *extension) find(name []byte) int {
	for i := range e.options {
		if e.options[i].name == string(name) {
			if alias := e.options[i].aliasOf; alias != "" {
				return e.find([]byte(alias))
			}
			return i
		}
	}
	return -1
}

// before makes the checks that an option has to pass when it is given.
func (e *extension) before(id int, invert bool, seen uint32) error {
	spec := &e.options[id]
	if seen&(1<<id) != 0 && !spec.multi {
		return badParameter("%s: option \"--%s\" can only be used once.\n", e.name, spec.name)
	}
	if invert && !spec.invert {
		return badParameter("%s: option \"--%s\" cannot be inverted.\n", e.name, spec.name)
	}
	return nil
}

// after makes the checks of all options that were given.
func (e *extension) after(seen uint32) error {
	for id := range e.options {
		spec := &e.options[id]
		if seen&(1<<id) == 0 {
			if spec.mandatory {
				return badParameter("%s: option \"--%s\" must be specified\n", e.name, spec.name)
			}
			continue
		}
		if id := e.first(spec.requires&^seen | spec.excludes&seen); id >= 0 {
			if spec.requires&^seen&(1<<id) != 0 {
				return badParameter("%s: option \"--%s\" also requires \"--%s\".\n", e.name, spec.name, e.options[id].name)
			}
			return badParameter("%s: option \"--%s\" cannot be used together with \"--%s\".\n", e.name, spec.name, e.options[id].name)
		}
	}
	return nil
}

// first is the option of the lowest rank in a set, -1 if that is empty.
func (e *extension) first(set uint32) int {
	first := -1
	for ; set != 0; set &= set - 1 {
		if id := bits.TrailingZeros32(set); first < 0 || e.options[id].rank < e.options[first].rank {
			first = id
		}
	}
	return first
}
