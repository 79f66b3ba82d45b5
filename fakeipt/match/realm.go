package match

import (
	"github.com/chainwalk/chainwalk/fakeipt/xtables"
	"github.com/chainwalk/chainwalk/netfilter"
)

// Realm is -m realm (IPv4): the realm of the packet's route, under a mask.
type Realm struct {
	Value, Mask uint32
	Invert      bool
}

// firstRealm is the name of realm 0, the only one that has a name on a machine as it was installed.
const firstRealm = "cosmos"

// Name is "realm".
func (*Realm) Name() string { return "realm" }

func (m *Realm) AppendSave(dst []byte, _ netfilter.Family, _ netfilter.Dialect) []byte {
	return appendNamedMark(xtables.AppendOption(dst, "--realm", m.Invert), m.Value, m.Mask, firstRealm)
}

func (m *Realm) AppendList(dst []byte, style xtables.ListStyle) []byte {
	return listNamedMark(style, xtables.AppendOption(dst, "realm", m.Invert), m.Value, m.Mask, firstRealm)
}

func (*Realm) AllowedHooks(bool) xtables.HookMask { return xtables.HooksAll &^ xtables.HookPrerouting }

var realmExtension = &xtables.Extension{
	Name:     "realm",
	OnlyIn:   netfilter.IPv4,
	Options:  []xtables.Option{{Name: "realm", Invert: true, Mandatory: true}},
	NewMatch: func() xtables.MatchParser { return &realmParser{} },
}

type realmParser struct {
	m     Realm
	arena xtables.Arena[Realm]
}

func (p *realmParser) Begin(netfilter.Family) { p.m = Realm{} }

func (p *realmParser) Option(o *xtables.OptionCall) (err error) {
	p.m.Invert = o.Invert
	p.m.Value, p.m.Mask, err = o.NamedMark(firstRealm)
	return err
}

func (p *realmParser) Finish(uint32) (xtables.Match, error) { return p.arena.Intern(p.m), nil }
