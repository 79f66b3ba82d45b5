package target

import (
	"fmt"
	"math"
	"syscall"

	"github.com/chainwalk/chainwalk/fakeipt/xtables"
	"github.com/chainwalk/chainwalk/internal/libc"
	"github.com/chainwalk/chainwalk/netfilter"
	"github.com/chainwalk/chainwalk/netfilter/ipset"
)

// Set is -j SET. Each operation is one whose Ref names a set.
type Set struct {
	ipset.Change
	Map ipset.Ref
	// MapMark, MapPrio and MapQueue take these from the entry that Map found.
	MapMark, MapPrio, MapQueue bool
}

// Name is "SET".
func (*Set) Name() string { return "SET" }

func (t *Set) AppendSave(dst []byte, _ netfilter.Family, _ netfilter.Dialect) []byte {
	return t.appendOptions(dst, " --", "-set")
}

func (t *Set) AppendList(dst []byte, _ xtables.ListStyle) []byte {
	return t.appendOptions(dst, " ", "-set")
}

func (t *Set) appendOptions(dst []byte, prefix, set string) []byte {
	ref := func(word string, r ipset.Ref) {
		if r.Set != "" {
			dst = xtables.AppendSetRef(append(append(append(dst, prefix...), word...), set...), r)
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
	return xtables.AppendFlags(dst, prefix, xtables.WordIf("map-mark", t.MapMark), xtables.WordIf("map-prio", t.MapPrio),
		xtables.WordIf("map-queue", t.MapQueue))
}

func (t *Set) Check(c *xtables.CheckContext) syscall.Errno {
	for _, r := range []ipset.Ref{t.Add, t.Del} {
		if errno := c.WantSet(r); errno != 0 {
			return errno
		}
	}
	if t.Map.Set == "" {
		return 0
	}
	if errno := c.WantTable("mangle"); errno != 0 {
		return errno
	}
	return c.WantSet(t.Map)
}

// AllowedHooks of a priority or a queue are those at which the packet is on its way out.
func (t *Set) AllowedHooks(hidden bool) xtables.HookMask {
	if (t.MapPrio || t.MapQueue) && !hidden {
		return xtables.HookForward | xtables.HookOutput | xtables.HookPostrouting
	}
	return xtables.HooksAll
}

func (t *Set) AddFact(f *netfilter.Fact) {
	f.Other = t.Name()
	for _, use := range []netfilter.Memory{
		{Name: t.Map.Set, Reads: true}, {Name: t.Add.Set, Writes: true}, {Name: t.Del.Set, Removes: true},
	} {
		if use.Kind = netfilter.Set; use.Name != "" {
			f.Memories = append(f.Memories, use)
		}
	}
}

var setExtension = &xtables.Extension{
	Name: "SET",
	Options: []xtables.Option{
		// The tool does not look at a "!" before any of them.
		{Name: "add-set", Multi: true, Invert: true}, {Name: "del-set", Multi: true, Invert: true}, {Name: "timeout", Multi: true, Invert: true},
		{Name: "exist", Flag: true, Multi: true, Invert: true}, {Name: "map-set", Multi: true, Invert: true},
		{Name: "map-mark", Flag: true, Multi: true, Invert: true}, {Name: "map-prio", Flag: true, Multi: true, Invert: true},
		{Name: "map-queue", Flag: true, Multi: true, Invert: true},
	},
	NewTarget: func() xtables.TargetParser { return &setParser{} },
}

type setParser struct {
	t     Set
	arena xtables.Arena[Set]
}

func (p *setParser) Begin(netfilter.Family) { p.t = Set{} }

func (p *setParser) Option(o *xtables.OptionCall) error {
	switch o.Name {
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
		n, ok := libc.WholeNumber(o.Arg, math.MaxUint32-1)
		if !ok {
			return xtables.BadParameter("Invalid value for option --timeout or out of range 0-%d", uint32(math.MaxUint32-1))
		}
		p.t.Timeout, p.t.HasTimeout = uint32(n), true
	}
	return nil
}

func (p *setParser) set(o *xtables.OptionCall, r *ipset.Ref) error {
	if r.Dim > 0 {
		return xtables.BadParameter("--%s can be specified only once", o.Name)
	}
	return xtables.ParseSetRef(r, o, fmt.Sprintf("--%s requires two args.", o.Name))
}

func (p *setParser) Finish(uint32) (xtables.Target, error) {
	t := &p.t
	if t.Add.Set == "" && t.Del.Set == "" && t.Map.Set == "" {
		return nil, xtables.BadParameter("You must specify either `--add-set' or `--del-set' or `--map-set'")
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
			return nil, xtables.BadParameter("%s can be used with `--%s' only", f.name, f.of)
		}
	}
	if t.Map.Set != "" && !t.MapMark && !t.MapPrio && !t.MapQueue {
		return nil, xtables.BadParameter("You must specify flags `--map-mark' or '--map-prio` or `--map-queue'")
	}
	return p.arena.Intern(*t), nil
}
