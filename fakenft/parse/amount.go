package parse

import (
	"strings"

	"github.com/chainwalk/chainwalk/fakenft/syntax"
)

// amountParser takes numbers with units, and what limits, quotas and counters have of them.
type amountParser struct{ *stream }

// rate takes what follows "rate": "[over|until] N/UNIT [burst N packets]", or "N BYTES/UNIT [burst N BYTES]". None is what is said of
// packets whose burst is 0; if it is empty that is taken.
func (p *amountParser) rate(from syntax.Loc, none string) *syntax.LimitStmt {
	l := &syntax.LimitStmt{}
	switch p.peek() {
	case tokOver:
		p.take()
		l.Over = true
	case tokUntil:
		p.take()
	}
	at := p.here()
	l.Rate = p.number()
	switch p.peek() {
	case tokSlash:
		p.take()
		l.Unit = p.timeUnit()
		l.Burst = 5
		burst := p.here()
		if p.accept(tokBurst) {
			l.Burst = uint32(p.number())
			p.expect(tokPackets)
			if l.Burst == 0 && none != "" {
				p.wrong(none, p.since(burst))
			}
		}
	case tokBytes, tokString:
		p.take()
		p.byteRate(l, at)
	default:
		p.unexpected(tokSlash, tokString, tokBytes)
	}
	l.Loc = p.since(from)
	return l
}

// byteRate takes the rest of a rate in bytes, whose first unit was taken: the scanner reads "kbytes/second" as one word.
func (p *amountParser) byteRate(l *syntax.LimitStmt, at syntax.Loc) {
	word := p.cur.text
	slash := p.cur.tok == tokBytes
	if !slash {
		slash = p.peek() == tokSlash
	}
	l.Bytes = true
	if slash {
		l.Rate *= p.factor(word, p.since(at))
		p.expect(tokSlash)
		l.Unit = p.timeUnit()
	} else {
		bytes, unit, ok := strings.Cut(word, "/")
		if !ok {
			p.wrong("wrong rate format", p.since(at))
		}
		l.Rate *= p.factor(bytes, p.since(at))
		l.Unit = timeUnits[unit]
		if l.Unit == 0 {
			p.wrong("Wrong rate format", p.since(at))
		}
	}
	if p.accept(tokBurst) {
		burst := p.here()
		n := p.number()
		unit := p.byteUnit()
		l.Burst = uint32(n * p.factor(unit, p.since(burst)))
	}
}

// quotaRest takes "[over|until] N UNIT [used N UNIT]".
func (p *amountParser) quotaRest(from syntax.Loc) *syntax.QuotaStmt {
	q := &syntax.QuotaStmt{}
	switch p.peek() {
	case tokOver:
		p.take()
		q.Over = true
	case tokUntil:
		p.take()
	}
	q.Bytes = p.number()
	unit := p.byteUnit()
	if used := p.here(); p.accept(tokUsed) {
		q.Used = p.number()
		word := p.byteUnit()
		q.Used *= p.factor(word, p.since(used))
	}
	q.Loc = p.since(from)
	q.Bytes *= p.factor(unit, q.Loc)
	return q
}

func (p *amountParser) counterArgs(c *syntax.Counter) {
	for {
		switch p.peek() {
		case tokPackets:
			p.take()
			c.Packets = p.number()
		case tokBytes:
			p.take()
			c.Bytes = p.number()
		default:
			return
		}
		c.HasValue = true
	}
}

// connCount takes what follows "ct count".
func (p *amountParser) connCount(from syntax.Loc) syntax.Stmt {
	s := &syntax.ConnCount{}
	if p.accept(tokOver) {
		s.Over = true
		s.Count = uint32(p.number())
	} else {
		s.Count = uint32(p.number(tokOver))
	}
	s.Loc = p.since(from)
	p.close(scopeCT)
	return s
}

// factor is how many bytes a unit has. nft looks at no more than the beginning of the word.
func (p *amountParser) factor(unit string, at syntax.Loc) uint64 {
	switch {
	case strings.HasPrefix(unit, "bytes"):
		return 1
	case strings.HasPrefix(unit, "kbytes"):
		return 1024
	case strings.HasPrefix(unit, "mbytes"):
		return 1024 * 1024
	}
	p.wrong("Wrong rate format", at)
	return 0
}

func (p *amountParser) byteUnit() string {
	switch p.peek() {
	case tokBytes, tokString:
		p.take()
		return p.cur.text
	}
	p.unexpected(tokBytes, tokString)
	return ""
}

// timeUnits are the units of limits in seconds.
var timeUnits = map[string]uint64{"second": 1, "minute": 60, "hour": 3600, "day": 86400, "week": 604800}

func (p *amountParser) timeUnit() uint64 {
	switch p.peek() {
	case tokSecond, tokMinute, tokHour, tokDay, tokWeek:
		p.take()
		return timeUnits[p.cur.text]
	}
	p.unexpected(anything...)
	return 0
}

// time takes a time such as 1d2h3m4s5ms, in milliseconds.
func (p *amountParser) time() uint64 {
	text := p.identifier()
	if p.bad {
		return 0
	}
	ms, wrong := milliseconds(text)
	if wrong != "" {
		p.wrong(wrong, p.last)
	}
	return ms
}

// milliseconds is a time, or what is wrong with it. A unit may be left without a number, and no unit may come twice; what follows the last
// unit are seconds.
func milliseconds(text string) (uint64, string) {
	total, n := uint64(0), uint64(0)
	var seen [5]bool
	for i := 0; i < len(text); i++ {
		c := text[i]
		if c >= '0' && c <= '9' {
			n = n*10 + uint64(c-'0')
			continue
		}
		if c == 'm' && i+1 < len(text) && text[i+1] == 's' {
			i++
			c = 'M'
		}
		unit := strings.IndexByte("dhmsM", c)
		if unit < 0 {
			return 0, "wrong time format"
		}
		if seen[unit] {
			return 0, timeNames[unit] + " has been specified twice"
		}
		seen[unit] = true
		total += n * timeFactors[unit]
		n = 0
	}
	return total + n*1000, ""
}

var (
	timeNames   = [...]string{"Day", "Hour", "Minute", "Second", "Millisecond"}
	timeFactors = [...]uint64{86400_000, 3600_000, 60_000, 1000, 1}
)
