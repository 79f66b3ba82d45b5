package match

import (
	"github.com/chainwalk/chainwalk/fakeipt/xtables"
	"github.com/chainwalk/chainwalk/netfilter"
)

// Frag is -m frag (IPv6 only): the header of a fragment.
type Frag struct {
	ID        xtables.NumberRange
	HasLength bool
	Length    xtables.HeaderLength // of the header
	Reserved  bool                 // the reserved field is 0
	First     bool                 // the fragment is the first one
	More      bool                 // the fragment is not the last one
	Last      bool
}

// Name is "frag".
func (*Frag) Name() string { return "frag" }

func (m *Frag) AppendSave(dst []byte, _ netfilter.Family, _ netfilter.Dialect) []byte {
	dst = m.ID.AppendSave(dst, "--fragid")
	if m.HasLength {
		dst = m.Length.AppendSave(dst, "--fraglen")
	}
	return xtables.AppendFlags(dst, " --frag", xtables.WordIf("res", m.Reserved), xtables.WordIf("first", m.First),
		xtables.WordIf("more", m.More), xtables.WordIf("last", m.Last))
}

func (m *Frag) AppendList(dst []byte, _ xtables.ListStyle) []byte {
	dst = m.ID.AppendList(append(dst, " frag "...), "id")
	if m.HasLength {
		dst = m.Length.AppendList(append(dst, ' '))
	}
	return xtables.AppendFlags(dst, " ", xtables.WordIf("reserved", m.Reserved), xtables.WordIf("first", m.First),
		xtables.WordIf("more", m.More), xtables.WordIf("last", m.Last))
}

var fragExtension = &xtables.Extension{
	Name:   "frag",
	OnlyIn: netfilter.IPv6,
	Options: []xtables.Option{
		{Name: "fragid", Invert: true}, {Name: "fraglen", Invert: true}, {Name: "fragres", Flag: true}, {Name: "fragfirst", Flag: true},
		{Name: "fragmore", Flag: true, Excludes: 1 << 5}, {Name: "fraglast", Flag: true, Excludes: 1 << 4},
	},
	NewMatch: xtables.MatchOf(xtables.ValueParser[Frag]{
		Start: func(netfilter.Family) Frag { return Frag{ID: xtables.AnyNumber} },
		Read:  (*Frag).read,
	}),
}

func (m *Frag) read(o *xtables.OptionCall) (err error) {
	switch o.Name {
	case "fragid":
		m.ID, err = o.NumberRange()
	case "fraglen":
		m.HasLength = true
		m.Length, err = o.HeaderLength()
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
