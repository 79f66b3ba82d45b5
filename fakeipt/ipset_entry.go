package fakeipt

import (
	"cmp"
	"fmt"
	"math"
	"net/netip"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
)

// maxSetComment is the length of an entry's comment.
const maxSetComment = 255

// entryChange is what add, del and test say besides the element.
type entryChange struct {
	command    string
	element    setElement
	entry      setEntry
	timeout    uint32
	hasTimeout bool
	counted    bool // packets or bytes are given
	commented  bool
	mapped     bool   // a part of skbInfo is given
	ref        string // the set behind before or after
	before     bool
}

// parseChange reads an element and the options behind it, of the command add, del or test.
func (s *IPSet) parseChange(command string, w *setWords) (entryChange, error) {
	c := entryChange{command: command}
	word, _ := w.next()
	var err error
	if c.element, err = s.parseElement(command, word); err != nil {
		return c, err
	}
	var seen []string
	for {
		option, ok := w.next()
		if !ok {
			return c, nil
		}
		kind := option
		if option == "after" {
			kind = "before"
		}
		if slices.Contains(seen, kind) && option != "nomatch" {
			return c, errSetTwice(option)
		}
		seen = append(seen, kind)
		if err := c.parse(s, option, w); err != nil {
			return c, err
		}
	}
}

// parse reads one option of an entry.
func (c *entryChange) parse(s *IPSet, option string, w *setWords) error {
	adds := c.command == "add"
	switch {
	case (option == "before" || option == "after") && s.kind == listSetKind:
		word, err := w.value(option)
		c.ref, c.before = word, option == "before"
		return err
	case option == "nomatch" && s.kind.nets() && c.command != "del":
		c.entry.nomatch = true
		return nil
	case !adds:
	case option == "timeout":
		n, err := w.number(option, 0, maxSetTimeout)
		c.timeout, c.hasTimeout = uint32(n), true
		return err
	case option == "packets" || option == "bytes":
		n, err := w.number(option, 0, math.MaxUint64-1)
		c.counted = true
		if option == "packets" {
			c.entry.packets = n
		} else {
			c.entry.bytes = n
		}
		return err
	case option == "comment":
		return c.parseComment(w)
	case strings.HasPrefix(option, "skb"):
		return c.parseSKBInfo(option, w)
	}
	return unknownSetOption(option)
}

// Numbers of skbmark and skbprio as scanf reads them: what follows does not count.
var (
	setMarkText = regexp.MustCompile(`^0x([0-9a-fA-F]+)(?:/0x([0-9a-fA-F]+))?`)
	setPrioText = regexp.MustCompile(`^(?:0x)?([0-9a-fA-F]+):(?:0x)?([0-9a-fA-F]+)`)
)

// parseSKBInfo reads skbmark, skbprio or skbqueue.
func (c *entryChange) parseSKBInfo(option string, w *setWords) error {
	if option != "skbmark" && option != "skbprio" && option != "skbqueue" {
		return unknownSetOption(option)
	}
	c.mapped = true
	b := &c.entry.skb
	if option == "skbqueue" {
		n, err := w.number(option, 0, math.MaxUint16)
		b.queue = uint16(n)
		return err
	}
	word, err := w.value(option)
	if err != nil {
		return err
	}
	if option == "skbprio" {
		m := setPrioText.FindStringSubmatch(word)
		if m == nil {
			return setErrorf("Syntax error: Invalid skbprio format, it should be:MAJOR:MINOR (see manpage)")
		}
		b.major, b.minor = uint16(hexValue(m[1])), uint16(hexValue(m[2]))
		return nil
	}
	m := setMarkText.FindStringSubmatch(word)
	if m == nil {
		return setErrorf("Syntax error: Invalid skbmark format, it should be:  MARK/MASK or MARK (see manpage)")
	}
	b.mark, b.mask = uint32(hexValue(m[1])), math.MaxUint32
	if m[2] != "" {
		b.mask = uint32(hexValue(m[2]))
	}
	return nil
}

// hexValue is the number of hexadecimal digits; the greatest, if they are more than 64 bits.
func hexValue(digits string) uint64 {
	n, _ := strconv.ParseUint(digits, 16, 64)
	return n
}

func (c *entryChange) parseComment(w *setWords) error {
	word, err := w.value("comment")
	switch {
	case err != nil:
		return err
	case strings.Contains(word, `"`):
		return setErrorf(`Syntax error: " character is not permitted in comments`)
	case len(word) > maxSetComment:
		return setErrorf("Syntax error: Comment is longer than the maximum allowed %d characters", maxSetComment)
	}
	c.entry.comment, c.commented = word, true
	return nil
}

