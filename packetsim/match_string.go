package packetsim

import (
	"bytes"
	"errors"

	"github.com/chainwalk/chainwalk/fakeipt/match"
)

var errNoPayload = errors.New(`packet: a rule with -m string asks for what is behind its headers: add "payload HEX" or "payload none"`)

// matchString is -m string (net/netfilter/xt_string.c, skb_find_text in net/core/skbuff.c). Bytes of headers that are not known, such as
// checksums, are taken not to be a part of the pattern.
func (mt *matcher) matchString(s *skb, m *match.String) bool {
	if s.Payload == nil && (s.Numbers == nil || s.Numbers.Data > 0) {
		mt.fail(errNoPayload)
		return false
	}
	b := s.wireBytes()
	from, to := int(m.From), min(int(m.To), len(b.bytes))
	pattern := []byte(m.Pattern)
	if m.IgnoreCase {
		pattern = bytes.ToUpper(pattern)
	}
	for at := from; at+len(pattern) <= to; at++ {
		if b.has(at, pattern, m.IgnoreCase) {
			return !m.Invert
		}
	}
	return m.Invert
}

// has says whether the bytes at the place are the pattern and known; with upper small letters count as capitals.
func (m *maskedBytes) has(at int, pattern []byte, upper bool) bool {
	for i, want := range pattern {
		got := m.bytes[at+i]
		if upper && 'a' <= got && got <= 'z' {
			got -= 'a' - 'A'
		}
		if got != want || m.known[at+i] != 0xff {
			return false
		}
	}
	return true
}
