package page

import "strings"

// Of rules that did not match in a row so many are shown; those that nearly matched come first to it.
const shownMissed = 20

// missed are rules in a row that did not match.
type missed struct {
	Lines []*line // that are shown
	Near  int     // of them nearly matched: a condition before the one that failed held
	More  int     // that are left out
}

func missedOf(lines []*line) *missed {
	m := &missed{}
	nearly := make([]bool, len(lines))
	for i, l := range lines {
		if nearly[i] = near(l); nearly[i] {
			m.Near++
		}
	}
	room := shownMissed - min(m.Near, shownMissed) // for those that did not
	nearRoom := shownMissed
	for i, l := range lines {
		left := &room
		if nearly[i] {
			left = &nearRoom
		}
		if *left == 0 {
			m.More++
			continue
		}
		*left--
		l.Words = wordsOf(l.Text, l.Failed) // of those that are shown alone: they are few of many
		m.Lines = append(m.Lines, l)
	}
	return m
}

// All is how many they are.
func (m *missed) All() int { return len(m.Lines) + m.More }

// near reports whether a rule nearly matched: some condition is written before the one that failed.
func near(l *line) bool {
	before, _, found := strings.Cut(l.Text, l.Failed)
	if !found || l.Failed == "" {
		return false
	}
	for _, w := range wordsOf(before, "") {
		if w.Class == "" && strings.TrimSpace(w.Text) != "" && strings.TrimSpace(w.Text) != "-p tcp" {
			return true
		}
	}
	return false
}
