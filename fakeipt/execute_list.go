package fakeipt

import (
	"fmt"
	"syscall"

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
		if s := x.edit.slotOf(c.chain); x.edit.dialect == netfilter.NFT && s.hook&^x.edit.made != 0 {
			return nil // the chain was made for the listing alone, and is empty
		}
		return x.zeroRule(c)
	}
	e := x.edit
	if e.dialect == netfilter.NFT {
		// The tool takes the chains that it has listed for chains that exist.
		existed := e.exists
		e.makeBuiltins(c.chain, c.chainGiven)
		if !existed {
			e.fail(e.line, batchZeroChain, syscall.ENOENT, e.madeChains()[0].name)
		}
	}
	return x.zero(c)
}

// errIncompatible is what the nft tools say about a chain that they do not find when they list it.
func errIncompatible(chain, table string) error {
	return &problem{status: statusOther, msg: fmt.Sprintf("chain `%s' in table `%s' is incompatible, use 'nft' tool.", chain, table)}
}

// listed are the chains that a listing is about.
func (x *execution) listed(c *command) ([]*chainSlot, error) {
	x.warnOfLegacy("")
	if !c.chainGiven {
		return x.edit.allChains(), nil
	}
	s := x.edit.slotOf(c.chain)
	if !s.live {
		if x.edit.dialect == netfilter.NFT {
			return nil, errIncompatible(c.chain, x.edit.kind.name)
		}
		return nil, errNoChain
	}
	return []*chainSlot{s}, nil
}

func (x *execution) list(c *command) error {
	chains, err := x.listed(c)
	if err != nil {
		return err
	}
	style := listStyle{numeric: c.numeric, verbose: c.verbose > 0, exact: c.exact, lineNumbers: c.lineNumbers,
		dialect: x.edit.dialect, family: x.edit.family, names: x.names()}
	for i, s := range chains {
		if i > 0 {
			x.out = append(x.out, '\n')
		}
		if c.number == 0 {
			x.out = style.appendChainHead(x.out, s)
		}
		for n, r := range s.currentRules() {
			if c.number == 0 || c.number == n+1 {
				x.warnOfLabel(r)
				x.out = style.appendRule(x.out, n+1, r)
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
			x.out = s.view().appendRuleListHead(x.out, c.verbose > 0)
		}
	}
	for _, s := range chains {
		for n, r := range s.currentRules() {
			if c.number != 0 && c.number != n+1 {
				continue
			}
			x.warnOfLabel(r)
			x.out = append(append(x.out, "-A "...), s.name...)
			if r.opaque {
				x.out = append(r.appendOptions(x.out, x.edit.family, x.edit.dialect), '\n')
				continue
			}
			x.out = r.appendMatches(x.out, x.edit.family, x.edit.dialect)
			if c.verbose > 0 {
				x.out = appendCounters(x.out, " -c ", " ", "", r.Counters)
			}
			x.out = append(r.appendTarget(x.out, x.edit.family, x.edit.dialect), '\n')
		}
	}
	return nil
}

// warnOfLabel is what a tool says of a rule that it prints: it looks for the name of a label.
func (x *execution) warnOfLabel(r *Rule) {
	if x.edit.context.namespace.HasLabels() {
		for range r.labels() {
			x.warn(noLabelNames)
		}
	}
}

// appendRuleListHead appends "-P CHAIN POLICY" or "-N CHAIN".
func (c *Chain) appendRuleListHead(dst []byte, counters bool) []byte {
	if c.Policy == PolicyNone {
		return append(append(append(dst, "-N "...), c.Name...), '\n')
	}
	dst = append(append(append(dst, "-P "...), c.Name...), ' ')
	dst = append(dst, c.Policy.policyText()...)
	if counters {
		dst = appendCounters(dst, " -c ", " ", "", c.Counters)
	}
	return append(dst, '\n')
}
