package fakeipt

import (
	"math"
	"slices"
	"strings"

	"github.com/chainwalk/chainwalk/fakeipt/match"
	"github.com/chainwalk/chainwalk/fakeipt/xtables"
	"github.com/chainwalk/chainwalk/internal/libc"
	"github.com/chainwalk/chainwalk/netfilter"
)

// ruleExtensions are the matches and the target of the rule that is being read.
type ruleExtensions struct {
	loaded []loadedExtension // in the order they were loaded, the target among them
	pools  map[*xtables.Extension]*parserPool
	call   xtables.OptionCall
	args   *argumentReader
	// protocolTried says that the protocol's own match was looked for.
	protocolTried bool
}

// loadedExtension is a match or the target of the rule that is being read.
type loadedExtension struct {
	ext    *xtables.Extension
	match  xtables.MatchParser
	target xtables.TargetParser
	seen   uint32
}

// parserPool keeps the parsers of an extension for the next rule.
type parserPool struct {
	matches []xtables.MatchParser
	used    int
	target  xtables.TargetParser
}

func newRuleExtensions(f netfilter.Family, t xtables.Tool, args *argumentReader) ruleExtensions {
	return ruleExtensions{pools: map[*xtables.Extension]*parserPool{}, args: args,
		call: xtables.OptionCall{Tool: t, Family: f, Next: args.further}}
}

// begin forgets the rule before.
func (x *ruleExtensions) begin() {
	for i := range x.loaded {
		x.pools[x.loaded[i].ext].used = 0
	}
	x.loaded, x.protocolTried = x.loaded[:0], false
}

func (x *ruleExtensions) pool(ext *xtables.Extension) *parserPool {
	pool := x.pools[ext]
	if pool == nil {
		pool = &parserPool{}
		x.pools[ext] = pool
	}
	return pool
}

// loadMatch adds a match to the rule.
func (x *ruleExtensions) loadMatch(ext *xtables.Extension) {
	pool := x.pool(ext)
	if pool.used == len(pool.matches) {
		pool.matches = append(pool.matches, ext.NewMatch())
	}
	m := pool.matches[pool.used]
	pool.used++
	m.Begin(x.call.Family)
	x.loaded = append(x.loaded, loadedExtension{ext: ext, match: m})
}

// loadTarget makes an extension the rule's target.
func (x *ruleExtensions) loadTarget(ext *xtables.Extension) {
	pool := x.pool(ext)
	if pool.target == nil {
		pool.target = ext.NewTarget()
	}
	pool.target.Begin(x.call.Family)
	x.loaded = append(x.loaded, loadedExtension{ext: ext, target: pool.target})
}

// loadProtocol loads the match of the rule's protocol, once.
func (x *ruleExtensions) loadProtocol(number uint16, word []byte) bool {
	if libc.ProtocolName(number) == "" || x.protocolTried {
		return false
	}
	x.protocolTried = true
	ext := x.ofProtocol(number, word)
	if ext != nil {
		x.loadMatch(ext)
	}
	return ext != nil
}

// loadForHelp loads the match that has the name of the protocol, if the rule has no match yet.
func (x *ruleExtensions) loadForHelp(protocol []byte) {
	if slices.ContainsFunc(x.loaded, func(l loadedExtension) bool { return l.match != nil }) {
		return
	}
	if ext := match.Find(libc.Lower(protocol), x.call.Family); ext != nil {
		x.loadMatch(ext)
	}
}

// ofProtocol is the match of a protocol, nil if it has none. It is called as the word that was given, or where that is a number as the
// protocol of that number.
func (x *ruleExtensions) ofProtocol(number uint16, word []byte) *xtables.Extension {
	name := libc.ProtocolName(number)
	if _, isNumber := libc.WholeNumber(word, math.MaxUint8); !isNumber && name != "" {
		name = string(libc.Lower(word))
	}
	return match.Find([]byte(name), x.call.Family)
}

// hasTarget says that the rule has a target that is known.
func (x *ruleExtensions) hasTarget() bool {
	return slices.ContainsFunc(x.loaded, func(l loadedExtension) bool { return l.target != nil })
}

