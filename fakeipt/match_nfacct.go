package fakeipt

import (
	"syscall"

	"github.com/chainwalk/chainwalk/netfilter"
	"github.com/chainwalk/chainwalk/netfilter/nfacct"
)

// MatchNFAcct is -m nfacct: it counts the packet in a named object and matches always.
type MatchNFAcct struct {
	Object string
}

// Name is "nfacct".
func (*MatchNFAcct) Name() string { return "nfacct" }

// appendSave prints two spaces before the name, as the real tool does.
func (m *MatchNFAcct) appendSave(dst []byte, _ netfilter.Family, _ netfilter.Dialect) []byte {
	return append(append(dst, " --nfacct-name  "...), m.Object...)
}

func (m *MatchNFAcct) appendList(dst []byte, _ listStyle) []byte {
	return appendQuoted(append(dst, " nfacct-name "...), m.Object)
}

func (m *MatchNFAcct) check(c *checkContext) syscall.Errno {
	if _, ok := c.namespace.Accounts().Get(m.Object); !ok {
		return syscall.ENOENT
	}
	return 0
}

func (m *MatchNFAcct) addFact(f *netfilter.Fact) {
	addOther(&f.Conditions, m.Name())
	f.Memories = append(f.Memories, netfilter.Memory{Kind: netfilter.Accounting, Name: m.Object, Writes: true})
}

var nfacctExtension = &extension{
	name:     "nfacct",
	options:  []optionSpec{{name: "nfacct-name", mandatory: true}},
	newMatch: func() matchParser { return &nfacctParser{} },
}

type nfacctParser struct {
	m     MatchNFAcct
	arena arena[MatchNFAcct]
}

func (p *nfacctParser) begin(netfilter.Family) { p.m = MatchNFAcct{} }

func (p *nfacctParser) option(o *optionCall) error {
	if err := wantLine(o); err != nil {
		return err
	}
	p.m.Object = string(o.arg[:min(len(o.arg), nfacct.MaxName)])
	return nil
}

func (p *nfacctParser) finish(uint32) (Match, error) { return p.arena.intern(p.m), nil }
