package xtables

import (
	"math/bits"

	"github.com/chainwalk/chainwalk/netfilter"
)

// Extension is a match or a target that has options of its own.
type Extension struct {
	Name    string
	Options []Option
	// OnlyIn is the family it exists in, 0 for both.
	OnlyIn netfilter.Family
	// Gone says that the tools have it and the kernel has not.
	Gone      bool
	NewMatch  func() MatchParser
	NewTarget func() TargetParser
}

// Option is one option of an extension. Its place in the list is its id.
type Option struct {
	Name      string
	Flag      bool // takes no argument
	Invert    bool // may stand behind "!"
	Multi     bool // may be given again; the parser sees to it itself
	Mandatory bool
	AliasOf   string // the option that this is another spelling of
	Excludes  uint32 // ids that cannot be given as well
	Requires  uint32 // ids that must be given as well
	// Rank is the option's number in the tool, where that is not its place: of several options in the way the one of the lowest is told.
	Rank uint8
}

// MatchParser makes one match of a rule. It is used again for the next rule.
type MatchParser interface {
	Begin(f netfilter.Family)
	Option(o *OptionCall) error
	Finish(seen uint32) (Match, error)
}

// TargetParser makes the target of a rule.
type TargetParser interface {
	Begin(f netfilter.Family)
	Option(o *OptionCall) error
	Finish(seen uint32) (Target, error)
}

// Find returns the id of an option, -1 if there is none of that name.
func (e *Extension) Find(name []byte) int {
	for i := range e.Options {
		if e.Options[i].Name == string(name) {
			if alias := e.Options[i].AliasOf; alias != "" {
				return e.Find([]byte(alias))
			}
			return i
		}
	}
	return -1
}

// Before makes the checks that an option has to pass when it is given.
func (e *Extension) Before(id int, invert bool, seen uint32) error {
	spec := &e.Options[id]
	if seen&(1<<id) != 0 && !spec.Multi {
		return BadParameter("%s: option \"--%s\" can only be used once.\n", e.Name, spec.Name)
	}
	if invert && !spec.Invert {
		return BadParameter("%s: option \"--%s\" cannot be inverted.\n", e.Name, spec.Name)
	}
	return nil
}

// After makes the checks of all options that were given.
func (e *Extension) After(seen uint32) error {
	for id := range e.Options {
		spec := &e.Options[id]
		if seen&(1<<id) == 0 {
			if spec.Mandatory {
				return BadParameter("%s: option \"--%s\" must be specified\n", e.Name, spec.Name)
			}
			continue
		}
		if id := e.first(spec.Requires&^seen | spec.Excludes&seen); id >= 0 {
			if spec.Requires&^seen&(1<<id) != 0 {
				return BadParameter("%s: option \"--%s\" also requires \"--%s\".\n", e.Name, spec.Name, e.Options[id].Name)
			}
			return BadParameter("%s: option \"--%s\" cannot be used together with \"--%s\".\n", e.Name, spec.Name, e.Options[id].Name)
		}
	}
	return nil
}

// first is the option of the lowest rank in a set, -1 if that is empty.
func (e *Extension) first(set uint32) int {
	first := -1
	for ; set != 0; set &= set - 1 {
		if id := bits.TrailingZeros32(set); first < 0 || e.Options[id].Rank < e.Options[first].Rank {
			first = id
		}
	}
	return first
}

// In is the extension if the family has it, else nil.
func (e *Extension) In(f netfilter.Family) *Extension {
	if e != nil && e.OnlyIn != 0 && e.OnlyIn != f {
		return nil
	}
	return e
}

// GivingParser is a parser of which one option gives others: their ids.
type GivingParser interface{ AlsoSeen() uint32 }
