package parse

// scopeStack are the scopes that words have opened. One that closes while another is innermost is only counted, and when the innermost
// closes, as many go with it as were counted, up to one that is still open; but that one uses up a count. So scopes may stay open that
// should not. That is nft's way, and what it takes for keywords depends on it.
type scopeStack struct {
	top     scope
	stack   []scope
	active  [scopes]int
	pending int
}

func (s *scopeStack) push(opened scope) {
	s.stack = append(s.stack, s.top)
	s.top = opened
	s.active[opened]++
}

func (s *scopeStack) pop(closed scope) {
	s.active[closed]--
	if s.top != closed {
		s.pending++
		return
	}
	s.drop()
	for s.pending > 0 {
		s.pending--
		if s.active[s.top] != 0 {
			return
		}
		s.drop()
	}
}

func (s *scopeStack) drop() {
	if last := len(s.stack) - 1; last >= 0 {
		s.top, s.stack = s.stack[last], s.stack[:last]
	}
}
