package fakenft

import (
	"github.com/chainwalk/chainwalk/fakenft/print"
	"github.com/chainwalk/chainwalk/fakenft/syntax"
)

// listJSON prints what a command lists as JSON.
func (r *run) listJSON(c *syntax.Command) error {
	o := r.printing()
	o.Warn = func(line string) { r.errors.WriteString(line) }
	out := r.out.AvailableBuffer()
	var err error
	switch c.Kind {
	case syntax.KindRuleset, syntax.KindTable:
		out, err = print.AppendJSON(out, r.tables(c, everything), o)
	case syntax.KindTables:
		out, err = print.AppendJSONTables(out, r.tables(c, shown{}), o)
	case syntax.KindChain:
		for _, t := range r.tables(c, shown{chains: true, rules: true, chain: c.Handle.Chain}) {
			for _, chain := range t.Chains {
				out, err = print.AppendJSONChain(out, t, chain, o)
			}
		}
	case syntax.KindChains:
		out, err = print.AppendJSONChains(out, r.tables(c, shown{chains: true}), o)
	case syntax.KindSet, syntax.KindMap, syntax.KindMeter:
		out, err = print.AppendJSONSets(out, r.tables(c, shown{sets: true, set: c.Handle.Name}), syntax.KindSet, o)
	case syntax.KindSets, syntax.KindMaps, syntax.KindMeters:
		out, err = print.AppendJSONSets(out, r.tables(c, shown{sets: true}), c.Kind, o)
	case syntax.KindFlowtables, syntax.KindFlowtable:
		out, err = print.AppendJSONFlowtables(out, r.tables(c, shown{flows: true, flow: c.Handle.Name}), o)
	case syntax.KindSynproxy, syntax.KindSynproxies, syntax.KindHooks:
		return unsupported("this listing as JSON, where nft 1.0.6 fails")
	default:
		kind, isObject := objectKinds[c.Kind]
		if !isObject {
			return unsupported("this listing as JSON")
		}
		out, err = print.AppendJSONObjects(out, r.tables(c, shown{objects: true, object: c.Handle.Name, kind: kind}), kind, o)
	}
	r.out.Write(out)
	return err
}
