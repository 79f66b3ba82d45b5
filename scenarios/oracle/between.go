package oracle

// Between judges an attempt that is made within a sync that leads from s to after:
// what either of them allows is allowed, and what a window between them allows.
func (s *Spec) Between(after *Spec, a Attempt, ways []Way) []Violation {
	old, now := s.expect(&a), after.expect(&a)
	before := s.judge(&a, &old, ways)
	if len(before) == 0 {
		return nil
	}
	violations := after.judge(&a, &now, ways)
	if len(violations) == 0 || opens(&old, &now) && after.allPass(&a, ways) || begins(&old, &now) && allStopped(ways) {
		return nil
	}
	v := violations[0]
	v.Clause, v.Want = Transition, "before: "+before[0].Want+"; after: "+v.Want
	return []Violation{v}
}

// opens says whether a packet may pass untranslated between two answers.
func opens(old, now *Answer) bool {
	return (old.Fate == Reject || old.Fate == Drop) && old.chosen != loopbackFromOutside && now.Fate != old.Fate
}

// begins says whether a service begins to serve an address that it did not serve: packets may be stopped before the last table is in.
func begins(old, now *Answer) bool { return old.Fate != ToEndpoint && now.Fate == ToEndpoint }

func allStopped(ways []Way) bool {
	for i := range ways {
		if ways[i].End != Rejected && ways[i].End != Dropped {
			return false
		}
	}
	return true
}

// allPass says whether all ways are those of a packet that nobody translates or stops.
func (s *Spec) allPass(a *Attempt, ways []Way) bool {
	for i := range ways {
		w := &ways[i]
		if w.Server != a.To || w.Client != w.Sender || w.Masqueraded || w.End == Rejected || w.End == Dropped {
			return false
		}
	}
	return true
}
