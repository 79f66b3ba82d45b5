package match

import (
	"math"
	"strconv"
	"syscall"

	"github.com/chainwalk/chainwalk/fakeipt/xtables"
	"github.com/chainwalk/chainwalk/internal/libc"
	"github.com/chainwalk/chainwalk/netfilter"
	"github.com/chainwalk/chainwalk/netfilter/ipset"
)

// Set is -m set.
type Set struct {
	ipset.Query
}

// Name is "set".
func (*Set) Name() string { return "set" }

func (m *Set) AppendSave(dst []byte, _ netfilter.Family, _ netfilter.Dialect) []byte {
	return m.appendOptions(dst, " --")
}

func (m *Set) AppendList(dst []byte, _ xtables.ListStyle) []byte { return m.appendOptions(dst, " ") }

func (m *Set) appendOptions(dst []byte, prefix string) []byte {
	if m.Invert {
		dst = append(dst, " !"...)
	}
	dst = xtables.AppendSetRef(append(append(dst, prefix...), "match-set"...), m.Ref)
	dst = xtables.AppendFlags(dst, prefix, xtables.WordIf("return-nomatch", m.ReturnNomatch))
	dst = xtables.AppendFlags(dst, " !"+prefix, xtables.WordIf("update-counters", m.KeepCounters),
		xtables.WordIf("update-subcounters", m.KeepSubcounters))
	return appendSetCounter(appendSetCounter(dst, m.Packets, prefix, "packets"), m.Bytes, prefix, "bytes")
}

func appendSetCounter(dst []byte, c ipset.Counter, prefix, counter string) []byte {
	if c.Op == ipset.CounterAny {
		return dst
	}
	if c.Op == ipset.CounterNE {
		dst = append(dst, " !"...)
	}
	dst = append(append(append(dst, prefix...), counter...), [...]string{"", "-eq ", "-eq ", "-lt ", "-gt "}[c.Op]...)
	return strconv.AppendUint(dst, c.Value, 10)
}

func (m *Set) Check(c *xtables.CheckContext) syscall.Errno { return c.WantSet(m.Ref) }

func (m *Set) AddFact(f *netfilter.Fact) {
	xtables.AddOther(&f.Conditions, m.Name())
	f.Memories = append(f.Memories, netfilter.Memory{Kind: netfilter.Set, Name: m.Set, Reads: true})
}

var setExtension = &xtables.Extension{
	Name: "set",
	Options: []xtables.Option{
		{Name: "match-set", Invert: true, Multi: true}, {Name: "set", Invert: true, Multi: true},
		{Name: "return-nomatch", Flag: true, Invert: true, Multi: true},
		{Name: "update-counters", Flag: true, Invert: true, Multi: true},
		{Name: "packets-eq", Invert: true, Multi: true}, {Name: "packets-lt", Invert: true, Multi: true},
		{Name: "packets-gt", Invert: true, Multi: true},
		{Name: "bytes-eq", Invert: true, Multi: true}, {Name: "bytes-lt", Invert: true, Multi: true},
		{Name: "bytes-gt", Invert: true, Multi: true},
		{Name: "update-subcounters", Flag: true, Invert: true, Multi: true},
	},
	NewMatch: func() xtables.MatchParser { return &setParser{} },
}

type setParser struct {
	m     Set
	arena xtables.Arena[Set]
}

func (p *setParser) Begin(netfilter.Family) { p.m = Set{} }

func (p *setParser) Option(o *xtables.OptionCall) error {
	switch o.Name {
	case "set", "match-set":
		return p.set(o)
	case "return-nomatch":
		if o.Invert {
			return xtables.BadParameter("--return-nomatch flag cannot be inverted")
		}
		p.m.ReturnNomatch = true
	case "update-counters":
		p.m.KeepCounters = p.m.KeepCounters || o.Invert
	case "update-subcounters":
		p.m.KeepSubcounters = p.m.KeepSubcounters || o.Invert
	case "packets-eq", "packets-lt", "packets-gt":
		return parseSetCounter(&p.m.Packets, o, "packets")
	default:
		return parseSetCounter(&p.m.Bytes, o, "bytes")
	}
	return nil
}

func (p *setParser) set(o *xtables.OptionCall) error {
	if o.Name == "set" {
		o.Warn("--set option deprecated, please use --match-set\n")
	}
	if p.m.Dim > 0 {
		return xtables.BadParameter("--match-set can be specified only once")
	}
	p.m.Invert = o.Invert
	return xtables.ParseSetRef(&p.m.Ref, o, "--match-set requires two args.")
}

func parseSetCounter(c *ipset.Counter, o *xtables.OptionCall, counter string) error {
	if c.Op != ipset.CounterAny {
		return xtables.BadParameter("only one of the --%s-[eq|lt|gt] is allowed", counter)
	}
	switch {
	case o.Name[len(counter):] == "-lt":
		c.Op = ipset.CounterLT
	case o.Name[len(counter):] == "-gt":
		c.Op = ipset.CounterGT
	case o.Invert:
		c.Op = ipset.CounterNE
	default:
		c.Op = ipset.CounterEQ
	}
	if o.Invert && c.Op != ipset.CounterNE {
		return xtables.BadParameter("--%s option cannot be inverted", o.Name)
	}
	n, ok := libc.WholeNumber(o.Arg, math.MaxUint64)
	if !ok {
		return xtables.BadParameter("Cannot parse %s as a counter value", o.Arg)
	}
	c.Value = n
	return nil
}

func (p *setParser) Finish(uint32) (xtables.Match, error) {
	if p.m.Dim == 0 {
		return nil, xtables.BadParameter("You must specify `--match-set' with proper arguments")
	}
	return p.arena.Intern(p.m), nil
}
