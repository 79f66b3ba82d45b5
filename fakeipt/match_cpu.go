package fakeipt

import (
	"math"
	"strconv"

	"github.com/chainwalk/chainwalk/netfilter"
)

// MatchCPU is -m cpu: the processor that handles the packet.
type MatchCPU struct {
	CPU    uint32
	Invert bool
}

// Name is "cpu".
func (*MatchCPU) Name() string { return "cpu" }

func (m *MatchCPU) appendSave(dst []byte, _ netfilter.Family, _ netfilter.Dialect) []byte {
	return strconv.AppendUint(append(appendOption(dst, "--cpu", m.Invert), ' '), uint64(m.CPU), 10)
}

func (m *MatchCPU) appendList(dst []byte, _ listStyle) []byte {
	return strconv.AppendUint(append(appendAfter(dst, "cpu", m.Invert), ' '), uint64(m.CPU), 10)
}

var cpuExtension = &extension{
	name:     "cpu",
	options:  []optionSpec{{name: "cpu", invert: true, mandatory: true}},
	newMatch: func() matchParser { return &cpuParser{} },
}

type cpuParser struct {
	m     MatchCPU
	arena arena[MatchCPU]
}

func (p *cpuParser) begin(netfilter.Family) { p.m = MatchCPU{} }

func (p *cpuParser) option(o *optionCall) error {
	n, err := o.number(0, math.MaxUint32)
	p.m = MatchCPU{CPU: uint32(n), Invert: o.invert}
	return err
}

func (p *cpuParser) finish(uint32) (Match, error) { return p.arena.intern(p.m), nil }
