package certificate

import (
	"bytes"
	"time"

	"github.com/chainwalk/chainwalk/netfilter/nftables"
	"github.com/chainwalk/chainwalk/netfilter/nftables/expr"
)

// keys are the keys of a set's elements, each the first and the last that an element is met by.
type keys struct {
	all      [][2][]byte
	catchall bool
	parts    []keyPart // of a concatenation with intervals
	exact    bool      // each element is met by one key
	byFirst  map[string][]int
}

// keyPart is where a part of a key is.
type keyPart struct{ at, size int }

// keysOf are the keys of a set.
func (h *host) keysOf(s *nftables.Set) *keys {
	if found := h.sets[s]; found != nil {
		return found
	}
	k := &keys{exact: true}
	isInterval := s.Flags&nftables.SetInterval != 0
	var begun []byte
	for _, e := range s.Elements(time.Time{}) {
		switch {
		case e.Flags&nftables.ElementCatchall != 0:
			k.catchall = true
		case !isInterval:
			k.add(e.Key, e.Key)
		case len(s.FieldLens) > 1 && e.KeyEnd != nil:
			k.add(e.Key, e.KeyEnd)
		case len(s.FieldLens) > 1:
			k.add(e.Key, e.Key)
		default:
			if begun != nil {
				k.add(begun, valueOfBytes(e.Key).prev().bytes(len(e.Key)))
			}
			if begun = e.Key; e.Flags&nftables.ElementIntervalEnd != 0 {
				begun = nil
			}
		}
	}
	if begun != nil {
		k.add(begun, bytes.Repeat([]byte{0xff}, len(begun)))
	}
	at := 0
	for _, size := range s.FieldLens {
		k.parts = append(k.parts, keyPart{at, int(size)})
		at += (int(size) + 3) &^ 3
	}
	h.sets[s] = k
	return k
}

func (k *keys) add(first, last []byte) {
	k.all = append(k.all, [2][]byte{first, last})
	k.exact = k.exact && bytes.Equal(first, last)
}

// withFirst are the elements that have this in the place of the first bytes of a key, if each element is met by one key.
func (k *keys) withFirst(value []byte) []int {
	if k.byFirst == nil {
		k.byFirst = map[string][]int{}
		for i, e := range k.all {
			k.byFirst[string(e[0][:len(value)])] = append(k.byFirst[string(e[0][:len(value)])], i)
		}
	}
	return k.byFirst[string(value)]
}

// lookup reads a look-up in a set or map.
func (q *nftReading) lookup(e *expr.Lookup) {
	set := q.table.Set(e.Set)
	if set == nil {
		q.cannot("set " + e.Set + " has, which is not there")
		return
	}
	k := q.host.keysOf(set)
	if set.Flags&(nftables.SetEval|nftables.SetTimeout) != 0 && len(k.all) > 0 {
		q.cannot("set " + set.Name + " has, which packets and time change")
		return
	}
	found := q.find(k, q.parts(k, e.Sreg.Offset(), int(set.KeyLen)))
	switch {
	case found == fails && k.catchall:
		found = fixed
	case e.Invert && (found == holds || found == fails):
		found = holds + fails - found
	}
	if q.take(found); e.Map && e.Dreg != expr.RegVerdict {
		q.put(e.Dreg, int(set.DataLen), func(int) octet { return octet{} })
	}
}

// parts are the runs of a key, none of which is of two parts of a concatenation.
func (q *nftReading) parts(k *keys, at, n int) []run {
	if len(k.parts) < 2 {
		return q.runs(at, n)
	}
	var out []run
	for _, p := range k.parts {
		for _, r := range q.runs(at+p.at, p.size) {
			r.at += p.at
			out = append(out, r)
		}
	}
	return out
}

// find says whether the key is one of an element.
func (q *nftReading) find(k *keys, in []run) answer {
	if len(in) > 1 && len(k.parts) < 2 && !k.exact {
		q.cannot("it looks several parts of a packet up in ranges")
		return fixed
	}
	all := fails
	met := func(i int) bool {
		switch a := q.element(&k.all[i], in); a {
		case cuts:
			all = cuts
		case holds:
			if all == fails {
				all = holds
			}
			return k.exact // no other one is met
		case fixed:
			all = fixed
		}
		return all == cuts
	}
	if first := q.firstValue(in); first != nil && k.exact {
		for _, i := range k.withFirst(first) {
			if met(i) {
				break
			}
		}
		return all
	}
	for i := range k.all {
		if met(i) {
			break
		}
	}
	return all
}

// firstValue is the first part of a key, if all packets of the cell have the same; otherwise nil.
func (q *nftReading) firstValue(in []run) []byte {
	r := &in[0]
	s := q.cell.spans[r.field]
	if r.kind == known && r.n == 4 {
		return r.values
	}
	if r.kind == ofField && r.octet.at == 0 && r.n == q.size(r) && (r.field == dst || r.field == src) && s.isOne() &&
		len(bytes.Trim(r.masks, "\xff")) == 0 {
		return s.first.bytes(r.n)
	}
	return nil
}

// element says whether the key is one of an element.
func (q *nftReading) element(e *[2][]byte, in []run) answer {
	all, before := holds, q.cut
	for i := range in {
		r := &in[i]
		switch a := q.runIs(r, e[0][r.at:r.at+r.n], e[1][r.at:r.at+r.n]); a {
		case fails:
			q.cut = before // another part is not met at all
			return fails
		case cuts:
			all = cuts
		case fixed:
			if all == holds {
				all = fixed
			}
		}
	}
	return all
}
