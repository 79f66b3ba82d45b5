package differ

import (
	"regexp"
	"slices"
	"strings"
	"time"
)

// shrinkTries and shrinkTime bound the search for smaller cases.
const (
	shrinkTries = 400
	shrinkTime  = 8 * time.Second
)

// shrinking looks for the smallest case that still disagrees in the same way.
type shrinking struct {
	best  *walkCase
	last  *verdict
	judge func(*walkCase) (*verdict, error)
	tries int
	until time.Time
}

func (s *shrinking) over() bool { return s.tries >= shrinkTries || time.Now().After(s.until) }

// shrink removes and simplifies packets and rules. It returns a case and its verdict, which disagrees unless chance has it otherwise.
func shrink(c *walkCase, v *verdict, judge func(*walkCase) (*verdict, error)) (*walkCase, *verdict) {
	s := &shrinking{best: c, last: v, judge: judge, until: time.Now().Add(shrinkTime)}
	for {
		before := s.tries
		size := len(s.best.Rules) + len(s.best.NFT) + len(s.best.Sends)
		s.sends()
		s.ruleLines(func(c *walkCase) *string { return &c.OtherRules })
		s.ruleLines(func(c *walkCase) *string { return &c.Rules })
		s.ruleLines(func(c *walkCase) *string { return &c.NFT })
		s.ruleWords()
		if s.over() || len(s.best.Rules)+len(s.best.NFT)+len(s.best.Sends) == size || s.tries == before {
			return s.best, s.last
		}
	}
}

// try keeps a case if it disagrees as the first one did. Where chance decides, it may need a few runs.
func (s *shrinking) try(c *walkCase) bool {
	runs := 1
	if strings.Contains(c.Rules, "--mode random") {
		runs = 3
	}
	for range runs {
		if s.over() {
			return false
		}
		s.tries++
		v, err := s.judge(c)
		if err != nil { // a reference to a send that is gone
			return false
		}
		if v.Disagreement != "" && v.Kind == s.last.Kind {
			s.best, s.last = c, v
			return true
		}
	}
	return false
}

// sends drops packets in halves from the end, and then each that no other refers to.
func (s *shrinking) sends() {
	for half := len(s.best.Sends) / 2; half > 0; half /= 2 {
		for len(s.best.Sends) > half {
			c := s.best.clone()
			c.Sends = c.Sends[:len(c.Sends)-half]
			if !s.try(c) {
				break
			}
		}
	}
	for n := len(s.best.Sends) - 1; n >= 0; n-- {
		c := s.best.clone()
		c.Sends = slices.Delete(c.Sends, n, n+1)
		if renumber(c.Sends, n+1) {
			s.try(c)
		}
	}
}

// renumber mends the references after the send with the number (from 1) is gone; false if one was to it.
func renumber(sends []send, gone int) bool {
	for i := range sends {
		for _, ref := range []*int{&sends[i].Answers, &sends[i].About} {
			if *ref == gone {
				return false
			}
			if *ref > gone {
				*ref--
			}
		}
	}
	return true
}

// ruleLines drops lines of the rules, or of those beside them, large pieces first.
func (s *shrinking) ruleLines(of func(*walkCase) *string) {
	for size := strings.Count(*of(s.best), "\n") / 2; size > 0; size /= 2 {
		for at := 0; ; {
			lines := strings.SplitAfter(*of(s.best), "\n")
			if at >= len(lines) {
				break
			}
			end := min(at+size, len(lines))
			kept := slices.Clone(lines[:at])
			for _, l := range lines[at:end] {
				if !removable(l) {
					kept = append(kept, l)
				}
			}
			c := s.best.clone()
			*of(c) = strings.Join(append(kept, lines[end:]...), "")
			if *of(c) == *of(s.best) || !s.try(c) {
				at = end
			}
		}
	}
}

// removable are rules and user chains; tables stay, and so does the trace.
func removable(line string) bool {
	if strings.HasSuffix(line, "-j TRACE\n") {
		return false
	}
	if strings.HasPrefix(line, nativeRule) && !strings.HasSuffix(line, "nftrace set 1\n") {
		return true
	}
	return strings.HasPrefix(line, "-A ") || strings.HasPrefix(line, ":") && strings.Contains(line, " - ")
}

// rulePart finds where the parts of a rule begin.
var rulePart = regexp.MustCompile(` (?:! )?-(?:m|s|d|p|i|o|j|g) | (?:! )?--`)

// ruleWords drops the parts of each rule one by one.
func (s *shrinking) ruleWords() {
	for n := 0; ; n++ {
		lines := strings.SplitAfter(s.best.Rules, "\n")
		if n >= len(lines) {
			return
		}
		if !strings.HasPrefix(lines[n], "-A ") || strings.HasSuffix(lines[n], "-j TRACE\n") {
			continue
		}
		for part := 0; s.dropPart(n, part); {
			part++
		}
		s.dropTwo(n)
	}
}

// dropPart drops a part of line n; false if there are no more.
func (s *shrinking) dropPart(n, part int) bool {
	lines := strings.SplitAfter(s.best.Rules, "\n")
	starts := rulePart.FindAllStringIndex(lines[n], -1)
	if part >= len(starts) {
		return false
	}
	end := len(lines[n]) - 1
	if part+1 < len(starts) {
		end = starts[part+1][0]
	}
	lines[n] = lines[n][:starts[part][0]] + lines[n][end:]
	c := s.best.clone()
	c.Rules = strings.Join(lines, "")
	s.try(c)
	return true
}

// dropTwo drops pairs of parts that only go together: a match and its option.
func (s *shrinking) dropTwo(n int) {
	for part := 0; ; part++ {
		lines := strings.SplitAfter(s.best.Rules, "\n")
		starts := rulePart.FindAllStringIndex(lines[n], -1)
		if part+1 >= len(starts) {
			return
		}
		end := len(lines[n]) - 1
		if part+2 < len(starts) {
			end = starts[part+2][0]
		}
		lines[n] = lines[n][:starts[part][0]] + lines[n][end:]
		c := s.best.clone()
		c.Rules = strings.Join(lines, "")
		s.try(c)
	}
}
