package packetsim

import (
	"fmt"

	"github.com/chainwalk/chainwalk/fakeipt/target"
	"github.com/chainwalk/chainwalk/fakeipt/xtables"
)

// target does what a rule's target says, except for verdicts and jumps. This is the list of those that are supported.
func (w *walk) target(s *skb, t xtables.Target) fate {
	switch t := t.(type) {
	case *target.Mark:
		s.Mark = s.Mark&^t.Mask ^ t.Value
		return goOn
	case *target.Connmark:
		w.connmark(s, t)
		return goOn
	case *target.Log, *target.Trace, *target.NFLOG:
		return goOn
	case *target.Checksum:
		s.sums &^= sumPartial
		return goOn
	case *target.Audit, *target.Idletimer, *target.Rateest:
		return goOn
	case *target.Classify, *target.Connsecmark, *target.Secmark:
		return goOn // no rule here asks for a priority or a security mark
	case *target.TEE:
		w.tee(s, t)
		return goOn
	case *target.Notrack:
		return notrack(s)
	case *target.CT:
		return w.conntrackTarget(s, t)
	case *target.Netmap:
		return w.netmap(s, t.Addr, t.Mask)
	case *target.Set:
		return w.targetSet(s, t)
	case *target.TPROXY:
		return w.tproxy(s, t)
	case *target.TCPMSS:
		return w.setMSS(s, t)
	case *target.HMARK:
		return w.hmark(s, t)
	case *target.NPT:
		return w.npt(s, t)
	case *target.TTL:
		changeTTL(s, t)
		return goOn
	case *target.TOS:
		changeTOS(s, t)
		return goOn
	case *target.DSCP:
		changeDSCP(s, t)
		return goOn
	case *target.ECN:
		changeECN(s, t)
		return goOn
	case *target.TCPOptStrip:
		stripOptions(s, t)
		return goOn
	case *xtables.Queue:
		return w.nfqueue(&target.NFQUEUE{})
	case *target.NFQUEUE:
		return w.nfqueue(t)
	case *target.Reject:
		return w.reject(s, t.With)
	case *target.DNAT:
		return w.dnat(s, t.Range, t.BasePort)
	case *target.Redirect:
		return w.redirect(s, t.Range)
	case *target.SNAT:
		w.outcome.SourceTranslated = true
		return w.snat(s, t.Range)
	case *target.Masquerade:
		w.outcome.SourceTranslated = true
		return w.masquerade(s, t.Range)
	case *xtables.OpaqueTarget:
		return w.opaqueTarget(s, t)
	}
	w.fail(fmt.Errorf("%w: target %s", errNoWalk, t.Name()))
	return stopped
}
