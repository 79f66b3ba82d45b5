package fakeipt

import (
	"fmt"
	"syscall"

	"github.com/chainwalk/chainwalk/fakeipt/match"
	"github.com/chainwalk/chainwalk/fakeipt/ruleset"
	"github.com/chainwalk/chainwalk/fakeipt/xtables"
	"github.com/chainwalk/chainwalk/netfilter"
)

// listAndZero is -L and -S, also with -Z.
func (x *execution) listAndZero(c *command) error {
	list := x.listRules
	if c.op == 'L' {
		list = x.list
	}
	if err := list(c); err != nil || !c.zero {
		return err
	}
	if c.zeroRule {
		if s := x.edit.SlotOf(c.chain); x.edit.Dialect == netfilter.NFT && s.Hook&^x.edit.Made != 0 {
			return nil // the chain was made for the listing alone, and is empty
		}
		return x.zeroRule(c)
	}
	e := x.edit
	if e.Dialect == netfilter.NFT {
		// The tool takes the chains that it has listed for chains that exist.
		existed := e.Exists
		e.MakeBuiltins(c.chain, c.chainGiven)
		if !existed {
			e.Fail(e.Line, ruleset.ChainZero, syscall.ENOENT, e.MadeChains()[0].Name)
		}
	}
	return x.zero(c)
}

// errIncompatible is what the nft tools say about a chain that they do not find when they list it.
func errIncompatible(chain, table string) error {
	return &xtables.Problem{Status: xtables.StatusOther,
		Msg: fmt.Sprintf("chain `%s' in table `%s' is incompatible, use 'nft' tool.", chain, table)}
}

// listed are the chains that a listing is about.
func (x *execution) listed(c *command) ([]*ruleset.Slot, error) {
	x.warnOfLegacy("")
	if !c.chainGiven {
		return x.edit.AllChains(), nil
	}
	s := x.edit.SlotOf(c.chain)
	if !s.Live {
		if x.edit.Dialect == netfilter.NFT {
			return nil, errIncompatible(c.chain, x.edit.Kind.Name)
		}
		return nil, ruleset.ErrNoChain
	}
	return []*ruleset.Slot{s}, nil
}

func (x *execution) list(c *command) error {
	chains, err := x.listed(c)
	if err != nil {
		return err
	}
	style := xtables.ListStyle{Numeric: c.numeric, Verbose: c.verbose > 0, Exact: c.exact, LineNumbers: c.lineNumbers,
		Dialect: x.edit.Dialect, Family: x.edit.Family, Names: x.Names()}
	for i, s := range chains {
		if i > 0 {
			x.out = append(x.out, '\n')
		}
		if c.number == 0 {
			x.out = appendChainHead(x.out, style, s)
		}
		for n, r := range s.CurrentRules() {
			if c.number == 0 || c.number == n+1 {
				x.warnOfLabel(r)
				x.out = style.AppendRule(x.out, n+1, r)
			}
		}
	}
	return nil
}

// listRules is -S.
func (x *execution) listRules(c *command) error {
	chains, err := x.listed(c)
	if err != nil {
		return err
	}
	if c.number == 0 {
		for _, s := range chains {
			x.out = appendRuleListHead(x.out, s.View(), c.verbose > 0)
		}
	}
	for _, s := range chains {
		for n, r := range s.CurrentRules() {
			if c.number != 0 && c.number != n+1 {
				continue
			}
			x.warnOfLabel(r)
			x.out = append(append(x.out, "-A "...), s.Name...)
			if r.HasOpaque {
				x.out = append(r.AppendOptions(x.out, x.edit.Family, x.edit.Dialect), '\n')
				continue
			}
			x.out = r.AppendMatches(x.out, x.edit.Family, x.edit.Dialect)
			if c.verbose > 0 {
				x.out = xtables.AppendCounters(x.out, " -c ", " ", "", r.Counters)
			}
			x.out = append(r.AppendTarget(x.out, x.edit.Family, x.edit.Dialect), '\n')
		}
	}
	return nil
}

// warnOfLabel is what a tool says of a rule that it prints: it looks for the name of a label.
func (x *execution) warnOfLabel(r *xtables.Rule) {
	if x.edit.Context.Namespace.HasLabels() {
		for range match.Labels(r) {
			x.Warn(match.NoLabelNames)
		}
	}
}

// appendRuleListHead appends "-P CHAIN POLICY" or "-N CHAIN".
func appendRuleListHead(dst []byte, c *ruleset.Chain, counters bool) []byte {
	if c.Policy == ruleset.PolicyNone {
		return append(append(append(dst, "-N "...), c.Name...), '\n')
	}
	dst = append(append(append(dst, "-P "...), c.Name...), ' ')
	dst = append(dst, c.Policy.Text()...)
	if counters {
		dst = xtables.AppendCounters(dst, " -c ", " ", "", c.Counters)
	}
	return append(dst, '\n')
}

// appendChainHead appends the two lines above the rules of a chain.
func appendChainHead(dst []byte, style xtables.ListStyle, s *ruleset.Slot) []byte {
	c := s.View()
	dst = append(append(dst, "Chain "...), c.Name...)
	if c.Policy == ruleset.PolicyNone {
		dst = fmt.Appendf(dst, " (%d references)\n", s.Refs)
	} else {
		dst = fmt.Appendf(dst, " (policy %s", c.Policy.Text())
		if style.Verbose {
			dst = append(dst, ' ')
			dst = style.AppendNumber(dst, c.Counters.Packets(), 0)
			dst = append(dst, " packets, "...)
			dst = style.AppendNumber(dst, c.Counters.Bytes(), 0)
			dst = append(dst, " bytes"...)
		}
		dst = append(dst, ")\n"...)
	}
	return style.AppendColumns(dst)
}
