package ipt

import (
	"bytes"

	"github.com/chainwalk/chainwalk/proxier/internal/model"
)

// ruleCounts counts rules by table: those that an input adds, not those of the
// kernel's own chains.
type ruleCounts struct{ filter, nat int }

// countRules counts the rules that an input adds.
func countRules(input []byte) ruleCounts {
	filter, nat, _ := bytes.Cut(input, []byte("*nat\n"))
	adds := func(table []byte) int { return bytes.Count(table, []byte("\n-A ")) }
	return ruleCounts{filter: adds(filter), nat: adds(nat)}
}

// count adds a service port to what the tables hold; a sign of -1 takes it away.
func (r *renderer) count(e *entry, sign int) {
	r.rules.filter += sign * count(e.lines.inFilter())
	r.rules.nat += sign * (count(e.lines.inNAT()) + e.rules)
	r.totals.Add(model.Totals{Endpoints: e.known, NoLocal: e.noLocal}, sign)
}
