package fakeipt

import (
	"math"
	"strconv"
	"syscall"

	"github.com/chainwalk/chainwalk/internal/libc"
	"github.com/chainwalk/chainwalk/netfilter"
)

// IDRange is a range of user or group numbers, both ends included, or with Invert every number outside of it.
type IDRange struct {
	Min, Max uint32
	Invert   bool
}

// MatchOwner is -m owner: who owns the socket of a packet that the host sends.
type MatchOwner struct {
	UID, GID *IDRange // nil: any
	// SocketExists asks for a socket; InvSocketExists for none.
	SocketExists, InvSocketExists bool
	// SupplGroups looks at the supplementary groups of the owner too.
	SupplGroups bool
}

// Name is "owner".
func (*MatchOwner) Name() string { return "owner" }

func (m *MatchOwner) appendSave(dst []byte, _ netfilter.Family, _ netfilter.Dialect) []byte {
	return m.appendOptions(dst, [...]string{"--socket-exists", "--uid-owner", "--gid-owner", "--suppl-groups"}, listStyle{numeric: true})
}

func (m *MatchOwner) appendList(dst []byte, style listStyle) []byte {
	return m.appendOptions(dst, [...]string{"owner socket exists", "owner UID match", "owner GID match", "incl. suppl. groups"}, style)
}

func (m *MatchOwner) appendOptions(dst []byte, words [4]string, style listStyle) []byte {
	if m.SocketExists || m.InvSocketExists {
		dst = appendOption(dst, words[0], m.InvSocketExists)
	}
	dst = m.UID.appendBehind(dst, words[1], style, (*libc.Names).UserName)
	dst = m.GID.appendBehind(dst, words[2], style, (*libc.Names).GroupName)
	if m.SupplGroups {
		dst = append(append(dst, ' '), words[3]...)
	}
	return dst
}

// appendBehind appends " [!] WORD ID[-ID]", or the name of a single one.
func (r *IDRange) appendBehind(dst []byte, word string, style listStyle, name func(*libc.Names, uint32) (string, bool)) []byte {
	if r == nil {
		return dst
	}
	dst = append(appendOption(dst, word, r.Invert), ' ')
	if r.Min == r.Max && !style.numeric {
		if name, ok := name(style.names, r.Min); ok {
			return append(dst, name...)
		}
	}
	dst = strconv.AppendUint(dst, uint64(r.Min), 10)
	if r.Min != r.Max {
		dst = strconv.AppendUint(append(dst, '-'), uint64(r.Max), 10)
	}
	return dst
}

func (m *MatchOwner) check(*checkContext) syscall.Errno {
	for _, r := range []*IDRange{m.UID, m.GID} {
		if r != nil && r.Max < r.Min {
			return syscall.EINVAL
		}
	}
	return 0
}

func (*MatchOwner) allowedHooks(bool) hookMask { return hookOutput | hookPostrouting }

var ownerExtension = &extension{
	name: "owner",
	options: []optionSpec{
		{name: "uid-owner", invert: true}, {name: "gid-owner", invert: true},
		{name: "socket-exists", flag: true, invert: true}, {name: "suppl-groups", flag: true},
	},
	newMatch: func() matchParser { return &ownerParser{} },
}

type ownerParser struct {
	m MatchOwner
}

func (p *ownerParser) begin(netfilter.Family) { p.m = MatchOwner{} }

func (p *ownerParser) option(o *optionCall) (err error) {
	switch o.name {
	case "uid-owner":
		p.m.UID, err = o.ids((*libc.Names).User)
	case "gid-owner":
		p.m.GID, err = o.ids((*libc.Names).Group)
	case "socket-exists":
		p.m.SocketExists, p.m.InvSocketExists = !o.invert, o.invert
	case "suppl-groups":
		if p.m.GID == nil {
			return o.badValue([]byte("you need to use --gid-owner first"))
		}
		p.m.SupplGroups = true
	}
	return err
}

// ids reads a name, or a range of numbers.
func (o *optionCall) ids(lookUp func(*libc.Names, string) (uint32, bool)) (*IDRange, error) {
	if id, ok := lookUp(o.names(), string(o.arg)); ok {
		return &IDRange{Min: id, Max: id, Invert: o.invert}, nil
	}
	low, rest, ok := libc.CutNumber(o.arg)
	high := low
	if ok && len(rest) > 0 && (rest[0] == '-' || rest[0] == ':') {
		high, rest, ok = libc.CutNumber(rest[1:])
	}
	if !ok || len(rest) > 0 || low >= math.MaxUint32 || high >= math.MaxUint32 {
		return nil, o.badValue(o.arg)
	}
	return &IDRange{Min: uint32(low), Max: uint32(high), Invert: o.invert}, nil
}

func (p *ownerParser) finish(seen uint32) (Match, error) {
	if seen == 0 {
		return nil, badParameter("owner: At least one of --uid-owner, --gid-owner or --socket-exists is required")
	}
	m := p.m
	return &m, nil
}
