package match

import (
	"strconv"
	"syscall"

	"github.com/chainwalk/chainwalk/fakeipt/xtables"
	"github.com/chainwalk/chainwalk/internal/libc"
	"github.com/chainwalk/chainwalk/netfilter"
)

// OSF is -m osf (IPv4): the operating system that a SYN looks to be from, by fingerprints that a program gives the kernel.
type OSF struct {
	Genre  string
	Invert bool
	// TTL and Log are their options' levels; they were given if HasTTL and HasLog are set.
	TTL, Log       uint8
	HasTTL, HasLog bool
}

// Name is "osf".
func (*OSF) Name() string { return "osf" }

func (m *OSF) AppendSave(dst []byte, _ netfilter.Family, _ netfilter.Dialect) []byte {
	dst = append(append(xtables.AppendOption(dst, "--genre", m.Invert), ' '), m.Genre...)
	if m.HasTTL {
		dst = strconv.AppendUint(append(dst, " --ttl "...), uint64(m.TTL), 10)
	}
	if m.HasLog {
		dst = strconv.AppendUint(append(dst, " --log "...), uint64(m.Log), 10)
	}
	return dst
}

func (m *OSF) AppendList(dst []byte, _ xtables.ListStyle) []byte {
	return append(append(xtables.AppendAfter(dst, "OS fingerprint match", m.Invert), ' '), m.Genre...)
}

func (*OSF) Check(c *xtables.CheckContext) syscall.Errno { return c.WantProto(libc.ProtoTCP) }

func (*OSF) AllowedHooks(bool) xtables.HookMask {
	return xtables.HookPrerouting | xtables.HookInput | xtables.HookForward
}

var osfExtension = &xtables.Extension{
	Name:     "osf",
	OnlyIn:   netfilter.IPv4,
	Options:  []xtables.Option{{Name: "genre", Invert: true, Mandatory: true}, {Name: "ttl"}, {Name: "log"}},
	NewMatch: func() xtables.MatchParser { return &osfParser{} },
}

type osfParser struct {
	m     OSF
	arena xtables.Arena[OSF]
}

func (p *osfParser) Begin(netfilter.Family) { p.m = OSF{} }

// maxOSFGenre is the length of a name that the kernel keeps; the tool cuts the rest off.
const maxOSFGenre = 31

func (p *osfParser) Option(o *xtables.OptionCall) error {
	if o.Name == "genre" {
		p.m.Genre, p.m.Invert = string(o.Arg[:min(len(o.Arg), maxOSFGenre)]), o.Invert
		return nil
	}
	n, err := o.Number(0, 2)
	if o.Name == "ttl" {
		p.m.TTL, p.m.HasTTL = uint8(n), true
	} else {
		p.m.Log, p.m.HasLog = uint8(n), true
	}
	return err
}

func (p *osfParser) Finish(uint32) (xtables.Match, error) { return p.arena.Intern(p.m), nil }