// owner is the extension that was named last and has an option of that name, nil if none has; id is the option's. A match that is named
// again is a further one of its kind, but its options keep the place that they had.
func (x *ruleExtensions) owner(name []byte) (l *loadedExtension, id int) {
	for i := len(x.loaded) - 1; i >= 0; i-- {
		ext := x.loaded[i].ext
		if id := ext.Find(name); id >= 0 && !hasExtension(x.loaded[:i], ext) {
			return x.latest(ext), id
		}
	}
	return nil, -1
}

func hasExtension(loaded []loadedExtension, ext *xtables.Extension) bool {
	for i := range loaded {
		if loaded[i].ext == ext {
			return true
		}
	}
	return false
}

// latest is the one of a kind that was loaded last.
func (x *ruleExtensions) latest(ext *xtables.Extension) *loadedExtension {
	i := len(x.loaded) - 1
	for x.loaded[i].ext != ext {
		i--
	}
	return &x.loaded[i]
}

// wantsArgument says that an option takes an argument.
func (x *ruleExtensions) wantsArgument(name []byte) bool {
	l, id := x.owner(name)
	return l != nil && !l.ext.Options[id].Flag
}

// takes says that an extension has an option of the same name as a standard one, which means the extension's then.
func (x *ruleExtensions) takes(name []byte) bool {
	l, _ := x.owner(name)
	return l != nil
}

// abbreviated counts the options that begin so, of an extension that was named more than once once; name is the last of them.
func (x *ruleExtensions) abbreviated(prefix string) (name string, count int) {
	for i := range x.loaded {
		if hasExtension(x.loaded[:i], x.loaded[i].ext) {
			continue
		}
		for _, spec := range x.loaded[i].ext.Options {
			if strings.HasPrefix(spec.Name, prefix) {
				name, count = spec.Name, count+1
			}
		}
	}
	return name, count
}

// abbreviatedAgain counts the options that begin so of the extension that was loaded last, if it was loaded before.
func (x *ruleExtensions) abbreviatedAgain(prefix string) (count int) {
	last := len(x.loaded) - 1
	if !hasExtension(x.loaded[:last], x.loaded[last].ext) {
		return 0
	}
	for _, spec := range x.loaded[last].ext.Options {
		if strings.HasPrefix(spec.Name, prefix) {
			count++
		}
	}
	return count
}

// give gives an option with its argument to the extension that has it.
func (x *ruleExtensions) give(l *loadedExtension, id int, value []byte, invert bool, proto xtables.ProtoMatch) error {
	spec := &l.ext.Options[id]
	call := &x.call
	call.Extension, call.Name, call.Invert, call.Arg, call.Proto = l.ext.Name, spec.Name, invert, value, proto
	if spec.Flag && value != nil {
		return unknownOption(x.args.last())
	}
	if !spec.Flag {
		var ok bool
		if call.Arg, ok = x.args.argument(value); !ok {
			return x.args.noArgument()
		}
	}
	if err := l.ext.Before(id, invert, l.seen); err != nil {
		return err
	}
	l.seen |= 1 << id
	if l.match != nil {
		return l.match.Option(call)
	}
	err := l.target.Option(call)
	if giving, ok := l.target.(xtables.GivingParser); ok {
		l.seen |= giving.AlsoSeen()
	}
	return err
}

// finish puts the matches into the rule, in the order they were loaded, and then the target.
func (x *ruleExtensions) finish(spec *ruleSpec) error {
	for i := range x.loaded {
		if l := &x.loaded[i]; l.match != nil {
			m, err := l.match.Finish(l.seen)
			if err = l.checked(err); err != nil {
				return err
			}
			spec.matches = append(spec.matches, m)
		}
	}
	for i := range x.loaded {
		if l := &x.loaded[i]; l.target != nil {
			t, err := l.target.Finish(l.seen)
			if err = l.checked(err); err != nil {
				return err
			}
			spec.target = t
		}
	}
	return nil
}

// checked is the error of the extension's own checks, or else of those that all have: the tools check what the options
// say together before they look for missing ones.
func (l *loadedExtension) checked(err error) error {
	if err == nil {
		err = l.ext.After(l.seen)
	}
	return err
}
