package differ

import (
	"slices"
	"strings"
	"time"
)

// textShrinking looks for the smallest case that differs in the same way.
type textShrinking struct {
	best  *textCase
	last  *textVerdict
	judge func(*textCase) (*textVerdict, error)
	tries int
	until time.Time
}

func (s *textShrinking) over() bool { return s.tries >= shrinkTries || time.Now().After(s.until) }

func (s *textShrinking) shrink() {
	for before := -1; before != s.size() && !s.over(); {
		before = s.size()
		s.steps()
		for i := range s.best.Steps {
			s.pieces(i, "\n")
			s.pieces(i, " ")
			s.arguments(i)
		}
	}
}

func (s *textShrinking) size() int {
	n := 0
	for _, step := range s.best.Steps {
		n += 1 + len(step.Stdin) + len(strings.Join(step.Argv, " "))
	}
	return n
}

// try keeps a case that differs in the same way in its last step.
func (s *textShrinking) try(c *textCase) bool {
	if s.tries++; s.over() {
		return false
	}
	v, err := s.judge(c)
	if err != nil || v.Disagreement == "" || v.Kind != s.last.Kind {
		return false
	}
	c.Steps = c.Steps[:len(v.Runs)]
	s.best, s.last = c, v
	return true
}

func (s *textShrinking) with(change func(c *textCase)) bool {
	c := *s.best
	c.Steps = slices.Clone(c.Steps)
	change(&c)
	return s.try(&c)
}

func (s *textShrinking) steps() {
	for i := len(s.best.Steps) - 2; i >= 0; i-- {
		if i < len(s.best.Steps)-1 {
			s.with(func(c *textCase) { c.Steps = slices.Delete(c.Steps, i, i+1) })
		}
	}
}

// pieces drops the parts of a step's input.
func (s *textShrinking) pieces(step int, separator string) {
	for i := 0; step < len(s.best.Steps); {
		parts := strings.SplitAfter(s.best.Steps[step].Stdin, separator)
		if i >= len(parts) || len(parts) == 1 {
			return
		}
		less := strings.Join(slices.Delete(parts, i, i+1), "")
		if !s.with(func(c *textCase) { c.Steps[step].Stdin = less }) {
			i++
		}
	}
}

// arguments drops the arguments of a step.
func (s *textShrinking) arguments(step int) {
	for i := 1; step < len(s.best.Steps) && i < len(s.best.Steps[step].Argv); {
		less := slices.Delete(slices.Clone(s.best.Steps[step].Argv), i, i+1)
		if !s.with(func(c *textCase) { c.Steps[step].Argv = less }) {
			i++
		}
	}
}
