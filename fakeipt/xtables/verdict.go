package xtables

import "github.com/chainwalk/chainwalk/netfilter"

// VerdictKind is a decision about the packet.
type VerdictKind uint8

// The verdicts that a rule can give.
const (
	VerdictAccept VerdictKind = iota
	VerdictDrop
	VerdictReturn
)

// TargetVerdict is -j ACCEPT, DROP or RETURN.
type TargetVerdict struct {
	Kind VerdictKind
}

// verdictNames are the names of the kinds.
var verdictNames = [...]string{"ACCEPT", "DROP", "RETURN"}

// Name is "ACCEPT", "DROP" or "RETURN".
func (v *TargetVerdict) Name() string { return verdictNames[v.Kind] }

func (v *TargetVerdict) AppendSave(dst []byte, _ netfilter.Family, _ netfilter.Dialect) []byte {
	return dst
}

func (v *TargetVerdict) AppendList(dst []byte, _ ListStyle) []byte { return dst }

func (v *TargetVerdict) AddFact(f *netfilter.Fact) { f.Verdict = netfilter.Verdict(v.Name()) }

// FindVerdict returns the verdict of that name.
func FindVerdict(name []byte) (VerdictKind, bool) {
	for i, n := range verdictNames {
		if n == string(name) {
			return VerdictKind(i), true
		}
	}
	return 0, false
}

// StandardTarget is the extension that stands for the verdicts and chains. The tools know it by name, and the kernel has none of that name.
const StandardTarget = "standard"

// StandardExtension is the extension of that name, which has no options.
var StandardExtension = &Extension{
	Name:      StandardTarget,
	NewTarget: WithoutOptions(&Gone{Extension: StandardTarget}),
}

// WithoutOptions makes parsers of a target without options.
func WithoutOptions(t Target) func() TargetParser {
	return func() TargetParser { return plainParser{t} }
}

// plainParser is the parser of a target without options.
type plainParser struct {
	target Target
}

func (plainParser) Begin(netfilter.Family) {}

func (p plainParser) Option(o *OptionCall) error {
	return BadParameter("unknown option \"--%s\"", o.Name)
}

func (p plainParser) Finish(uint32) (Target, error) { return p.target, nil }

// IsVerdict says that the target is one of the kernel's own that end the way through the chain.
func IsVerdict(t Target) bool {
	switch t.(type) {
	case *TargetVerdict, *Queue:
		return true
	}
	return false
}

// IsVerdictName says that the word is the name of a verdict, which no chain can have.
func IsVerdictName(name string) bool {
	_, ok := FindVerdict([]byte(name))
	return ok || name == QueueName
}
