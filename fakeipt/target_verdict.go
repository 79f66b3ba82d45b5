package fakeipt

import "github.com/chainwalk/chainwalk/netfilter"

// VerdictKind is a decision about the packet.
type VerdictKind uint8

// The verdicts that a rule can give.
const (
	VerdictAccept VerdictKind = iota
	VerdictDrop
	VerdictReturn
)

// Verdict is -j ACCEPT, DROP or RETURN.
type Verdict struct {
	Kind VerdictKind
}

// verdictNames are the names of the kinds.
var verdictNames = [...]string{"ACCEPT", "DROP", "RETURN"}

// Name is "ACCEPT", "DROP" or "RETURN".
func (v *Verdict) Name() string { return verdictNames[v.Kind] }

func (v *Verdict) appendSave(dst []byte, _ netfilter.Family, _ netfilter.Dialect) []byte { return dst }

func (v *Verdict) appendList(dst []byte, _ listStyle) []byte { return dst }

func (v *Verdict) addFact(f *netfilter.Fact) { f.Verdict = netfilter.Verdict(v.Name()) }

// findVerdict returns the verdict of that name.
func findVerdict(name []byte) (VerdictKind, bool) {
	for i, n := range verdictNames {
		if n == string(name) {
			return VerdictKind(i), true
		}
	}
	return 0, false
}
