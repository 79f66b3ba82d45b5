package fakeipt

import (
	"bytes"
	"errors"
	"fmt"

	"github.com/chainwalk/chainwalk/internal/libc"
	"github.com/chainwalk/chainwalk/netfilter"
)

// declare acts on ":CHAIN POLICY [PACKETS:BYTES]".
func (r *restorer) declare(line []byte) error {
	name, rest := cutWord(line[1:])
	if name == nil {
		return badParameter("%s: line %d chain name invalid", r.tool, r.line)
	}
	policy, rest := cutWord(rest)
	s := r.x.edit.slotOfWord(name)
	r.parser.hideTarget(name)
	var err error
	if r.kernel.dialect == netfilter.NFT {
		err = r.declareNFT(s, name, policy)
	} else {
		err = r.declareLegacy(s, name, policy)
	}
	nft := r.kernel.dialect == netfilter.NFT
	kept := string(policy) == "-" // the policy; of nft the counters are set all the same
	if err != nil || policy == nil || kept && !nft || s.hook == 0 && nft {
		return err
	}
	counters := &netfilter.Counters{}
	if r.counters && !(r.dump != nil && firstWord(rest) == nil) {
		if counters, err = parsePolicyCounters(rest); err != nil {
			return badParameter("invalid policy counters for chain '%s'", name)
		}
	}
	if kept {
		if r.late == nil {
			r.x.edit.open(s)
			s.counters = counters
			r.x.edit.counted |= s.hook
		}
		return nil
	}
	return r.setPolicy(s, string(policy), counters)
}

func (r *restorer) setPolicy(s *chainSlot, policy string, counters *netfilter.Counters) error {
	if r.late != nil {
		return nil
	}
	err := r.x.edit.setPolicy(s.name, policy, counters)
	if err == nil {
		r.x.edit.counted |= s.hook
		return nil
	}
	if r.kernel.dialect == netfilter.NFT {
		return r.delay(err)
	}
	var refused *refusal
	errors.As(err, &refused)
	return &problem{status: statusOther, msg: fmt.Sprintf("Can't set policy `%s' on `%s' line %d: %s", policy, s.name, r.line, refused.msg)}
}

func (r *restorer) declareLegacy(s *chainSlot, name, policy []byte) error {
	if len(name) > maxChainName {
		return badParameter("Invalid chain name `%s' (%d chars max)", name, maxChainName)
	}
	if s.hook == 0 {
		switch {
		case r.noflush && s.live:
			r.x.edit.flushChain(s)
		case r.x.edit.createChain(s.name) != nil:
			return badParameter("error creating chain '%s':File exists", name)
		}
	}
	if policy == nil {
		return badParameter("%s: line %d policy invalid", r.tool, r.line)
	}
	return nil
}

func (r *restorer) declareNFT(s *chainSlot, name, policy []byte) error {
	switch {
	case name[0] == '-' || name[0] == '!':
		return badParameter("chain name not allowed to start with `%c'", name[0])
	case len(name) > maxChainName:
		return badParameter("chain name `%s' too long (must be under %d chars)", name, maxChainName+1)
	case isVerdictName(s.name):
		return badParameter("chain name may not clash with target name")
	case policy == nil:
		return badParameter("%s: line %d policy invalid", r.tool, r.line)
	case r.late != nil:
		return nil
	}
	e := r.x.edit
	e.touch()
	switch {
	case s.hook != 0:
		e.changed = true
		e.make(s.hook)
	case s.live:
		e.flushChain(s)
		s.fresh = true
	default:
		return e.createChain(s.name)
	}
	return nil
}

// parsePolicyCounters reads "[PACKETS:BYTES]".
func parsePolicyCounters(text []byte) (*netfilter.Counters, error) {
	word := firstWord(text)
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
