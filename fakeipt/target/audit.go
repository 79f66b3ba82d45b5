package target

import (
	"strings"

	"github.com/chainwalk/chainwalk/fakeipt/xtables"
	"github.com/chainwalk/chainwalk/netfilter"
)

// auditTypes are what an audit record can say of the packet.
var auditTypes = [...]string{"accept", "drop", "reject"}

// Audit is -j AUDIT: it writes an audit record. The packet goes on.
type Audit struct {
	Type uint8 // its place in auditTypes
}

// Name is "AUDIT".
func (*Audit) Name() string { return "AUDIT" }

func (t *Audit) AppendSave(dst []byte, _ netfilter.Family, _ netfilter.Dialect) []byte {
	return append(append(dst, " --type "...), auditTypes[t.Type]...)
}

func (t *Audit) AppendList(dst []byte, _ xtables.ListStyle) []byte {
	return append(append(dst, " AUDIT "...), auditTypes[t.Type]...)
}

var auditExtension = &xtables.Extension{
	Name:      "AUDIT",
	Options:   []xtables.Option{{Name: "type", Mandatory: true}},
	NewTarget: func() xtables.TargetParser { return &auditParser{} },
}

type auditParser struct {
	t     Audit
	arena xtables.Arena[Audit]
}

func (p *auditParser) Begin(netfilter.Family) { p.t = Audit{} }

func (p *auditParser) Option(o *xtables.OptionCall) error {
	for i, name := range auditTypes {
		if strings.EqualFold(name, string(o.Arg)) {
			p.t.Type = uint8(i)
			return nil
		}
	}
	return xtables.BadParameter("Bad action type value \"%s\"", o.Arg)
}

func (p *auditParser) Finish(uint32) (xtables.Target, error) { return p.arena.Intern(p.t), nil }
