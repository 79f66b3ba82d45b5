package fakeipt

import "github.com/chainwalk/chainwalk/netfilter"

// MatchFrag is -m frag (IPv6 only): the header of a fragment.
type MatchFrag struct {
	ID        NumberRange
	HasLength bool
	Length    HeaderLength // of the header
	Reserved  bool         // the reserved field is 0
	First     bool         // the fragment is the first one
	More      bool         // the fragment is not the last one
	Last      bool
}

// Name is "frag".
func (*MatchFrag) Name() string { return "frag" }

func (m *MatchFrag) appendSave(dst []byte, _ netfilter.Family, _ netfilter.Dialect) []byte {
	dst = m.ID.appendSave(dst, "--fragid")
	if m.HasLength {
		dst = m.Length.appendSave(dst, "--fraglen")
	}
	return appendFlags(dst, " --frag", flagWord{"res", m.Reserved}, flagWord{"first", m.First}, flagWord{"more", m.More},
		flagWord{"last", m.Last})
}

func (m *MatchFrag) appendList(dst []byte, _ listStyle) []byte {
	dst = m.ID.appendList(append(dst, " frag "...), "id")
	if m.HasLength {
		dst = m.Length.appendList(append(dst, ' '))
	}
	return appendFlags(dst, " ", flagWord{"reserved", m.Reserved}, flagWord{"first", m.First}, flagWord{"more", m.More},
		flagWord{"last", m.Last})
}

var fragExtension = &extension{
	name:   "frag",
	onlyIn: netfilter.IPv6,
	options: []optionSpec{
		{name: "fragid", invert: true}, {name: "fraglen", invert: true}, {name: "fragres", flag: true}, {name: "fragfirst", flag: true},
		{name: "fragmore", flag: true, excludes: 1 << 5}, {name: "fraglast", flag: true, excludes: 1 << 4},
	},
	newMatch: matchOf(valueParser[MatchFrag]{start: func(netfilter.Family) MatchFrag { return MatchFrag{ID: anyNumber} }, read: (*MatchFrag).read}),
}

func (m *MatchFrag) read(o *optionCall) (err error) {
	switch o.name {
	case "fragid":
		m.ID, err = o.numberRange()
	case "fraglen":
		m.HasLength = true
		m.Length, err = o.headerLength()
	case "fragres":
		m.Reserved = true
	case "fragfirst":
		m.First = true
	case "fragmore":
		m.More = true
	case "fraglast":
		m.Last = true
	}
	return err
}
