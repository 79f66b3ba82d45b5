package packetsim

import (
	"fmt"

	"github.com/chainwalk/chainwalk/fakeipt/target"
	"github.com/chainwalk/chainwalk/fakeipt/xtables"
	"github.com/chainwalk/chainwalk/packetsim/conntrack"
)

// targets does what the targets of rules say.
type targets struct {
	*course
	match    *matcher // of the rule whose target it is
	answers  *answers
	memory   *memory
	conns    *conntrack.Tracker
	routes   *routing
	bypassed bool // a table ended with a verdict to queue the packet for a program that is not there
}

// target does what a rule's target says, except for verdicts and jumps. This is the list of those that are supported.
func (tg *targets) target(s *skb, t xtables.Target) fate {
	switch t := t.(type) {
	case *target.Mark:
		s.Mark = s.Mark&^t.Mask ^ t.Value
		return goOn
	case *target.Connmark:
		tg.connmark(s, t)
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
		tg.answers.tee(s, t)
		return goOn
	case *target.Notrack:
		return notrack(s)
	case *target.CT:
		return tg.conntrackTarget(s, t)
	case *target.Netmap:
		return tg.netmap(s, t.Addr, t.Mask)
	case *target.Set:
		return tg.targetSet(s, t)
	case *target.TPROXY:
		return tg.tproxy(s, t)
	case *target.TCPMSS:
		return tg.setMSS(s, t)
	case *target.HMARK:
		return tg.hmark(s, t)
	case *target.NPT:
		return tg.npt(s, t)
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
		return tg.nfqueue(&target.NFQUEUE{})
	case *target.NFQUEUE:
		return tg.nfqueue(t)
	case *target.Reject:
		return tg.reject(s, t.With)
	case *target.DNAT:
		return tg.dnat(s, t.Range, t.BasePort)
	case *target.Redirect:
		return tg.redirect(s, t.Range)
	case *target.SNAT:
		tg.outcome.SourceTranslated = true
		return tg.snat(s, t.Range)
	case *target.Masquerade:
		tg.outcome.SourceTranslated = true
		return tg.masquerade(s, t.Range)
	case *xtables.OpaqueTarget:
		return tg.opaqueTarget(s, t)
	}
	tg.fail(fmt.Errorf("%w: target %s", errNoWalk, t.Name()))
	return stopped
}
