package fakeipt

import "github.com/chainwalk/chainwalk/netfilter"

// MatchConnmark is -m connmark: the connection's mark under Mask is Value.
type MatchConnmark struct {
	Value, Mask uint32
	Invert      bool
}

// Name is "connmark".
func (*MatchConnmark) Name() string { return "connmark" }

func (m *MatchConnmark) appendSave(dst []byte, _ netfilter.Family, _ netfilter.Dialect) []byte {
	return appendMark(appendOption(dst, "--mark", m.Invert), m.Value, m.Mask)
}

func (m *MatchConnmark) appendList(dst []byte, _ listStyle) []byte {
	return appendMark(append(append(dst, " connmark match "...), bang(m.Invert)...), m.Value, m.Mask)
}

var connmarkMatchExtension = &extension{
	name:     "connmark",
	options:  markMatchOptions,
	newMatch: func() matchParser { return &markMatchParser[MatchConnmark, *MatchConnmark]{} },
}
