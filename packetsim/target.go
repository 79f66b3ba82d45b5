package packetsim

import (
	"fmt"

	"github.com/chainwalk/chainwalk/fakeipt"
)

// target does what a rule's target says, except for verdicts and jumps. This is the list of those that are supported.
func (w *walk) target(s *packet, t fakeipt.Target) fate {
	switch t := t.(type) {
	case *fakeipt.TargetMark:
		s.Mark = s.Mark&^t.Mask ^ t.Value
		return goOn
	case *fakeipt.TargetConnmark:
		w.connmark(s, t)
		return goOn
	case *fakeipt.TargetLog, *fakeipt.TargetTrace:
		return goOn
	case *fakeipt.TargetNotrack:
		return notrack(s)
	case *fakeipt.TargetReject:
		return w.reject(s, t)
	case *fakeipt.TargetDNAT:
		return w.dnat(s, t)
	case *fakeipt.TargetRedirect:
		return w.redirect(s, t)
	case *fakeipt.TargetSNAT:
		return w.snat(s, t)
	case *fakeipt.TargetMasquerade:
		return w.masquerade(s, t)
	}
	w.fail(fmt.Errorf("not supported: target %s", t.Name()))
	return stopped
}
