package fakeipt

import (
	"math"
	"strconv"

	"github.com/chainwalk/chainwalk/netfilter"
)

// MatchQuota is -m quota: packets match until they have been Quota bytes together, and with Invert from then on.
type MatchQuota struct {
	Quota  uint64
	Invert bool
}

// Name is "quota".
func (*MatchQuota) Name() string { return "quota" }

func (m *MatchQuota) appendSave(dst []byte, _ netfilter.Family, _ netfilter.Dialect) []byte {
	return strconv.AppendUint(append(appendOption(dst, "--quota", m.Invert), ' '), m.Quota, 10)
}

func (m *MatchQuota) appendList(dst []byte, _ listStyle) []byte {
	return append(strconv.AppendUint(append(dst, " quota: "...), m.Quota, 10), " bytes"...)
}

var quotaExtension = &extension{
	name:     "quota",
	options:  []optionSpec{{name: "quota", invert: true, mandatory: true}},
	newMatch: func() matchParser { return &quotaParser{} },
}

type quotaParser struct {
	m    MatchQuota
	slab slab[MatchQuota]
}

func (p *quotaParser) begin(netfilter.Family) { p.m = MatchQuota{} }

func (p *quotaParser) option(o *optionCall) error {
	n, err := o.number(0, math.MaxUint64)
	p.m = MatchQuota{Quota: n, Invert: o.invert}
	return err
}

func (p *quotaParser) finish(uint32) (Match, error) {
	// Each counts for itself, so equal ones are not one.
	m := p.slab.alloc()
	*m = p.m
	return m, nil
}
