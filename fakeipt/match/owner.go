package match

import (
	"math"
	"strconv"
	"syscall"

	"github.com/chainwalk/chainwalk/fakeipt/xtables"
	"github.com/chainwalk/chainwalk/internal/libc"
	"github.com/chainwalk/chainwalk/netfilter"
)

// IDRange is a range of user or group numbers, both ends included, or with Invert every number outside of it.
type IDRange struct {
	Min, Max uint32
	Invert   bool
}

// Owner is -m owner: who owns the socket of a packet that the host sends.
type Owner struct {
	UID, GID *IDRange // nil: any
	// SocketExists asks for a socket; InvSocketExists for none.
	SocketExists, InvSocketExists bool
	// SupplGroups looks at the supplementary groups of the owner too.
	SupplGroups bool
}

// Name is "owner".
func (*Owner) Name() string { return "owner" }

func (m *Owner) AppendSave(dst []byte, _ netfilter.Family, _ netfilter.Dialect) []byte {
	return m.appendOptions(dst, [...]string{"--socket-exists", "--uid-owner", "--gid-owner", "--suppl-groups"},
		xtables.ListStyle{Numeric: true})
}

func (m *Owner) AppendList(dst []byte, style xtables.ListStyle) []byte {
	return m.appendOptions(dst, [...]string{"owner socket exists", "owner UID match", "owner GID match", "incl. suppl. groups"}, style)
}

func (m *Owner) appendOptions(dst []byte, words [4]string, style xtables.ListStyle) []byte {
	if m.SocketExists || m.InvSocketExists {
		dst = xtables.AppendOption(dst, words[0], m.InvSocketExists)
	}
	dst = m.UID.appendBehind(dst, words[1], style, (*libc.Names).UserName)
	dst = m.GID.appendBehind(dst, words[2], style, (*libc.Names).GroupName)
	if m.SupplGroups {
		dst = append(append(dst, ' '), words[3]...)
	}
	return dst
}

// appendBehind appends " [!] WORD ID[-ID]", or the name of a single one.
func (r *IDRange) appendBehind(dst []byte, word string, style xtables.ListStyle, name func(*libc.Names, uint32) (string, bool)) []byte {
	if r == nil {
		return dst
	}
	dst = append(xtables.AppendOption(dst, word, r.Invert), ' ')
	if r.Min == r.Max && !style.Numeric {
		if name, ok := name(style.Names, r.Min); ok {
			return append(dst, name...)
		}
	}
	dst = strconv.AppendUint(dst, uint64(r.Min), 10)
	if r.Min != r.Max {
		dst = strconv.AppendUint(append(dst, '-'), uint64(r.Max), 10)
	}
	return dst
}

func (m *Owner) Check(*xtables.CheckContext) syscall.Errno {
	for _, r := range []*IDRange{m.UID, m.GID} {
		if r != nil && r.Max < r.Min {
			return syscall.EINVAL
		}
	}
	return 0
}

func (*Owner) AllowedHooks(bool) xtables.HookMask {
	return xtables.HookOutput | xtables.HookPostrouting
}

var ownerExtension = &xtables.Extension{
	Name: "owner",
	Options: []xtables.Option{
		{Name: "uid-owner", Invert: true}, {Name: "gid-owner", Invert: true},
		{Name: "socket-exists", Flag: true, Invert: true}, {Name: "suppl-groups", Flag: true},
	},
	NewMatch: func() xtables.MatchParser { return &ownerParser{} },
}

type ownerParser struct {
	m Owner
}

func (p *ownerParser) Begin(netfilter.Family) { p.m = Owner{} }

func (p *ownerParser) Option(o *xtables.OptionCall) (err error) {
	switch o.Name {
	case "uid-owner":
		p.m.UID, err = parseIDs(o, (*libc.Names).User)
	case "gid-owner":
		p.m.GID, err = parseIDs(o, (*libc.Names).Group)
	case "socket-exists":
		p.m.SocketExists, p.m.InvSocketExists = !o.Invert, o.Invert
	case "suppl-groups":
		if p.m.GID == nil {
			return o.BadValue([]byte("you need to use --gid-owner first"))
		}
		p.m.SupplGroups = true
	}
	return err
}

// parseIDs reads a name, or a range of numbers.
func parseIDs(o *xtables.OptionCall, lookUp func(*libc.Names, string) (uint32, bool)) (*IDRange, error) {
	if id, ok := lookUp(o.Names(), string(o.Arg)); ok {
		return &IDRange{Min: id, Max: id, Invert: o.Invert}, nil
	}
	low, rest, ok := libc.CutNumber(o.Arg)
	high := low
	if ok && len(rest) > 0 && (rest[0] == '-' || rest[0] == ':') {
		high, rest, ok = libc.CutNumber(rest[1:])
	}
	if !ok || len(rest) > 0 || low >= math.MaxUint32 || high >= math.MaxUint32 {
		return nil, o.BadValue(o.Arg)
	}
	return &IDRange{Min: uint32(low), Max: uint32(high), Invert: o.Invert}, nil
}

func (p *ownerParser) Finish(seen uint32) (xtables.Match, error) {
	if seen == 0 {
		return nil, xtables.BadParameter("owner: At least one of --uid-owner, --gid-owner or --socket-exists is required")
	}
	m := p.m
	return &m, nil
}
