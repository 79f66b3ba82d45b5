package fakeipt

import (
	"math/bits"
	"syscall"

	"github.com/chainwalk/chainwalk/fakeipt/ipset"
	"github.com/chainwalk/chainwalk/fakeipt/nfacct"
)

// extension is a match or a target that has options of its own.
type extension struct {
	name    string
	options []optionSpec
	// onlyIn is the family it exists in, 0 for both.
	onlyIn    Family
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
}

// optionCall is one option as it was given.
type optionCall struct {
	name   string
	arg    []byte
	invert bool
	family Family
	proto  ProtoMatch            // what -p said up to here
	next   func() ([]byte, bool) // a further argument

	caller
}

// matchParser makes one match of a rule. It is used again for the next rule.
type matchParser interface {
	begin(f Family)
	option(o *optionCall) error
	finish(seen uint32) (Match, error)
}

// targetParser makes the target of a rule.
type targetParser interface {
	begin(f Family)
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
		if missing := spec.requires &^ seen; missing != 0 {
			return badParameter("%s: option \"--%s\" also requires \"--%s\".\n", e.name, spec.name, e.options[bits.TrailingZeros32(missing)].name)
		}
		if both := spec.excludes & seen; both != 0 {
			return badParameter("%s: option \"--%s\" cannot be used together with \"--%s\".\n", e.name, spec.name, e.options[bits.TrailingZeros32(both)].name)
		}
	}
	return nil
}

// badInteger is the error of an option's value that is no number in its range.
func (o *optionCall) badInteger(ext string) error {
	return badParameter("%s: bad integer value for option \"--%s\", or out of range.\n", ext, o.name)
}

// slab hands out places for values, many from one allocation.
type slab[T any] struct {
	free []T
}

const slabSize = 128

// alloc returns a place for one value. Small restores pin little, big ones allocate seldom.
func (a *slab[T]) alloc() *T {
	if len(a.free) == cap(a.free) {
		a.free = make([]T, 0, min(max(2*cap(a.free), 1), slabSize))
	}
	a.free = a.free[:len(a.free)+1]
	return &a.free[len(a.free)-1]
}

// arena gives equal values the same pointer, and others a place in a slab: most
// matches and targets of a big ruleset are equal to another one. One arena lives as
// long as one restore.
type arena[T comparable] struct {
	slab[T]
	known map[T]*T
}

// intern returns a pointer to a value that nobody may change any more.
func (a *arena[T]) intern(v T) *T {
	if p, ok := a.known[v]; ok {
		return p
	}
	if a.known == nil {
		a.known = map[T]*T{}
	}
	p := a.alloc()
	*p = v
	a.known[v] = p
	return p
}

// checkContext is what the kernel's check of one match or target can see.
type checkContext struct {
	family  Family
	dialect Dialect
	table   *tableKind
	rule    *Rule
	objects *nfacct.Table
	sets    *ipset.Table
}

// checker is a match or target that the kernel may refuse wherever the chain is.
type checker interface {
	check(c *checkContext) syscall.Errno
}

// hookLimited is a match or target that may only be used in chains which certain hooks reach.
type hookLimited interface {
	// allowedHooks are those hooks. hidden is set for a user-defined chain of the nft tools: the kernel then holds the
	// hooks that an extension is registered for, but does not show the hooks to a check of its own.
	allowedHooks(hidden bool) hookMask
}

// unlike is a match that may be saved as another one is and still is another one to the tools.
type unlike interface {
	unlike(other Match) bool
}

// unlikeMatches compares what is not in the text of two rules that are saved alike.
func unlikeMatches(a, b []Match) bool {
	for i := range a {
		if u, ok := a[i].(unlike); ok && u.unlike(b[i]) {
			return true
		}
	}
	return false
}

// wantProto is the kernel's check of a match that needs its protocol.
func (c *checkContext) wantProto(number uint8) syscall.Errno {
	if c.rule.Proto.Number != number || c.rule.Proto.Invert {
		return syscall.EINVAL
	}
	return 0
}

// wantTable is the kernel's check of a target that belongs to one table.
func (c *checkContext) wantTable(name string) syscall.Errno {
	if c.table.name != name {
		return syscall.EINVAL
	}
	return 0
}
