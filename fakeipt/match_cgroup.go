package fakeipt

import (
	"bytes"
	"encoding/binary"
	"math"
	"strconv"
	"strings"
	"syscall"

	"github.com/chainwalk/chainwalk/netfilter"
)

// MatchCgroup is -m cgroup: the control group of the socket that a packet is from or for.
type MatchCgroup struct {
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
func (*MatchCgroup) Name() string { return "cgroup" }

func (m *MatchCgroup) appendSave(dst []byte, _ netfilter.Family, _ netfilter.Dialect) []byte {
	if m.HasPath {
		return appendInQuotes(append(appendOption(dst, "--path", m.InvertPath), ' '), m.Path)
	}
	return strconv.AppendUint(append(appendOption(dst, "--cgroup", m.InvertClassID), ' '), uint64(m.ClassID), 10)
}

func (m *MatchCgroup) appendList(dst []byte, _ listStyle) []byte {
	dst = append(dst, " cgroup"...)
	if m.HasPath {
		dst = append(appendOption(dst, "", m.InvertPath), m.Path...)
	}
	if m.HasClassID {
		dst = strconv.AppendUint(appendOption(dst, "", m.InvertClassID), uint64(m.ClassID), 10)
	}
	return dst
}

// check: the machine has no group in cgroup2 but the root.
func (m *MatchCgroup) check(c *checkContext) syscall.Errno {
	root := strings.Trim(m.Path, "/") == ""
	if m.HasPath == m.HasClassID || m.HasPath && !root && !c.elsewhere {
		return syscall.EINVAL
	}
	return 0
}

func (*MatchCgroup) allowedHooks(bool) hookMask { return hookInput | hookOutput | hookPostrouting }

var cgroupExtension = &extension{
	name:     "cgroup",
	options:  []optionSpec{{name: "cgroup", invert: true}, {name: "path", invert: true}},
	newMatch: func() matchParser { return &cgroupParser{} },
}

type cgroupParser struct {
	m     MatchCgroup
	arena arena[MatchCgroup]
}

func (p *cgroupParser) begin(netfilter.Family) { p.m = MatchCgroup{} }

// share is what the tool makes of a path and an ID that are both given, for which it has one place. The kernel takes no such rule.
func (p *cgroupParser) share(both []byte) {
	path, _, _ := bytes.Cut(both, []byte{0})
	p.m.Path, p.m.ClassID = string(path), binary.LittleEndian.Uint32(both)
}

// maxCgroupPath is the length of a path that the kernel keeps; the tool cuts the rest off.
const maxCgroupPath = 511

func (p *cgroupParser) option(o *optionCall) error {
	if o.name == "path" {
		p.m.HasPath, p.m.InvertPath = true, o.invert
		p.share(append(bytes.Clone(o.arg[:min(len(o.arg), maxCgroupPath)]), make([]byte, 4)...))
		return nil
	}
	n, err := o.number(0, math.MaxUint32)
	p.m.HasClassID, p.m.InvertClassID = true, o.invert
	p.share(append(binary.LittleEndian.AppendUint32(nil, uint32(n)), p.m.Path[min(4, len(p.m.Path)):]...))
	return err
}

func (p *cgroupParser) finish(uint32) (Match, error) {
	if !p.m.HasPath {
		p.m.Path = ""
	}
	if !p.m.HasClassID {
		p.m.ClassID = 0
	}
	return p.arena.intern(p.m), nil
}
