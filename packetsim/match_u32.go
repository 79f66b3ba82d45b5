package packetsim

import "github.com/chainwalk/chainwalk/fakeipt/match"

// matchU32 is -m u32 (net/netfilter/xt_u32.c).
func (mt *matcher) matchU32(s *skb, m *match.U32) bool {
	b := s.wireBytes()
	for i := range m.Tests {
		if !mt.u32Test(b, &m.Tests[i]) {
			return m.Invert
		}
	}
	return !m.Invert
}

func (mt *matcher) u32Test(b *maskedBytes, t *match.U32Test) bool {
	value, unknown, ok := b.load(uint64(t.Start), 4)
	at := uint64(0)
	for i := 0; ok && i < len(t.Steps); i++ {
		switch step := t.Steps[i]; step.Op {
		case match.U32And:
			value, unknown = value&step.Number, unknown&step.Number
		case match.U32LeftShift:
			value, unknown = value<<step.Number, unknown<<step.Number
		case match.U32RightShift:
			value, unknown = value>>step.Number, unknown>>step.Number
		case match.U32At:
			if unknown != 0 {
				mt.fail(errUnknownBytes)
				return false
			}
			at += uint64(value)
			value, unknown, ok = b.load(at+uint64(step.Number), 4)
		}
	}
	if !ok {
		return false
	}
	if unknown != 0 {
		mt.fail(errUnknownBytes)
		return false
	}
	for _, r := range t.Values {
		if r.Contains(value) {
			return true
		}
	}
	return false
}