// refused is the kernel's refusal of options that the set was not created for.
func (c *entryChange) refused(s *IPSet) error {
	o := &s.options
	switch {
	case s.kind == bitmapPortKind && (c.element.port < o.MinPort || c.element.port > o.MaxPort):
		return errSetRange // the first port is looked at before anything else
	case c.hasTimeout && !o.HasTimeout:
		return errSetNoTimeout
	case c.counted && !o.Counters:
		return errSetNoCounters
	case c.commented && !o.Comment:
		return errSetNoComment
	case c.mapped && !o.SKBInfo:
		return errSetNoSKBInfo
	case s.kind == listSetKind:
		return nil
	case s.kind == bitmapPortKind:
		if c.element.last > o.MaxPort {
			return errSetRange
		}
		return nil
	}
	return c.refusedElement(s)
}

// refusedElement is the kernel's refusal of elements that hash types cannot hold.
func (c *entryChange) refusedElement(s *IPSet) error {
	for i, part := range s.kind.parts {
		a := &c.element.addr
		if i > 0 {
			a = &c.element.addr2
		}
		switch {
		case part == partPort:
		case i == 0 && s.kind.masked() && s.cut(a.given).IsUnspecified():
			if len(s.kind.parts) > 1 {
				return errSetInvalid
			}
			return errSetNull
		case a.bits == 0 && (part == partNet || c.command != "test"):
			return errSetCIDR
		}
	}
	return nil
}

// cut is an address under the set's netmask.
func (s *IPSet) cut(a netip.Addr) netip.Addr {
	if s.options.NetMask == 0 {
		return a
	}
	return cutAddr(a, s.options.NetMask)
}

// maxSetRange is the greatest number of entries that one element may stand for. The kernel would go on.
const maxSetRange = 1 << 20

var errSetRangeSize = setErrorf("not supported: an element that stands for more than %d entries", maxSetRange)

// change carries add or del out.
func (t *IPSetTable) change(s *IPSet, adds bool, c *entryChange, exist bool) error {
	t.lock.Lock()
	defer t.lock.Unlock()
	if err := c.refused(s); err != nil {
		return err
	}
	if s.kind == listSetKind {
		return t.changeList(s, adds, c, exist)
	}
	e := c.entry
	if s.options.HasTimeout {
		seconds := s.options.Timeout
		if c.hasTimeout {
			seconds = c.timeout
		}
		e.expires = s.deadline(seconds)
	}
	number := 0
	return s.keys(&c.element, func(k setKey) error {
		if number++; number > maxSetRange {
			return errSetRangeSize
		}
		if adds {
			return s.add(k, e, exist)
		}
		if old := s.entries[k]; old == nil || !s.live(old) {
			if exist {
				return nil
			}
			return errSetElemMissing
		}
		s.remove(k)
		return nil
	})
}

// changeList is change of a list:set.
func (t *IPSetTable) changeList(s *IPSet, adds bool, c *entryChange, exist bool) error {
	member := t.sets[c.element.set]
	switch {
	case member == nil:
		return errSetNoElemSet
	case member.kind == listSetKind:
		return errSetNestedList
	case c.ref != "" && t.sets[c.ref] == nil:
		return errSetNoRef
	}
	k, ref := setKey{set: c.element.set}, setKey{set: c.ref}
	if c.ref != "" && s.entries[ref] == nil {
		return errSetRefNotAdded
	}
	if !adds {
		if s.entries[k] == nil {
			if exist {
				return nil
			}
			return errSetElemMissing
		}
		s.remove(k)
		return nil
	}
	e := c.entry
	if s.options.HasTimeout {
		seconds := s.options.Timeout
		if c.hasTimeout {
			seconds = c.timeout
		}
		e.expires = s.deadline(seconds)
	}
	known := s.entries[k] != nil
	if err := s.add(k, e, exist); err != nil || known || c.ref == "" {
		return err
	}
	s.order = s.order[:len(s.order)-1]
	at := slices.Index(s.order, ref)
	if !c.before {
		at++
	}
	s.order = slices.Insert(s.order, at, k)
	return nil
}

// refusedTest is the refusal of ranges, which test takes for hash:ip only.
func (c *entryChange) refusedTest(s *IPSet) error {
	if s.kind == listSetKind || s.kind.name == "hash:ip" {
		return nil
	}
	what := ""
	switch e := &c.element; {
	case e.addr.cidr && s.kind.parts[0] == partIP:
		what = "IP/CIDR"
	case e.addr.ranged || e.addr2.ranged:
		what = "FROM-TO IP"
	case e.ports:
		what = "FROM-TO port"
	default:
		return nil
	}
	family := map[Family]string{0: "unspec", IPv4: "inet", IPv6: "inet6"}[s.options.Family]
	return setErrorf("%s range is not allowed in command test with set type %s and family %s", what, s.kind.name, family)
}

