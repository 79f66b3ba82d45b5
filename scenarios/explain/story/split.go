package story

// part is a line, or the begin of a passage before its lines.
type part struct {
	begins *Passage // without its lines
	line   Line
}

// parts are an outcome's lines in their order.
func (o *Outcome) parts() []part {
	var parts []part
	for i := range o.Passages {
		p := &o.Passages[i]
		parts = append(parts, part{begins: p})
		if p.folded {
			continue
		}
		for _, line := range p.Lines {
			parts = append(parts, part{line: line})
		}
	}
	return parts
}

// same says whether two parts read alike. Where a packet is the same but for what differed before is not looked at.
func (p *part) same(q *part) bool {
	if (p.begins == nil) != (q.begins == nil) {
		return false
	}
	if p.begins != nil {
		a, b := p.begins, q.begins
		return a.Direction == b.Direction && a.Host == b.Host && a.In == b.In && a.Came == b.Came
	}
	a, b := p.line, q.line
	a.After, b.After = nil, nil
	return a == b
}

// split is what outcomes have in common, and what each of them has of its own: own[i][g] stands before shared[g] in outcome i, and
// own[i][len(shared)] at its end.
type split struct {
	shared []part
	own    [][][]part
}

// splitOf lines the outcomes up.
func splitOf(outcomes []Outcome) split {
	all := make([][]part, len(outcomes))
	for i := range outcomes {
		all[i] = outcomes[i].parts()
	}
	s := split{shared: sharedOf(all)}
	for _, parts := range all {
		s.own = append(s.own, between(parts, s.shared))
	}
	return s
}

// differs says whether any outcome has something of its own before shared[gap].
func (s *split) differs(gap int) bool {
	for _, own := range s.own {
		if len(own[gap]) > 0 {
			return true
		}
	}
	return false
}

// between is what parts have around a list that is in them in the same order.
func between(parts, shared []part) [][]part {
	own := make([][]part, len(shared)+1)
	gap := 0
	for i := range parts {
		if gap < len(shared) && parts[i].same(&shared[gap]) {
			gap++
			continue
		}
		own[gap] = append(own[gap], parts[i])
	}
	return own
}

// sharedOf is a list that is in all of them in the same order: how they begin, what is alike in the middle, how they end.
func sharedOf(all [][]part) []part {
	if len(all) == 0 {
		return nil
	}
	first := all[0]
	head, tail := len(first), len(first)
	for _, other := range all[1:] {
		head = min(head, commonHead(first, other))
	}
	for _, other := range all[1:] {
		tail = min(tail, commonTail(first[head:], other[head:]))
	}
	if len(all) == 1 {
		tail = 0
	}
	middle := first[head : len(first)-tail]
	for _, other := range all[1:] {
		middle = commonParts(middle, other[head:len(other)-tail])
	}
	shared := append([]part{}, first[:head]...)
	shared = append(shared, middle...)
	return append(shared, first[len(first)-tail:]...)
}

func commonHead(a, b []part) int {
	n := 0
	for n < len(a) && n < len(b) && a[n].same(&b[n]) {
		n++
	}
	return n
}

func commonTail(a, b []part) int {
	n := 0
	for n < len(a) && n < len(b) && a[len(a)-1-n].same(&b[len(b)-1-n]) {
		n++
	}
	return n
}

// mostCompared bounds the work of commonParts.
const mostCompared = 1 << 20

// commonParts is a longest list that is in both in the same order; of very long ones, none.
func commonParts(a, b []part) []part {
	if len(a)*len(b) > mostCompared {
		return nil
	}
	width := len(b) + 1
	longest := make([]int, (len(a)+1)*width)
	for i := len(a) - 1; i >= 0; i-- {
		for j := len(b) - 1; j >= 0; j-- {
			if a[i].same(&b[j]) {
				longest[i*width+j] = longest[(i+1)*width+j+1] + 1
			} else {
				longest[i*width+j] = max(longest[(i+1)*width+j], longest[i*width+j+1])
			}
		}
	}
	var common []part
	for i, j := 0, 0; i < len(a) && j < len(b); {
		switch {
		case a[i].same(&b[j]):
			common = append(common, a[i])
			i, j = i+1, j+1
		case longest[(i+1)*width+j] >= longest[i*width+j+1]:
			i++
		default:
			j++
		}
	}
	return common
}
