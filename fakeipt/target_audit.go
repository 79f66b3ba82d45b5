package fakeipt

import (
	"strings"

	"github.com/chainwalk/chainwalk/netfilter"
)

// AuditType is what an audit record says of the packet.
type AuditType uint8

// The types.
const (
	AuditAccept AuditType = iota
	AuditDrop
	AuditReject
)

var auditTypes = [...]string{"accept", "drop", "reject"}

// TargetAudit is -j AUDIT: it writes an audit record. The packet goes on.
type TargetAudit struct {
	Type AuditType
}

// Name is "AUDIT".
func (*TargetAudit) Name() string { return "AUDIT" }

func (t *TargetAudit) appendSave(dst []byte, _ netfilter.Family, _ netfilter.Dialect) []byte {
	return append(append(dst, " --type "...), auditTypes[t.Type]...)
}

func (t *TargetAudit) appendList(dst []byte, _ listStyle) []byte {
	return append(append(dst, " AUDIT "...), auditTypes[t.Type]...)
}

var auditExtension = &extension{
	name:      "AUDIT",
	options:   []optionSpec{{name: "type", mandatory: true}},
	newTarget: func() targetParser { return &auditParser{} },
}

type auditParser struct {
	t     TargetAudit
	arena arena[TargetAudit]
}

func (p *auditParser) begin(netfilter.Family) { p.t = TargetAudit{} }

func (p *auditParser) option(o *optionCall) error {
	for i, name := range auditTypes {
		if strings.EqualFold(name, string(o.arg)) {
			p.t.Type = AuditType(i)
			return nil
		}
	}
	return badParameter("Bad action type value \"%s\"", o.arg)
}

func (p *auditParser) finish(uint32) (Target, error) { return p.arena.intern(p.t), nil }
