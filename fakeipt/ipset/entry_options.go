package ipset

import (
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
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
func (s *set) parseChange(command string, w *wordReader) (entryChange, error) {
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
func (c *entryChange) parse(s *set, option string, w *wordReader) error {
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
