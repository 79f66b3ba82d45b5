package render

import (
	"bytes"

	"github.com/chainwalk/chainwalk/proxier/internal/model"
)

// Rules counts rules by table.
type Rules struct {
	Filter, NAT int
}

// NoLocal counts service ports that have endpoints, but none on this node for
// traffic that must stay there.
type NoLocal struct {
	Internal, External int
}

// Totals sums up what the kernel holds.
type Totals struct {
	// Rules are those that an input adds, not those of the kernel's own chains.
	Rules Rules
	// Endpoints are those in the API, also where no rule leads to them. One that
	// serves two ports counts twice.
	Endpoints int
	NoLocal   NoLocal
}

// CountRules counts the rules that an input adds.
func CountRules(input []byte) Rules {
	filter, nat, _ := bytes.Cut(input, []byte("*nat\n"))
	adds := func(table []byte) int { return bytes.Count(table, []byte("\n-A ")) }
	return Rules{Filter: adds(filter), NAT: adds(nat)}
}

func (t *Totals) add(e *entry, sign int) {
	t.Rules.Filter += sign * count(e.lines.inFilter())
	t.Rules.NAT += sign * (count(e.lines.inNAT()) + e.rules)
	t.Endpoints += sign * e.known
	t.NoLocal.add(e.noLocal, sign)
}

func (n *NoLocal) add(other NoLocal, sign int) {
	n.Internal += sign * other.Internal
	n.External += sign * other.External
}

func noLocalOf(service *model.Service) NoLocal {
	var n NoLocal
	if service.Internal.Verdict == model.Drop {
		n.Internal = 1
	}
	if service.External.Verdict == model.Drop && model.ExternallyAccessible(service.Port) {
		n.External = 1
	}
	return n
}
