package fakeipt

import (
	"strconv"
	"syscall"

	"github.com/chainwalk/chainwalk/netfilter"
)

// TargetDNAT is -j DNAT.
type TargetDNAT struct {
	Range netfilter.NATRange
	// BasePort is the third number of PORT-PORT/BASE, which maps the old port range onto the new one; 0: none.
	BasePort uint16
}

// Name is "DNAT".
func (*TargetDNAT) Name() string { return "DNAT" }

func (t *TargetDNAT) appendSave(dst []byte, _ netfilter.Family, _ netfilter.Dialect) []byte {
	dst = t.appendTo(append(dst, " --to-destination "...))
	return appendNATFlags(dst, &t.Range, " --")
}

func (t *TargetDNAT) appendList(dst []byte, _ listStyle) []byte {
	return appendNATFlags(t.appendTo(append(dst, " to:"...)), &t.Range, " ")
}

func (t *TargetDNAT) appendTo(dst []byte) []byte {
	dst = appendNATAddrPort(dst, &t.Range)
	if t.BasePort != 0 {
		dst = strconv.AppendUint(append(dst, '/'), uint64(t.BasePort), 10)
	}
	return dst
}

func (t *TargetDNAT) check(c *checkContext) syscall.Errno { return c.wantTable("nat") }

func (t *TargetDNAT) allowedHooks(bool) hookMask { return hookPrerouting | hookOutput }

func (t *TargetDNAT) addFact(f *netfilter.Fact) {
	addTranslation(f, &t.Range, netfilter.DNAT, netfilter.Destination)
}

var dnatExtension = &extension{
	name: "DNAT",
	options: []optionSpec{
		{name: "to-destination", mandatory: true},
		{name: "random", flag: true},
		{name: "persistent", flag: true},
	},
	newTarget: func() targetParser { return &dnatParser{} },
}

type dnatParser struct {
	natParser
	slab slab[TargetDNAT]
}

func (p *dnatParser) option(o *optionCall) error {
	if o.name != "to-destination" {
		p.flag(o.name)
		return nil
	}
	var err error
	p.basePort, err = p.parseAddrPort(o)
	return err
}

func (p *dnatParser) finish(uint32) (Target, error) {
	// Destinations seldom repeat, so they are not looked up.
	t := p.slab.alloc()
	*t = TargetDNAT{Range: p.r, BasePort: p.basePort}
	return t, nil
}
