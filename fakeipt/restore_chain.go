package fakeipt

import (
	"bytes"
	"errors"
	"fmt"

	"github.com/chainwalk/chainwalk/fakeipt/ruleset"
	"github.com/chainwalk/chainwalk/fakeipt/xtables"
	"github.com/chainwalk/chainwalk/internal/libc"
	"github.com/chainwalk/chainwalk/netfilter"
)

// declare acts on ":CHAIN POLICY [PACKETS:BYTES]".
func (r *restorer) declare(line []byte) error {
	name, rest := xtables.CutWord(line[1:])
	if name == nil {
		return xtables.BadParameter("%s: line %d chain name invalid", r.tool, r.line)
	}
	policy, rest := xtables.CutWord(rest)
	s := r.x.edit.SlotOfWord(name)
	r.parser.hideTarget(name)
	var err error
	if r.kernel.dialect == netfilter.NFT {
		err = r.declareNFT(s, name, policy)
	} else {
		err = r.declareLegacy(s, name, policy)
	}
	nft := r.kernel.dialect == netfilter.NFT
	kept := string(policy) == "-" // the policy; of nft the counters are set all the same
	if err != nil || policy == nil || kept && !nft || s.Hook == 0 && nft {
		return err
	}
	counters := &netfilter.Counters{}
	if r.counters && !(r.dump != nil && xtables.FirstWord(rest) == nil) {
		if counters, err = parsePolicyCounters(rest); err != nil {
			return xtables.BadParameter("invalid policy counters for chain '%s'", name)
		}
	}
	if kept {
		if r.late == nil {
			r.x.edit.Open(s)
			s.Counters = counters
			r.x.edit.Counted |= s.Hook
		}
		return nil
	}
	return r.setPolicy(s, string(policy), counters)
}

func (r *restorer) setPolicy(s *ruleset.Slot, policy string, counters *netfilter.Counters) error {
	if r.late != nil {
		return nil
	}
	err := r.x.edit.SetPolicy(s.Name, policy, counters)
	if err == nil {
		r.x.edit.Counted |= s.Hook
		return nil
	}
	if r.kernel.dialect == netfilter.NFT {
		return r.delay(err)
	}
	var refused *ruleset.Refusal
	errors.As(err, &refused)
	return &xtables.Problem{Status: xtables.StatusOther,
		Msg: fmt.Sprintf("Can't set policy `%s' on `%s' line %d: %s", policy, s.Name, r.line, refused.Msg)}
}

func (r *restorer) declareLegacy(s *ruleset.Slot, name, policy []byte) error {
	if len(name) > maxChainName {
		return xtables.BadParameter("Invalid chain name `%s' (%d chars max)", name, maxChainName)
	}
	if s.Hook == 0 {
		switch {
		case r.noflush && s.Live:
			r.x.edit.FlushChain(s)
		case r.x.edit.CreateChain(s.Name) != nil:
			return xtables.BadParameter("error creating chain '%s':File exists", name)
		}
	}
	if policy == nil {
		return xtables.BadParameter("%s: line %d policy invalid", r.tool, r.line)
	}
	return nil
}

func (r *restorer) declareNFT(s *ruleset.Slot, name, policy []byte) error {
	switch {
	case name[0] == '-' || name[0] == '!':
		return xtables.BadParameter("chain name not allowed to start with `%c'", name[0])
	case len(name) > maxChainName:
		return xtables.BadParameter("chain name `%s' too long (must be under %d chars)", name, maxChainName+1)
	case xtables.IsVerdictName(s.Name):
		return xtables.BadParameter("chain name may not clash with target name")
	case policy == nil:
		return xtables.BadParameter("%s: line %d policy invalid", r.tool, r.line)
	case r.late != nil:
		return nil
	}
	e := r.x.edit
	e.Touch()
	switch {
	case s.Hook != 0:
		e.Changed = true
		e.Make(s.Hook)
	case s.Live:
		e.FlushChain(s)
		s.Fresh = true
	default:
		return e.CreateChain(s.Name)
	}
	return nil
}

// parsePolicyCounters reads "[PACKETS:BYTES]".
func parsePolicyCounters(text []byte) (*netfilter.Counters, error) {
	word := xtables.FirstWord(text)
	inner, ok := bytes.CutPrefix(word, []byte("["))
	if !ok {
		return nil, errLineFailed
	}
	first, second, ok := bytes.Cut(inner, []byte(":"))
	if !ok {
		return nil, errLineFailed
	}
	packets, ok := libc.Decimal(first)
	n, okBytes := libc.ScanUnsigned(second)
	if !ok || !okBytes {
		return nil, errLineFailed
	}
	c := &netfilter.Counters{}
	c.Set(packets, n)
	return c, nil
}
