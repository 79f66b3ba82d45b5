package packetsim

import (
	"fmt"

	"github.com/chainwalk/chainwalk/fakeipt"
)

// targets does what the targets of rules say.
type targets struct {
	*course
	match    *matcher // of the rule whose target it is
	answers  *answers
	memory   *memory
	conns    *tracker
	routes   *routing
	bypassed bool // a table ended with a verdict to queue the packet for a program that is not there
}

// target does what a rule's target says, except for verdicts and jumps. This is the list of those that are supported.
func (tg *targets) target(s *skb, t fakeipt.Target) fate {
	switch t := t.(type) {
	case *fakeipt.TargetMark:
		s.Mark = s.Mark&^t.Mask ^ t.Value
		return goOn
	case *fakeipt.TargetConnmark:
		tg.connmark(s, t)
		return goOn
	case *fakeipt.TargetLog, *fakeipt.TargetTrace, *fakeipt.TargetNFLOG:
		return goOn
	case *fakeipt.TargetChecksum:
		s.sums &^= sumPartial
		return goOn
	case *fakeipt.TargetAudit, *fakeipt.TargetIdletimer, *fakeipt.TargetRateest:
		return goOn
	case *fakeipt.TargetClassify, *fakeipt.TargetConnsecmark, *fakeipt.TargetSecmark:
		return goOn // no rule here asks for a priority or a security mark
	case *fakeipt.TargetTEE:
		tg.answers.tee(s, t)
		return goOn
	case *fakeipt.TargetNotrack:
		return notrack(s)
	case *fakeipt.TargetCT:
		return tg.conntrackTarget(s, t)
	case *fakeipt.TargetNetmap:
		return tg.netmap(s, t.Addr, t.Mask)
	case *fakeipt.TargetSet:
		return tg.targetSet(s, t)
	case *fakeipt.TargetTPROXY:
		return tg.tproxy(s, t)
	case *fakeipt.TargetTCPMSS:
		return tg.setMSS(s, t)
	case *fakeipt.TargetHMARK:
		return tg.hmark(s, t)
	case *fakeipt.TargetNPT:
		return tg.npt(s, t)
	case *fakeipt.TargetTTL:
		changeTTL(s, t)
		return goOn
	case *fakeipt.TargetTOS:
		changeTOS(s, t)
		return goOn
	case *fakeipt.TargetDSCP:
		changeDSCP(s, t)
		return goOn
	case *fakeipt.TargetECN:
		changeECN(s, t)
		return goOn
	case *fakeipt.TargetTCPOptStrip:
		stripOptions(s, t)
		return goOn
	case *fakeipt.TargetQueue:
		return tg.nfqueue(&fakeipt.TargetNFQUEUE{})
	case *fakeipt.TargetNFQUEUE:
		return tg.nfqueue(t)
	case *fakeipt.TargetReject:
		return tg.reject(s, t.With)
	case *fakeipt.TargetDNAT:
		return tg.dnat(s, t.Range, t.BasePort)
	case *fakeipt.TargetRedirect:
		return tg.redirect(s, t.Range)
	case *fakeipt.TargetSNAT:
		tg.outcome.SourceTranslated = true
		return tg.snat(s, t.Range)
	case *fakeipt.TargetMasquerade:
		tg.outcome.SourceTranslated = true
		return tg.masquerade(s, t.Range)
	case *fakeipt.TargetOpaque:
		return tg.opaqueTarget(s, t)
	}
	tg.fail(fmt.Errorf("%w: target %s", errNoWalk, t.Name()))
	return stopped
}
