package oracle

import "slices"

// Between judges an attempt that is made within a sync that leads from s to after:
// what either of them allows is allowed, and what a window between them allows.
func (s *Spec) Between(after *Spec, a Attempt, ways []Way) []Violation {
	old, now := s.expect(&a), after.expect(&a)
	before := s.judge(&a, &old, ways)
	if len(before) == 0 {
		return nil
	}
	violations := after.judge(&a, &now, ways)
	if len(violations) == 0 {
		return nil
	}
	if s.inParts(after, &a) && (s.marksOtherwise(after, &old) || s.marksOtherwise(after, &now)) &&
		(s.allowsUnmarked(&a, ways) || after.allowsUnmarked(&a, ways)) {
		return nil
	}
	if s.inParts(after, &a) && opens(&old, &now) {
		beyond, untranslated := after.beyond(&a), after.untranslated(&a)
		if allPass(&a, &now, ways) || len(after.judge(&a, &beyond, ways)) == 0 || after.filtering &&
			len(after.judge(&a, &untranslated, ways)) == 0 {
			return nil
		}
	}
	if unrouted(&old, &now, ways) {
		return nil
	}
	v := violations[0]
	v.Clause, v.Want = Transition, "before: "+before[0].Want+"; after: "+v.Want
	return []Violation{v}
}

// inParts says whether rules that an attempt meets may change one table after the other: those of mode iptables do, and those of two modes.
func (s *Spec) inParts(after *Spec, a *Attempt) bool {
	client := s.network.byName[a.From]
	if client == nil {
		return true
	}
	first, second := s.network.hops(client, a)
	for _, node := range [2]int{first, second} {
		if node >= 0 && (s.modeOn(node) == IPTables || after.modeOn(node) == IPTables) {
			return true
		}
	}
	return false
}

// marksOtherwise says whether the node that decides, by an answer of before or after, has another mark for masquerade afterwards: between
// its tables rules of others may drop what passes FORWARD by the mark.
func (s *Spec) marksOtherwise(after *Spec, answer *Answer) bool {
	node := after.place(answer.Node)
	return node >= 0 && s.filtering && s.views[node].masqueradeBit != after.views[node].masqueradeBit
}

// allowsUnmarked says whether ways are allowed if FORWARD does not know the mark of what is masqueraded.
func (s *Spec) allowsUnmarked(a *Attempt, ways []Way) bool {
	unmarked := s.unmarked(a)
	return len(s.judge(a, &unmarked, ways)) == 0
}

// opens says whether a packet may pass untranslated between two answers.
func opens(old, now *Answer) bool {
	if old.Loose || old.Node != now.Node {
		return true
	}
	return old.closed(now) || slices.ContainsFunc(old.Others, func(o Answer) bool { return o.closed(now) })
}

// closed says whether a packet of the answer is not translated, and another fate comes by a later one.
func (a *Answer) closed(later *Answer) bool {
	return a.Fate != ToEndpoint && a.chosen != loopbackFromOutside && later.Fate != a.Fate
}

// dropsUntranslated says whether rules of the answer's service drop what is not translated.
func (a *Answer) dropsUntranslated() bool {
	return a.port != nil && (a.port.externalLocal || a.port.limited) && a.served != clusterIPServed
}

// unrouted says whether ways are those of a node port at localhost that the node has begun to serve and does not route yet: its endpoints
// may miss packets.
func unrouted(old, now *Answer, ways []Way) bool {
	if old.served == localhostNodePort || now.served != localhostNodePort {
		return false
	}
	return !slices.ContainsFunc(ways, func(w Way) bool {
		return w.End != Lost && w.End != Delivered || !slices.Contains(now.Endpoints, w.Server)
	})
}

// allPass says whether every way fits a packet that nobody translates: it passes, or it is dropped like packets that are not
// translated under externalTrafficPolicy Local or source ranges.
func allPass(a *Attempt, now *Answer, ways []Way) bool {
	drops := now.dropsUntranslated()
	for i := range now.Others {
		drops = drops || now.Others[i].dropsUntranslated() // another service at the same address
	}
	for i := range ways {
		w := &ways[i]
		if w.Server != a.To || w.Client != w.Sender || w.Masqueraded || w.End == Rejected || w.End == Dropped && !drops {
			return false
		}
	}
	return true
}
