package match

import (
	"bytes"
	"encoding/binary"
	"math"
	"strconv"
	"strings"
	"syscall"

	"github.com/chainwalk/chainwalk/fakeipt/xtables"
	"github.com/chainwalk/chainwalk/netfilter"
)

// Cgroup is -m cgroup: the control group of the socket that a packet is from or for.
type Cgroup struct {
	// Path is the group's in cgroup2, of which those below it match too; it is looked at if HasPath is set.
	Path    string
	HasPath bool
	// ClassID is that of net_cls; it is looked at if HasClassID is set.
	ClassID    uint32
	HasClassID bool
	// InvertPath and InvertClassID are the "!" of each.
	InvertPath, InvertClassID bool
}

// Name is "cgroup".
func (*Cgroup) Name() string { return "cgroup" }

func (m *Cgroup) AppendSave(dst []byte, _ netfilter.Family, _ netfilter.Dialect) []byte {
	if m.HasPath {
		return xtables.AppendInQuotes(append(xtables.AppendOption(dst, "--path", m.InvertPath), ' '), m.Path)
	}
	return strconv.AppendUint(append(xtables.AppendOption(dst, "--cgroup", m.InvertClassID), ' '), uint64(m.ClassID), 10)
}

func (m *Cgroup) AppendList(dst []byte, _ xtables.ListStyle) []byte {
	dst = append(dst, " cgroup"...)
	if m.HasPath {
		dst = append(xtables.AppendOption(dst, "", m.InvertPath), m.Path...)
	}
	if m.HasClassID {
		dst = strconv.AppendUint(xtables.AppendOption(dst, "", m.InvertClassID), uint64(m.ClassID), 10)
	}
	return dst
}

// Check: the machine has no group in cgroup2 but the root.
func (m *Cgroup) Check(c *xtables.CheckContext) syscall.Errno {
	root := strings.Trim(m.Path, "/") == ""
	if m.HasPath == m.HasClassID || m.HasPath && !root && !c.Elsewhere {
		return syscall.EINVAL
	}
	return 0
}

func (*Cgroup) AllowedHooks(bool) xtables.HookMask {
	return xtables.HookInput | xtables.HookOutput | xtables.HookPostrouting
}

var cgroupExtension = &xtables.Extension{
	Name:     "cgroup",
	Options:  []xtables.Option{{Name: "cgroup", Invert: true}, {Name: "path", Invert: true}},
	NewMatch: func() xtables.MatchParser { return &cgroupParser{} },
}

type cgroupParser struct {
	m     Cgroup
	arena xtables.Arena[Cgroup]
}

func (p *cgroupParser) Begin(netfilter.Family) { p.m = Cgroup{} }

// share is what the tool makes of a path and an ID that are both given, for which it has one place. The kernel takes no such rule.
func (p *cgroupParser) share(both []byte) {
	path, _, _ := bytes.Cut(both, []byte{0})
	p.m.Path, p.m.ClassID = string(path), binary.LittleEndian.Uint32(both)
}

// maxCgroupPath is the length of a path that the kernel keeps; the tool cuts the rest off.
const maxCgroupPath = 511

func (p *cgroupParser) Option(o *xtables.OptionCall) error {
	if o.Name == "path" {
		p.m.HasPath, p.m.InvertPath = true, o.Invert
		p.share(append(bytes.Clone(o.Arg[:min(len(o.Arg), maxCgroupPath)]), make([]byte, 4)...))
		return nil
	}
	n, err := o.Number(0, math.MaxUint32)
	p.m.HasClassID, p.m.InvertClassID = true, o.Invert
	p.share(append(binary.LittleEndian.AppendUint32(nil, uint32(n)), p.m.Path[min(4, len(p.m.Path)):]...))
	return err
}

func (p *cgroupParser) Finish(uint32) (xtables.Match, error) {
	if !p.m.HasPath {
		p.m.Path = ""
	}
	if !p.m.HasClassID {
		p.m.ClassID = 0
	}
	return p.arena.Intern(p.m), nil
}
