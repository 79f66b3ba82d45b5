package match

import (
	"math"
	"strconv"

	"github.com/chainwalk/chainwalk/fakeipt/xtables"
	"github.com/chainwalk/chainwalk/netfilter"
)

// Quota is -m quota: packets match until they have been Quota bytes together, and with Invert from then on.
type Quota struct {
	Quota  uint64
	Invert bool
}

// Name is "quota".
func (*Quota) Name() string { return "quota" }

func (m *Quota) AppendSave(dst []byte, _ netfilter.Family, _ netfilter.Dialect) []byte {
	return strconv.AppendUint(append(xtables.AppendOption(dst, "--quota", m.Invert), ' '), m.Quota, 10)
}

func (m *Quota) AppendList(dst []byte, _ xtables.ListStyle) []byte {
	return append(strconv.AppendUint(append(dst, " quota: "...), m.Quota, 10), " bytes"...)
}

var quotaExtension = &xtables.Extension{
	Name:     "quota",
	Options:  []xtables.Option{{Name: "quota", Invert: true, Mandatory: true}},
	NewMatch: func() xtables.MatchParser { return &quotaParser{} },
}

type quotaParser struct {
	m    Quota
	slab xtables.Slab[Quota]
}

func (p *quotaParser) Begin(netfilter.Family) { p.m = Quota{} }

func (p *quotaParser) Option(o *xtables.OptionCall) error {
	n, err := o.Number(0, math.MaxUint64)
	p.m = Quota{Quota: n, Invert: o.Invert}
	return err
}

func (p *quotaParser) Finish(uint32) (xtables.Match, error) {
	// Each counts for itself, so equal ones are not one.
	m := p.slab.Alloc()
	*m = p.m
	return m, nil
}
