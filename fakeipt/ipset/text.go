package ipset

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"time"
)

// field is an option of a set or an entry as list and save print it; text is empty for an option without a value.
type field struct{ name, text string }

// appendFields appends fields as list and save print them.
func appendFields(dst []byte, fields []field) []byte {
	for _, f := range fields {
		dst = append(append(dst, ' '), f.name...)
		if f.text != "" {
			dst = append(append(dst, ' '), f.text...)
		}
	}
	return dst
}

func appendFieldsXML(dst []byte, fields []field) []byte {
	for _, f := range fields {
		if f.text == "" {
			dst = fmt.Appendf(dst, "<%s/>", f.name)
		} else {
			dst = fmt.Appendf(dst, "<%s>%s</%s>", f.name, f.text, f.name)
		}
	}
	return dst
}

// header are the options of create.
func (s *set) header() []field {
	o := &s.options
	var fields []field
	add := func(has bool, name, format string, args ...any) {
		if has {
			fields = append(fields, field{name, fmt.Sprintf(format, args...)})
		}
	}
	hash := s.kind.hash()
	add(s.kind == bitmapPort, "range", "%d-%d", o.minPort, o.maxPort)
	add(s.kind == listSet, "size", "%d", o.size)
	if hash {
		add(o.family == inet6, "family", "inet6")
		add(o.family != inet6, "family", "inet")
		add(true, "hashsize", "%d", o.hashSize)
		add(true, "maxelem", "%d", o.maxElem)
		add(o.netMask != 0 && len(s.kind.parts) == 1, "netmask", "%d", o.netMask)
	}
	add(o.hasTimeout, "timeout", "%d", o.timeout)
	add(o.counters, "counters", "")
	add(o.comment, "comment", "")
	add(o.skbInfo, "skbinfo", "")
	add(hash, "bucketsize", "%d", o.bucketSize)
	add(hash, "initval", "0x%08x", o.initVal)
	add(hash && o.netMask != 0 && len(s.kind.parts) > 1, "netmask", "%d", o.netMask)
	return fields
}

func (s *set) appendSave(dst []byte, sorted bool) []byte {
	dst = append(appendFields(fmt.Appendf(dst, "create %s %s", s.name, s.kind.name), s.header()), '\n')
	for _, k := range s.liveKeys(sorted) {
		dst = append(s.appendEntry(fmt.Appendf(dst, "add %s ", s.name), k), '\n')
	}
	return dst
}

// appendEntry appends an element with what is kept of it.
func (s *set) appendEntry(dst []byte, k key) []byte {
	return appendFields(s.appendKey(dst, k), s.entryFields(s.entries[k]))
}

// entryFields are what is kept of an element.
func (s *set) entryFields(e *entry) []field {
	var fields []field
	add := func(has bool, name, format string, args ...any) {
		if has {
			fields = append(fields, field{name, fmt.Sprintf(format, args...)})
		}
	}
	left := int64(0)
	if !e.expires.IsZero() {
		left = int64(e.expires.Sub(s.clock.Now()) / time.Second)
	}
	add(s.options.hasTimeout, "timeout", "%d", left)
	add(e.nomatch, "nomatch", "")
	add(s.options.counters, "packets", "%d", e.packets)
	add(s.options.counters, "bytes", "%d", e.bytes)
	add(e.comment != "", "comment", `"%s"`, e.comment)
	switch b := &e.skb; {
	case b.mask == math.MaxUint32:
		add(true, "skbmark", "%#x", b.mark)
	case b.mark != 0 || b.mask != 0:
		add(true, "skbmark", "%#x/%#x", b.mark, b.mask)
	}
	add(e.skb.major != 0 || e.skb.minor != 0, "skbprio", "%x:%x", e.skb.major, e.skb.minor)
	add(e.skb.queue != 0, "skbqueue", "%d", e.skb.queue)
	return fields
}

// liveKeys are the keys of entries that have not expired: ports by number, those of hash types as the kernel's buckets have them.
func (s *set) liveKeys(sorted bool) []key {
	if s.kind == listSet {
		return slices.DeleteFunc(slices.Clone(s.order), func(k key) bool { return !s.live(s.entries[k]) })
	}
	keys := make([]key, 0, len(s.entries))
	for k, e := range s.entries {
		if s.live(e) {
			keys = append(keys, k)
		}
	}
	slices.SortFunc(keys, func(a, b key) int {
		if !sorted && s.kind.hash() {
			return cmp.Compare(s.entries[a].seq, s.entries[b].seq)
		}
		return a.compare(b)
	})
	if !sorted && s.kind.hash() {
		s.byBucket(keys)
	}
	return keys
}

func (k key) compare(o key) int {
	return cmp.Or(k.addr.Compare(o.addr), cmp.Compare(k.bits, o.bits), cmp.Compare(k.proto, o.proto), cmp.Compare(k.port, o.port),
		k.addr2.Compare(o.addr2), cmp.Compare(k.bits2, o.bits2))
}
