package packetsim

import "github.com/chainwalk/chainwalk/netfilter"

// Decision is what rules and policies decided about a packet, as the steps of a trace tell it: those of a walk or those of the kernel.
type Decision struct {
	// Verdict is Drop or Reject if the last step ended the packet. With Accept no step did: it went on, or something that is no rule
	// ended it, such as routing.
	Verdict Verdict
	// RejectWith is what a REJECT answers, in the words of --reject-with.
	RejectWith string
	// Last is the last step in the packet's last host; nil if it met no rules there.
	Last *Step
	// SourceTranslated says that a rule with MASQUERADE or SNAT met the packet. What became of its addresses says the connection
	// (Outcome.Masqueraded).
	SourceTranslated bool
	// Translation is the step that translated the destination: the first with DNAT or REDIRECT; nil if there is none.
	Translation *Step
}

// DecisionOf reads the steps of a packet, by the hosts that it went through.
func DecisionOf(hosts ...[]Step) Decision {
	d := Decision{Verdict: Accept}
	for _, steps := range hosts {
		d.Last = nil
		for i := range steps {
			d.Last = &steps[i]
			d.translate(d.Last)
		}
	}
	if d.Last != nil {
		d.end(d.Last)
	}
	return d
}

// translate notes what a step does to the packet's addresses.
func (d *Decision) translate(s *Step) {
	if s.Rule == nil {
		return
	}
	switch s.Rule.Fact.Translation.Of {
	case netfilter.Source:
		d.SourceTranslated = true
	case netfilter.Destination:
		if d.Translation == nil {
			d.Translation = s
		}
	}
}

// end notes how the last step ended the packet, if it did.
func (d *Decision) end(s *Step) {
	decided := s.Policy
	if s.Rule != nil {
		decided = s.Rule.Fact.Verdict
	}
	switch {
	case decided == netfilter.Drop:
		d.Verdict = Drop
	case s.Rule != nil && s.Rule.Fact.Reject != "":
		d.Verdict, d.RejectWith = Reject, s.Rule.Fact.Reject
	}
}
