package ipset

import (
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

// fieldsOf are the fields of keywords that have one.
func fieldsOf(keywords []*keyword, text func(*keyword) (string, bool)) []field {
	var fields []field
	for _, k := range keywords {
		if value, has := text(k); has {
			fields = append(fields, field{k.name, value})
		}
	}
	return fields
}

// header are the options of create. The tool does not print that there is forceadd.
func (s *set) header() []field { return fieldsOf(s.kind.createKeywords(), s.createText) }

// createText is the value of an option of create, and whether it is printed.
func (s *set) createText(k *keyword) (string, bool) {
	o := &s.options
	switch k {
	case kwIPRange:
		return fmt.Sprintf("%s-%s", o.first, o.last), true
	case kwPortRange:
		return fmt.Sprintf("%d-%d", o.minPort, o.maxPort), true
	case kwSize:
		return fmt.Sprint(o.size), true
	case kwFamily:
		return map[Family]string{inet: "inet", inet6: "inet6"}[o.family], true
	case kwHashSize:
		return fmt.Sprint(1 << s.table.bits), true
	case kwMaxElem:
		return fmt.Sprint(o.maxElem), true
	case kwNetMask:
		return fmt.Sprint(o.netMask), o.netMask != 0
	case kwBitMask:
		return o.bitMask.String(), o.bitMask.IsValid()
	case kwTimeout:
		return fmt.Sprint(o.timeout), o.hasTimeout
	case kwCounters:
		return "", o.counters
	case kwComments:
		return "", o.comment
	case kwSKBInfo:
		return "", o.skbInfo
	case kwBucketSize:
		return fmt.Sprint(s.table.bucketSize), true
	case kwInitVal:
		return fmt.Sprintf("0x%08x", o.initVal), true
	}
	return "", false
}

// appendEntry appends an element with what is kept of it.
func (s *set) appendEntry(dst []byte, k key) []byte {
	e := s.entries[k]
	return appendFields(s.appendKey(dst, k, e), s.entryFields(e))
}

// entryFields are what is kept of an element.
func (s *set) entryFields(e *entry) []field {
	return fieldsOf(s.kind.addKeywords(), func(k *keyword) (string, bool) { return s.entryText(k, e) })
}

// entryText is the value of an option of an entry, and whether it is printed.
func (s *set) entryText(k *keyword, e *entry) (string, bool) {
	o, b := &s.options, &e.skb
	switch k {
	case kwTimeout:
		return fmt.Sprint(s.left(e)), o.hasTimeout
	case kwNomatch:
		return "", e.nomatch
	case kwWildcard:
		return "", e.wildcard
	case kwPackets:
		return fmt.Sprint(e.packets), o.counters
	case kwBytes:
		return fmt.Sprint(e.bytes), o.counters
	case kwComment:
		return `"` + e.comment + `"`, e.comment != ""
	case kwSKBMark:
		if b.mask == math.MaxUint32 {
			return fmt.Sprintf("%#x", b.mark), true
		}
		return fmt.Sprintf("%#x/%#x", b.mark, b.mask), b.mark != 0 || b.mask != 0
	case kwSKBPrio:
		return fmt.Sprintf("%x:%x", b.major, b.minor), b.major != 0 || b.minor != 0
	case kwSKBQueue:
		return fmt.Sprint(b.queue), b.queue != 0
	}
	return "", false
}

// left is the time that is left to an entry, in seconds; 0 is for ever, so the last second is told as a whole one.
func (s *set) left(e *entry) int64 {
	if e.expires.IsZero() {
		return int64(e.stored)
	}
	return max(1, int64(e.expires.Sub(s.clock.Now())/time.Second))
}

// liveKeys are the keys of entries that have not expired: ports and addresses of bitmaps by number, those of hash types as the kernel's
// buckets have them.
func (s *set) liveKeys() []key {
	switch s.kind.store {
	case storeList:
		return slices.DeleteFunc(slices.Clone(s.order), func(k key) bool { return !s.live(s.entries[k]) })
	case storeHash:
		var keys []key
		for _, p := range s.table.inOrder() {
			if s.live(s.entries[p.key]) {
				keys = append(keys, p.key)
			}
		}
		return keys
	}
	keys := make([]key, 0, len(s.entries))
	for k, e := range s.entries {
		if s.live(e) {
			keys = append(keys, k)
		}
	}
	slices.SortFunc(keys, key.compare)
	return keys
}