// holds reports whether the element is in the set, as "ipset test" asks.
func (t *IPSetTable) holds(s *IPSet, c *entryChange) (bool, error) {
	t.lock.RLock()
	defer t.lock.RUnlock()
	if err := c.refusedTest(s); err != nil {
		return false, err
	}
	if c.refused(s) != nil {
		// For the kernel such an element is just not there.
		return false, nil
	}
	if s.kind == listSetKind {
		return s.holdsMember(c), nil
	}
	found, element := false, c.element
	if a := &element.addr; a.cidr && s.kind.parts[0] == partIP {
		// The kernel looks for the address that was given.
		a.min, a.max, a.bits = a.given, a.given, uint8(a.given.BitLen())
	}
	err := s.keys(&element, func(k setKey) error {
		e := s.entries[k]
		if s.kind.nets() && int(s.prefixOf(k)) == s.options.Family.facts().bits {
			e = s.longest(k)
		}
		found = s.live(e) && e.nomatch == c.entry.nomatch
		return errStop
	})
	if err != errStop {
		return false, err
	}
	return found, nil
}

// holdsMember reports whether a set is in the list:set, and beside the other that was named.
func (s *IPSet) holdsMember(c *entryChange) bool {
	k := setKey{set: c.element.set}
	at := slices.Index(s.order, k)
	if at < 0 || !s.live(s.entries[k]) {
		return false
	}
	beside := at - 1
	if c.before {
		beside = at + 1
	}
	return c.ref == "" || beside >= 0 && beside < len(s.order) && s.order[beside].set == c.ref
}

// errStop ends a walk over keys.
var errStop = setErrorf("stop")

// longest is the entry of the longest net that holds the key's address.
func (s *IPSet) longest(k setKey) *setEntry {
	addr := k.addr
	if s.kind.net2() {
		addr = k.addr2
	}
	for n := addr.BitLen(); n > 0; n-- {
		if s.prefixes[n] == 0 {
			continue
		}
		if s.kind.net2() {
			k.addr2, k.bits2 = cutAddr(addr, uint8(n)), uint8(n)
		} else {
			k.addr, k.bits = cutAddr(addr, uint8(n)), uint8(n)
		}
		if e := s.entries[k]; s.live(e) {
			return e
		}
	}
	return nil
}

// liveKeys are the keys of entries that have not expired: ports by number, others in the order they were added.
func (s *IPSet) liveKeys(sorted bool) []setKey {
	if s.kind == listSetKind {
		return slices.DeleteFunc(slices.Clone(s.order), func(k setKey) bool { return !s.live(s.entries[k]) })
	}
	keys := make([]setKey, 0, len(s.entries))
	for k, e := range s.entries {
		if s.live(e) {
			keys = append(keys, k)
		}
	}
	slices.SortFunc(keys, func(a, b setKey) int {
		if !sorted && s.kind.hash() {
			return cmp.Compare(s.entries[a].seq, s.entries[b].seq)
		}
		return a.compare(b)
	})
	return keys
}

func (k setKey) compare(o setKey) int {
	return cmp.Or(k.addr.Compare(o.addr), cmp.Compare(k.bits, o.bits), cmp.Compare(k.proto, o.proto), cmp.Compare(k.port, o.port),
		k.addr2.Compare(o.addr2), cmp.Compare(k.bits2, o.bits2))
}

// appendEntry appends an element with what is kept of it.
func (s *IPSet) appendEntry(dst []byte, k setKey) []byte {
	return appendFields(s.appendKey(dst, k), s.entryFields(s.entries[k]))
}

// entryFields are what is kept of an element.
func (s *IPSet) entryFields(e *setEntry) []setField {
	var fields []setField
	add := func(has bool, name, format string, args ...any) {
		if has {
			fields = append(fields, setField{name, fmt.Sprintf(format, args...)})
		}
	}
	left := int64(0)
	if !e.expires.IsZero() {
		left = int64(e.expires.Sub(s.clock.Now()) / time.Second)
	}
	add(s.options.HasTimeout, "timeout", "%d", left)
	add(e.nomatch, "nomatch", "")
	add(s.options.Counters, "packets", "%d", e.packets)
	add(s.options.Counters, "bytes", "%d", e.bytes)
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
