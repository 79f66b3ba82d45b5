package packetsim

import (
	"fmt"

	"github.com/chainwalk/chainwalk/fakeipt"
)

// target does what a rule's target says, except for verdicts and jumps. This is the list of those that are supported.
func (w *walk) target(s *skb, t fakeipt.Target) fate {
	switch t := t.(type) {
	case *fakeipt.TargetMark:
		s.Mark = s.Mark&^t.Mask ^ t.Value
		return goOn
	case *fakeipt.TargetConnmark:
		w.connmark(s, t)
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
		w.tee(s, t)
		return goOn
	case *fakeipt.TargetNotrack:
		return notrack(s)
	case *fakeipt.TargetCT:
		return w.conntrackTarget(s, t)
	case *fakeipt.TargetNetmap:
		return w.netmap(s, t.Addr, t.Mask)
	case *fakeipt.TargetSet:
		return w.targetSet(s, t)
	case *fakeipt.TargetTPROXY:
		return w.tproxy(s, t)
	case *fakeipt.TargetTCPMSS:
		return w.setMSS(s, t)
	case *fakeipt.TargetHMARK:
		return w.hmark(s, t)
	case *fakeipt.TargetNPT:
		return w.npt(s, t)
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
		return w.nfqueue(&fakeipt.TargetNFQUEUE{})
	case *fakeipt.TargetNFQUEUE:
		return w.nfqueue(t)
	case *fakeipt.TargetReject:
		return w.reject(s, t.With)
	case *fakeipt.TargetDNAT:
		return w.dnat(s, t.Range, t.BasePort)
	case *fakeipt.TargetRedirect:
		return w.redirect(s, t.Range)
	case *fakeipt.TargetSNAT:
		w.outcome.SourceTranslated = true
		return w.snat(s, t.Range)
	case *fakeipt.TargetMasquerade:
		w.outcome.SourceTranslated = true
		return w.masquerade(s, t.Range)
	case *fakeipt.TargetOpaque:
		return w.opaqueTarget(s, t)
	}
	w.fail(fmt.Errorf("%w: target %s", errNoWalk, t.Name()))
	return stopped
}
