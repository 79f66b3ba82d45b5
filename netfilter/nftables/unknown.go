package nftables

import "time"

// FindUnknown is Find of a key of which some bits are not known: those of unknown. ok is false if the element that it meets depends on
// them. It is for sets whose elements do not expire.
func (s *Set) FindUnknown(key, unknown []byte) (e *Element, ok bool) {
	m := s.members.Load()
	least, most := make([]byte, len(key)), make([]byte, len(key))
	for i, bits := range unknown {
		least[i], most[i] = key[i]&^bits, key[i]|bits
	}
	switch m.structure() {
	case ordering:
		// Keys with no bound between them meet the same.
		if m.behind(least) != m.behind(most) {
			return nil, false
		}
		return m.find(&s.SetSpec, least, time.Time{}), true
	case boxing:
		for e := range m.boxes.list.All() {
			if e.touches(s.FieldLens, least, most) {
				return nil, false
			}
		}
	default:
		may := false
		m.hashed.Each(func(other string, _ *Element) bool {
			may = agrees(other, key, unknown)
			return !may
		})
		if may {
			return nil, false
		}
	}
	return m.catchall, true
}

// agrees says whether a key may be the one of which bits are not known.
func agrees(other string, key, unknown []byte) bool {
	for i := range key {
		if (other[i]^key[i])&^unknown[i] != 0 {
			return false
		}
	}
	return true
}

// touches says whether each part of some key between two may be in the element's range.
func (e *Element) touches(fields []uint8, least, most []byte) bool {
	end, at := e.last(), 0
	for _, length := range fields {
		next := at + int(length)
		if string(most[at:next]) < string(e.Key[at:next]) || string(least[at:next]) > string(end[at:next]) {
			return false
		}
		at += paddedLen(length)
	}
	return true
}
