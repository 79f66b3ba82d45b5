package target

import (
	"strconv"
	"syscall"

	"github.com/chainwalk/chainwalk/fakeipt/xtables"
	"github.com/chainwalk/chainwalk/netfilter"
)

// DNAT is -j DNAT.
type DNAT struct {
	Range netfilter.NATRange
	// BasePort is the third number of PORT-PORT/BASE, which maps the old port range onto the new one; 0: none.
	BasePort uint16
}

// Name is "DNAT".
func (*DNAT) Name() string { return "DNAT" }

func (t *DNAT) AppendSave(dst []byte, _ netfilter.Family, _ netfilter.Dialect) []byte {
	dst = t.appendTo(append(dst, " --to-destination "...))
	return appendNATFlags(dst, &t.Range, " --")
}

func (t *DNAT) AppendList(dst []byte, _ xtables.ListStyle) []byte {
	return appendNATFlags(t.appendTo(append(dst, " to:"...)), &t.Range, " ")
}

func (t *DNAT) appendTo(dst []byte) []byte {
	dst = appendNATAddrPort(dst, &t.Range)
	if t.BasePort != 0 {
		dst = strconv.AppendUint(append(dst, '/'), uint64(t.BasePort), 10)
	}
	return dst
}

func (t *DNAT) Check(c *xtables.CheckContext) syscall.Errno { return c.WantTable("nat") }

func (t *DNAT) AllowedHooks(bool) xtables.HookMask {
	return xtables.HookPrerouting | xtables.HookOutput
}

func (t *DNAT) AddFact(f *netfilter.Fact) {
	xtables.AddTranslation(f, &t.Range, netfilter.DNAT, netfilter.Destination)
}

var dnatExtension = &xtables.Extension{
	Name: "DNAT",
	Options: []xtables.Option{
		{Name: "to-destination", Mandatory: true},
		{Name: "random", Flag: true},
		{Name: "persistent", Flag: true},
	},
	NewTarget: func() xtables.TargetParser { return &dnatParser{} },
}

type dnatParser struct {
	natParser
	slab xtables.Slab[DNAT]
}

func (p *dnatParser) Option(o *xtables.OptionCall) error {
	if o.Name != "to-destination" {
		p.flag(o.Name)
		return nil
	}
	var err error
	p.basePort, err = p.parseAddrPort(o)
	return err
}

func (p *dnatParser) Finish(uint32) (xtables.Target, error) {
	// Destinations seldom repeat, so they are not looked up.
	t := p.slab.Alloc()
	*t = DNAT{Range: p.r, BasePort: p.basePort}
	return t, nil
}
