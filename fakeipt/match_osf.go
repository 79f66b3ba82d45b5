package fakeipt

import (
	"strconv"
	"syscall"

	"github.com/chainwalk/chainwalk/internal/libc"
	"github.com/chainwalk/chainwalk/netfilter"
)

// MatchOSF is -m osf (IPv4): the operating system that a SYN looks to be from, by fingerprints that a program gives the kernel.
type MatchOSF struct {
	Genre  string
	Invert bool
	// TTL and Log are their options' levels; they were given if HasTTL and HasLog are set.
	TTL, Log       uint8
	HasTTL, HasLog bool
}

// Name is "osf".
func (*MatchOSF) Name() string { return "osf" }

func (m *MatchOSF) appendSave(dst []byte, _ netfilter.Family, _ netfilter.Dialect) []byte {
	dst = append(append(appendOption(dst, "--genre", m.Invert), ' '), m.Genre...)
	if m.HasTTL {
		dst = strconv.AppendUint(append(dst, " --ttl "...), uint64(m.TTL), 10)
	}
	if m.HasLog {
		dst = strconv.AppendUint(append(dst, " --log "...), uint64(m.Log), 10)
	}
	return dst
}

func (m *MatchOSF) appendList(dst []byte, _ listStyle) []byte {
	return append(append(appendAfter(dst, "OS fingerprint match", m.Invert), ' '), m.Genre...)
}

func (*MatchOSF) check(c *checkContext) syscall.Errno { return c.wantProto(libc.ProtoTCP) }

func (*MatchOSF) allowedHooks(bool) hookMask { return hookPrerouting | hookInput | hookForward }

var osfExtension = &extension{
	name:     "osf",
	onlyIn:   netfilter.IPv4,
	options:  []optionSpec{{name: "genre", invert: true, mandatory: true}, {name: "ttl"}, {name: "log"}},
	newMatch: func() matchParser { return &osfParser{} },
}

type osfParser struct {
	m     MatchOSF
	arena arena[MatchOSF]
}

func (p *osfParser) begin(netfilter.Family) { p.m = MatchOSF{} }

// maxOSFGenre is the length of a name that the kernel keeps; the tool cuts the rest off.
const maxOSFGenre = 31

func (p *osfParser) option(o *optionCall) error {
	if o.name == "genre" {
		p.m.Genre, p.m.Invert = string(o.arg[:min(len(o.arg), maxOSFGenre)]), o.invert
		return nil
	}
	n, err := o.number(0, 2)
	if o.name == "ttl" {
		p.m.TTL, p.m.HasTTL = uint8(n), true
	} else {
		p.m.Log, p.m.HasLog = uint8(n), true
	}
	return err
}

func (p *osfParser) finish(uint32) (Match, error) { return p.arena.intern(p.m), nil }
