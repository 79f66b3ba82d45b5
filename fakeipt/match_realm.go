package fakeipt

import "github.com/chainwalk/chainwalk/netfilter"

// MatchRealm is -m realm (IPv4): the realm of the packet's route, under a mask.
type MatchRealm struct {
	Value, Mask uint32
	Invert      bool
}

// firstRealm is the name of realm 0, the only one that has a name on a machine as it was installed.
const firstRealm = "cosmos"

// Name is "realm".
func (*MatchRealm) Name() string { return "realm" }

func (m *MatchRealm) appendSave(dst []byte, _ netfilter.Family, _ netfilter.Dialect) []byte {
	return appendNamedMark(appendOption(dst, "--realm", m.Invert), m.Value, m.Mask, firstRealm)
}

func (m *MatchRealm) appendList(dst []byte, style listStyle) []byte {
	return style.appendNamedMark(appendOption(dst, "realm", m.Invert), m.Value, m.Mask, firstRealm)
}

func (*MatchRealm) allowedHooks(bool) hookMask { return hooksAll &^ hookPrerouting }

var realmExtension = &extension{
	name:     "realm",
	onlyIn:   netfilter.IPv4,
	options:  []optionSpec{{name: "realm", invert: true, mandatory: true}},
	newMatch: func() matchParser { return &realmParser{} },
}

type realmParser struct {
	m     MatchRealm
	arena arena[MatchRealm]
}

func (p *realmParser) begin(netfilter.Family) { p.m = MatchRealm{} }

func (p *realmParser) option(o *optionCall) (err error) {
	p.m.Invert = o.invert
	p.m.Value, p.m.Mask, err = o.namedMark(firstRealm)
	return err
}

func (p *realmParser) finish(uint32) (Match, error) { return p.arena.intern(p.m), nil }
