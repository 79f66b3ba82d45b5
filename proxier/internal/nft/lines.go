package nft

import "github.com/chainwalk/chainwalk/proxier/internal/changes"

// elementsPerLine is how many elements one command has. A command for each costs nft more time than the elements do.
const elementsPerLine = 100

// elementLines are commands that add or delete elements, those of each container together.
type elementLines struct {
	*speller
	verb string
	// values says that elements have theirs: those that are deleted need none.
	values bool
	lines  [containers][]byte
	counts [containers]int
}

// newElementLines returns lines without elements. About so many will come.
func newElementLines(s *speller, verb string, values bool, count int) *elementLines {
	const perElement = 40
	l := &elementLines{speller: s, verb: verb, values: values}
	for _, c := range []container{clusterIPs, serviceIPs} {
		l.lines[c] = make([]byte, 0, count*perElement)
	}
	return l
}

// add adds the element of a service port. base ends the names of its chains.
func (l *elementLines) add(c claim, name *changes.ServicePortName, base []byte) {
	in := c.key.container
	dst := l.lines[in]
	switch {
	case l.counts[in] == 0:
		dst = l.open(dst, in)
	case l.counts[in]%elementsPerLine == 0:
		dst = l.open(append(dst, " }\n"...), in)
	default:
		dst = append(dst, ", "...)
	}
	if l.values {
		dst = l.appendElement(dst, c, name, base)
	} else {
		dst = l.appendKeyText(dst, c.key)
	}
	l.counts[in]++
	l.lines[in] = dst
}

func (l *elementLines) open(dst []byte, in container) []byte {
	return append(l.command(dst, l.verb, in.name(), nil), " { "...)
}

// appendTo appends the commands.
func (l *elementLines) appendTo(dst []byte) []byte {
	for in, lines := range l.lines {
		if l.counts[in] > 0 {
			dst = append(append(dst, lines...), " }\n"...)
		}
	}
	return dst
}
