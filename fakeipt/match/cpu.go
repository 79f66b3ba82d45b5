package match

import (
	"math"
	"strconv"

	"github.com/chainwalk/chainwalk/fakeipt/xtables"
	"github.com/chainwalk/chainwalk/netfilter"
)

// CPU is -m cpu: the processor that handles the packet.
type CPU struct {
	CPU    uint32
	Invert bool
}

// Name is "cpu".
func (*CPU) Name() string { return "cpu" }

func (m *CPU) AppendSave(dst []byte, _ netfilter.Family, _ netfilter.Dialect) []byte {
	return strconv.AppendUint(append(xtables.AppendOption(dst, "--cpu", m.Invert), ' '), uint64(m.CPU), 10)
}

func (m *CPU) AppendList(dst []byte, _ xtables.ListStyle) []byte {
	return strconv.AppendUint(append(xtables.AppendAfter(dst, "cpu", m.Invert), ' '), uint64(m.CPU), 10)
}

var cpuExtension = &xtables.Extension{
	Name:     "cpu",
	Options:  []xtables.Option{{Name: "cpu", Invert: true, Mandatory: true}},
	NewMatch: func() xtables.MatchParser { return &cpuParser{} },
}

type cpuParser struct {
	m     CPU
	arena xtables.Arena[CPU]
}

func (p *cpuParser) Begin(netfilter.Family) { p.m = CPU{} }

func (p *cpuParser) Option(o *xtables.OptionCall) error {
	n, err := o.Number(0, math.MaxUint32)
	p.m = CPU{CPU: uint32(n), Invert: o.Invert}
	return err
}

func (p *cpuParser) Finish(uint32) (xtables.Match, error) { return p.arena.Intern(p.m), nil }
