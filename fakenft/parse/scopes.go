package parse

// scopeStack are the scopes that words have opened. One that is not the innermost closes when those inside it have: nft keeps a count for each,
// and so forgets none of what a mistake left open.
type scopeStack struct {
	top    scope
	stack  []scope
	active [scopes]int
}

func (s *scopeStack) push(opened scope) {
	s.stack = append(s.stack, s.top)
	s.top = opened
	s.active[opened]++
}

func (s *scopeStack) pop(closed scope) {
	s.active[closed]--
	if s.top != closed {
		return
	}
	for len(s.stack) > 0 {
		last := len(s.stack) - 1
		s.top = s.stack[last]
		s.stack = s.stack[:last]
		if s.top == scopeBase || s.active[s.top] > 0 {
			return
		}
	}
}
