package fakeipt

import (
	"bytes"
	"math"
	"strconv"
	"syscall"

	"github.com/chainwalk/chainwalk/internal/libc"
	"github.com/chainwalk/chainwalk/netfilter"
	"github.com/chainwalk/chainwalk/netfilter/ipset"
)

// MatchSet is -m set.
type MatchSet struct {
	ipset.Query
}

// Name is "set".
func (*MatchSet) Name() string { return "set" }

func (m *MatchSet) appendSave(dst []byte, _ netfilter.Family, _ netfilter.Dialect) []byte {
	return m.appendOptions(dst, " --")
}

func (m *MatchSet) appendList(dst []byte, _ listStyle) []byte { return m.appendOptions(dst, " ") }

func (m *MatchSet) appendOptions(dst []byte, prefix string) []byte {
	if m.Invert {
		dst = append(dst, " !"...)
	}
	dst = appendSetRef(append(append(dst, prefix...), "match-set"...), m.Ref)
	dst = appendFlags(dst, prefix, flagWord{"return-nomatch", m.ReturnNomatch})
	dst = appendFlags(dst, " !"+prefix, flagWord{"update-counters", m.KeepCounters}, flagWord{"update-subcounters", m.KeepSubcounters})
	return appendSetCounter(appendSetCounter(dst, m.Packets, prefix, "packets"), m.Bytes, prefix, "bytes")
}

// appendSetRef appends " NAME SIDE,SIDE".
func appendSetRef(dst []byte, r ipset.Ref) []byte {
	dst = append(append(dst, ' '), r.Set...)
	separator := byte(' ')
	for i := range r.Dim {
		word := "dst"
		if r.SrcSides&(1<<i) != 0 {
			word = "src"
		}
		dst = append(append(dst, separator), word...)
		separator = ','
	}
	return dst
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

// maxSetDim is the number of sides that the kernel's code has room for.
const maxSetDim = 6

func (m *MatchSet) check(c *checkContext) syscall.Errno { return c.wantSet(m.Ref) }

// wantSet is the kernel's check of a set that a rule names.
func (c *checkContext) wantSet(r ipset.Ref) syscall.Errno {
	if r.Set != "" && !c.namespace.Sets().Has(r.Set) {
		return syscall.ENOENT
	}
	return 0
}

func (m *MatchSet) addFact(f *netfilter.Fact) {
	addOther(&f.Conditions, m.Name())
	f.Memories = append(f.Memories, netfilter.Memory{Kind: netfilter.Set, Name: m.Set, Reads: true})
}

var setMatchExtension = &extension{
	name: "set",
	options: []optionSpec{
		{name: "match-set", invert: true, multi: true}, {name: "set", invert: true, multi: true},
		{name: "return-nomatch", flag: true, invert: true, multi: true},
		{name: "update-counters", flag: true, invert: true, multi: true},
		{name: "packets-eq", invert: true, multi: true}, {name: "packets-lt", invert: true, multi: true},
		{name: "packets-gt", invert: true, multi: true},
		{name: "bytes-eq", invert: true, multi: true}, {name: "bytes-lt", invert: true, multi: true},
		{name: "bytes-gt", invert: true, multi: true},
		{name: "update-subcounters", flag: true, invert: true, multi: true},
	},
	newMatch: func() matchParser { return &setMatchParser{} },
}

type setMatchParser struct {
	m     MatchSet
	arena arena[MatchSet]
}

func (p *setMatchParser) begin(netfilter.Family) { p.m = MatchSet{} }

func (p *setMatchParser) option(o *optionCall) error {
	switch o.name {
	case "set", "match-set":
		return p.set(o)
	case "return-nomatch":
		if o.invert {
			return badParameter("--return-nomatch flag cannot be inverted")
		}
		p.m.ReturnNomatch = true
	case "update-counters":
		p.m.KeepCounters = p.m.KeepCounters || o.invert
	case "update-subcounters":
		p.m.KeepSubcounters = p.m.KeepSubcounters || o.invert
	case "packets-eq", "packets-lt", "packets-gt":
		return parseSetCounter(&p.m.Packets, o, "packets")
	default:
		return parseSetCounter(&p.m.Bytes, o, "bytes")
	}
	return nil
}

func (p *setMatchParser) set(o *optionCall) error {
	if o.name == "set" {
		o.warn("--set option deprecated, please use --match-set\n")
	}
	if p.m.Dim > 0 {
		return badParameter("--match-set can be specified only once")
	}
	p.m.Invert = o.invert
	return parseSetRef(&p.m.Ref, o, "--match-set requires two args.")
}

// parseSetRef reads "NAME SIDE,SIDE"; missing is the error where the second word is not there.
func parseSetRef(r *ipset.Ref, o *optionCall, missing string) error {
	sides, ok := o.next()
	if !ok {
		return badParameter("%s", missing)
	}
	if len(o.arg) > ipset.MaxName {
		return badParameter("setname `%s' too long, max %d characters.", o.arg, ipset.MaxName)
	}
	family, ok, err := o.findSet(string(o.arg))
	switch {
	case err != nil:
		return err
	case !ok:
		return badParameter("Set %s doesn't exist.\n", o.arg)
	case family != 0 && family != o.family:
		return badParameter("The protocol family of set %s is %s, which is not applicable.\n", o.arg, wordIPv(family))
	}
	r.Set = string(o.arg)
	for sides != nil {
		if r.Dim == maxSetDim {
			return badParameter("Can't be more src/dst options than %d.", maxSetDim)
		}
		var side []byte
		side, sides, ok = bytes.Cut(sides, []byte(","))
		switch {
		case bytes.HasPrefix(side, []byte("src")):
			r.SrcSides |= 1 << r.Dim
		case !bytes.HasPrefix(side, []byte("dst")):
			return badParameter("You must spefify (the comma separated list of) 'src' or 'dst'.")
		}
		if r.Dim++; !ok {
			return nil
		}
	}
	return nil
}

// wordIPv is "IPv4" or "IPv6".
func wordIPv(f netfilter.Family) string { return "IPv" + strconv.Itoa(int(f)) }

func parseSetCounter(c *ipset.Counter, o *optionCall, counter string) error {
	if c.Op != ipset.CounterAny {
		return badParameter("only one of the --%s-[eq|lt|gt] is allowed", counter)
	}
	switch {
	case o.name[len(counter):] == "-lt":
		c.Op = ipset.CounterLT
	case o.name[len(counter):] == "-gt":
		c.Op = ipset.CounterGT
	case o.invert:
		c.Op = ipset.CounterNE
	default:
		c.Op = ipset.CounterEQ
	}
	if o.invert && c.Op != ipset.CounterNE {
		return badParameter("--%s option cannot be inverted", o.name)
	}
	n, ok := libc.WholeNumber(o.arg, math.MaxUint64)
	if !ok {
		return badParameter("Cannot parse %s as a counter value", o.arg)
	}
	c.Value = n
	return nil
}

func (p *setMatchParser) finish(uint32) (Match, error) {
	if p.m.Dim == 0 {
		return nil, badParameter("You must specify `--match-set' with proper arguments")
	}
	return p.arena.intern(p.m), nil
}
