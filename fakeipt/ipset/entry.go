package ipset

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

// maxComment is the length of an entry's comment.
const maxComment = 255

// entryChange is what add, del and test say besides the element.
type entryChange struct {
	command    string
	element    element
	entry      entry
	timeout    uint32
	hasTimeout bool
	counted    bool // packets or bytes are given
	commented  bool
	mapped     bool   // a part of skbInfo is given
	ref        string // the set behind before or after
	before     bool
}

// parseChange reads an element and the options behind it, of the command add, del or test.
func (s *Set) parseChange(command string, w *wordReader) (entryChange, error) {
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
			return c, errTwice(option)
		}
		seen = append(seen, kind)
		if err := c.parse(s, option, w); err != nil {
			return c, err
		}
	}
}

// parse reads one option of an entry.
func (c *entryChange) parse(s *Set, option string, w *wordReader) error {
	adds := c.command == "add"
	switch {
	case (option == "before" || option == "after") && s.kind == listSet:
		word, err := w.value(option)
		c.ref, c.before = word, option == "before"
		return err
	case option == "nomatch" && s.kind.nets() && c.command != "del":
		c.entry.nomatch = true
		return nil
	case !adds:
	case option == "timeout":
		n, err := w.number(option, 0, maxTimeout)
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
	return unknownOption(option)
}

// Numbers of skbmark and skbprio as scanf reads them: what follows does not count.
var (
	markText = regexp.MustCompile(`^0x([0-9a-fA-F]+)(?:/0x([0-9a-fA-F]+))?`)
	prioText = regexp.MustCompile(`^(?:0x)?([0-9a-fA-F]+):(?:0x)?([0-9a-fA-F]+)`)
)

// parseSKBInfo reads skbmark, skbprio or skbqueue.
func (c *entryChange) parseSKBInfo(option string, w *wordReader) error {
	if option != "skbmark" && option != "skbprio" && option != "skbqueue" {
		return unknownOption(option)
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
		m := prioText.FindStringSubmatch(word)
		if m == nil {
			return errorf("Syntax error: Invalid skbprio format, it should be:MAJOR:MINOR (see manpage)")
		}
		b.major, b.minor = uint16(hexValue(m[1])), uint16(hexValue(m[2]))
		return nil
	}
	m := markText.FindStringSubmatch(word)
	if m == nil {
		return errorf("Syntax error: Invalid skbmark format, it should be:  MARK/MASK or MARK (see manpage)")
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

func (c *entryChange) parseComment(w *wordReader) error {
	word, err := w.value("comment")
	switch {
	case err != nil:
		return err
	case strings.Contains(word, `"`):
		return errorf(`Syntax error: " character is not permitted in comments`)
	case len(word) > maxComment:
		return errorf("Syntax error: Comment is longer than the maximum allowed %d characters", maxComment)
	}
	c.entry.comment, c.commented = word, true
	return nil
}

// refused is the kernel's refusal of options that the set was not created for.
func (c *entryChange) refused(s *Set) error {
	o := &s.options
	switch {
	case s.kind == bitmapPort && (c.element.port < o.minPort || c.element.port > o.maxPort):
		return errRange // the first port is looked at before anything else
	case c.hasTimeout && !o.hasTimeout:
		return errNoTimeout
	case c.counted && !o.counters:
		return errNoCounters
	case c.commented && !o.comment:
		return errNoComment
	case c.mapped && !o.skbInfo:
		return errNoSKBInfo
	case s.kind == listSet:
		return nil
	case s.kind == bitmapPort:
		if c.element.last > o.maxPort {
			return errRange
		}
		return nil
	}
	return c.refusedElement(s)
}

// refusedElement is the kernel's refusal of elements that hash types cannot hold.
func (c *entryChange) refusedElement(s *Set) error {
	for i, part := range s.kind.parts {
		a := &c.element.addr
		if i > 0 {
			a = &c.element.addr2
		}
		switch {
		case part == partPort:
		case i == 0 && s.kind.masked() && s.cut(a.given).IsUnspecified():
			if len(s.kind.parts) > 1 {
				return errInvalid
			}
			return errNull
		case a.bits == 0 && (part == partNet || c.command != "test"):
			return errCIDR
		}
	}
	return nil
}

// cut is an address under the set's netmask.
func (s *Set) cut(a netip.Addr) netip.Addr {
	if s.options.netMask == 0 {
		return a
	}
	return cutAddr(a, s.options.netMask)
}

// maxRange is the greatest number of entries that one element may stand for. The kernel would go on.
const maxRange = 1 << 20

var errRangeSize = errorf("not supported: an element that stands for more than %d entries", maxRange)

// change carries add or del out.
func (t *Table) change(s *Set, adds bool, c *entryChange, exist bool) error {
	t.lock.Lock()
	defer t.lock.Unlock()
	if err := c.refused(s); err != nil {
		return err
	}
	if s.kind == listSet {
		return t.changeList(s, adds, c, exist)
	}
	e := c.entry
	if s.options.hasTimeout {
		seconds := s.options.timeout
		if c.hasTimeout {
			seconds = c.timeout
		}
		e.expires = s.deadline(seconds)
	}
	number := 0
	return s.keys(&c.element, func(k key) error {
		if number++; number > maxRange {
			return errRangeSize
		}
		if adds {
			return s.add(k, e, exist)
		}
		if old := s.entries[k]; old == nil || !s.live(old) {
			if exist {
				return nil
			}
			return errElemMissing
		}
		s.remove(k)
		return nil
	})
}

// changeList is change of a list:set.
func (t *Table) changeList(s *Set, adds bool, c *entryChange, exist bool) error {
	member := t.sets[c.element.set]
	switch {
	case member == nil:
		return errNoElemSet
	case member.kind == listSet:
		return errNestedList
	case c.ref != "" && t.sets[c.ref] == nil:
		return errNoRef
	}
	k, ref := key{set: c.element.set}, key{set: c.ref}
	if c.ref != "" && s.entries[ref] == nil {
		return errRefNotAdded
	}
	if !adds {
		if s.entries[k] == nil {
			if exist {
				return nil
			}
			return errElemMissing
		}
		s.remove(k)
		return nil
	}
	e := c.entry
	if s.options.hasTimeout {
		seconds := s.options.timeout
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
func (c *entryChange) refusedTest(s *Set) error {
	if s.kind == listSet || s.kind.name == "hash:ip" {
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
	family := map[Family]string{0: "unspec", IPv4: "inet", IPv6: "inet6"}[s.options.family]
	return errorf("%s range is not allowed in command test with set type %s and family %s", what, s.kind.name, family)
}

// holds reports whether the element is in the set, as "ipset test" asks.
func (t *Table) holds(s *Set, c *entryChange) (bool, error) {
	t.lock.RLock()
	defer t.lock.RUnlock()
	if err := c.refusedTest(s); err != nil {
		return false, err
	}
	if c.refused(s) != nil {
		// For the kernel such an element is just not there.
		return false, nil
	}
	if s.kind == listSet {
		return s.holdsMember(c), nil
	}
	found, element := false, c.element
	if a := &element.addr; a.cidr && s.kind.parts[0] == partIP {
		// The kernel looks for the address that was given.
		a.min, a.max, a.bits = a.given, a.given, uint8(a.given.BitLen())
	}
	err := s.keys(&element, func(k key) error {
		e := s.entries[k]
		if s.kind.nets() && int(s.prefixOf(k)) == s.options.family.bits() {
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
func (s *Set) holdsMember(c *entryChange) bool {
	k := key{set: c.element.set}
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
var errStop = errorf("stop")

// longest is the entry of the longest net that holds the key's address.
func (s *Set) longest(k key) *entry {
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
func (s *Set) liveKeys(sorted bool) []key {
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
	return keys
}

func (k key) compare(o key) int {
	return cmp.Or(k.addr.Compare(o.addr), cmp.Compare(k.bits, o.bits), cmp.Compare(k.proto, o.proto), cmp.Compare(k.port, o.port),
		k.addr2.Compare(o.addr2), cmp.Compare(k.bits2, o.bits2))
}

// appendEntry appends an element with what is kept of it.
func (s *Set) appendEntry(dst []byte, k key) []byte {
	return appendFields(s.appendKey(dst, k), s.entryFields(s.entries[k]))
}

// entryFields are what is kept of an element.
func (s *Set) entryFields(e *entry) []field {
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
