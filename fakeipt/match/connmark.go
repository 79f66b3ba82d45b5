package match

import (
	"github.com/chainwalk/chainwalk/fakeipt/xtables"
	"github.com/chainwalk/chainwalk/netfilter"
)

// Connmark is -m connmark: the connection's mark under Mask is Value.
type Connmark struct {
	Value, Mask uint32
	Invert      bool
}

// Name is "connmark".
func (*Connmark) Name() string { return "connmark" }

func (m *Connmark) AppendSave(dst []byte, _ netfilter.Family, _ netfilter.Dialect) []byte {
	return xtables.AppendMark(xtables.AppendOption(dst, "--mark", m.Invert), m.Value, m.Mask)
}

func (m *Connmark) AppendList(dst []byte, _ xtables.ListStyle) []byte {
	return xtables.AppendMark(append(append(dst, " connmark match "...), xtables.Bang(m.Invert)...), m.Value, m.Mask)
}

var connmarkExtension = &xtables.Extension{
	Name:     "connmark",
	Options:  markMatchOptions,
	NewMatch: func() xtables.MatchParser { return &markParser[Connmark, *Connmark]{} },
}
