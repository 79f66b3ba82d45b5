package fakeipt

import (
	"fmt"
	"math"
	"syscall"

	"github.com/chainwalk/chainwalk/internal/libc"
	"github.com/chainwalk/chainwalk/netfilter"
	"github.com/chainwalk/chainwalk/netfilter/ipset"
)

// TargetSet is -j SET. Each operation is one whose Ref names a set.
type TargetSet struct {
	ipset.Change
	Map ipset.Ref
	// MapMark, MapPrio and MapQueue take these from the entry that Map found.
	MapMark, MapPrio, MapQueue bool
}

// Name is "SET".
func (*TargetSet) Name() string { return "SET" }

func (t *TargetSet) appendSave(dst []byte, _ netfilter.Family, _ netfilter.Dialect) []byte {
	return t.appendOptions(dst, " --", "-set")
}

func (t *TargetSet) appendList(dst []byte, _ listStyle) []byte {
	return t.appendOptions(dst, " ", "-set")
}

func (t *TargetSet) appendOptions(dst []byte, prefix, set string) []byte {
	ref := func(word string, r ipset.Ref) {
		if r.Set != "" {
			dst = appendSetRef(append(append(append(dst, prefix...), word...), set...), r)
		}
	}
	ref("add", t.Add)
	if t.Exist {
		dst = append(append(dst, prefix...), "exist"...)
	}
	if t.HasTimeout {
		dst = fmt.Appendf(dst, "%stimeout %d", prefix, t.Timeout)
	}
	ref("del", t.Del)
	ref("map", t.Map)
	return appendFlags(dst, prefix, flagWord{"map-mark", t.MapMark}, flagWord{"map-prio", t.MapPrio}, flagWord{"map-queue", t.MapQueue})
}

func (t *TargetSet) check(c *checkContext) syscall.Errno {
	for _, r := range []ipset.Ref{t.Add, t.Del} {
		if errno := c.wantSet(r); errno != 0 {
			return errno
		}
	}
	if t.Map.Set == "" {
		return 0
	}
	if errno := c.wantTable("mangle"); errno != 0 {
		return errno
	}
	return c.wantSet(t.Map)
}

// allowedHooks of a priority or a queue are those at which the packet is on its way out.
func (t *TargetSet) allowedHooks(hidden bool) hookMask {
	if (t.MapPrio || t.MapQueue) && !hidden {
		return hookForward | hookOutput | hookPostrouting
	}
	return hooksAll
}

func (t *TargetSet) addFact(f *netfilter.Fact) {
	f.Other = t.Name()
	for _, use := range []netfilter.Memory{
		{Name: t.Map.Set, Reads: true}, {Name: t.Add.Set, Writes: true}, {Name: t.Del.Set, Removes: true},
	} {
		if use.Kind = netfilter.Set; use.Name != "" {
			f.Memories = append(f.Memories, use)
		}
	}
}

var setTargetExtension = &extension{
	name: "SET",
	options: []optionSpec{
		// The tool does not look at a "!" before any of them.
		{name: "add-set", multi: true, invert: true}, {name: "del-set", multi: true, invert: true}, {name: "timeout", multi: true, invert: true},
		{name: "exist", flag: true, multi: true, invert: true}, {name: "map-set", multi: true, invert: true},
		{name: "map-mark", flag: true, multi: true, invert: true}, {name: "map-prio", flag: true, multi: true, invert: true},
		{name: "map-queue", flag: true, multi: true, invert: true},
	},
	newTarget: func() targetParser { return &setTargetParser{} },
}

type setTargetParser struct {
	t     TargetSet
	arena arena[TargetSet]
}

func (p *setTargetParser) begin(netfilter.Family) { p.t = TargetSet{} }

func (p *setTargetParser) option(o *optionCall) error {
	switch o.name {
	case "add-set":
		return p.set(o, &p.t.Add)
	case "del-set":
		return p.set(o, &p.t.Del)
	case "map-set":
		return p.set(o, &p.t.Map)
	case "exist":
		p.t.Exist = true
	case "map-mark":
		p.t.MapMark = true
	case "map-prio":
		p.t.MapPrio = true
	case "map-queue":
		p.t.MapQueue = true
	case "timeout":
		n, ok := libc.WholeNumber(o.arg, math.MaxUint32-1)
		if !ok {
			return badParameter("Invalid value for option --timeout or out of range 0-%d", uint32(math.MaxUint32-1))
		}
		p.t.Timeout, p.t.HasTimeout = uint32(n), true
	}
	return nil
}

func (p *setTargetParser) set(o *optionCall, r *ipset.Ref) error {
	if r.Dim > 0 {
		return badParameter("--%s can be specified only once", o.name)
	}
	return parseSetRef(r, o, fmt.Sprintf("--%s requires two args.", o.name))
}

func (p *setTargetParser) finish(uint32) (Target, error) {
	t := &p.t
	if t.Add.Set == "" && t.Del.Set == "" && t.Map.Set == "" {
		return nil, badParameter("You must specify either `--add-set' or `--del-set' or `--map-set'")
	}
	for _, f := range []struct {
		given bool
		name  string
		set   *ipset.Ref
		of    string
	}{{t.Exist, "Flag `--exist'", &t.Add, "add-set"}, {t.HasTimeout, "Option `--timeout'", &t.Add, "add-set"},
		{t.MapMark, "Flag `--map-mark'", &t.Map, "map-set"}, {t.MapPrio, "Flag `--map-prio'", &t.Map, "map-set"},
		{t.MapQueue, "Flag `--map-queue'", &t.Map, "map-set"}} {
		if f.given && f.set.Set == "" {
			return nil, badParameter("%s can be used with `--%s' only", f.name, f.of)
		}
	}
	if t.Map.Set != "" && !t.MapMark && !t.MapPrio && !t.MapQueue {
		return nil, badParameter("You must specify flags `--map-mark' or '--map-prio` or `--map-queue'")
	}
	return p.arena.intern(*t), nil
}
