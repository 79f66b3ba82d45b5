package nfacct

import (
	"bufio"
	"errors"
	"strconv"
	"strings"

	"github.com/chainwalk/chainwalk/internal/libc"
)

// maxLine is how many bytes of a line restore has room for. What is behind them is another line.
const maxLine = 511

// restore makes the objects of list's output. The real tool does not read back what it prints itself of an object with a quota, nor an
// object with that word in its name.
func (t *Tool) restore() int {
	lines := bufio.NewReader(t.Stdin)
	for {
		text := readLine(lines)
		if text == "" {
			return 0
		}
		text, _, found := strings.Cut(text, ";")
		if !found {
			return t.fail("invalid line")
		}
		o, isObject, isGreat := parseLine(text)
		switch {
		case !isObject && isGreat:
			// The tool takes this for the cause.
			return t.fail("error reading input: Numerical result out of range")
		case !isObject:
			return t.fail("error reading input")
		}
		if err := t.Objects.AddObject(o); err != nil {
			return t.fail("error: Device or resource busy")
		}
	}
}

// readLine reads a line as far as there is room; it ends where the tool's strings end.
func readLine(lines *bufio.Reader) string {
	var text []byte
	for len(text) < maxLine {
		b, err := lines.ReadByte()
		if err != nil {
			break
		}
		if text = append(text, b); b == '\n' {
			break
		}
	}
	if len(text) == 0 {
		return ""
	}
	line, _, cut := strings.Cut(string(text), "\x00")
	if cut {
		line += "\n" // not the end of the input
	}
	return line
}

// parseLine reads the words of an object. isGreat says that one of its numbers is too great.
func parseLine(text string) (o Object, isObject, isGreat bool) {
	s := scanner{rest: text, ok: true}
	s.literal("{ pkts = ")
	o.Packets = s.number()
	s.literal(", bytes = ")
	o.Bytes = s.number()
	if strings.Contains(text, "quota") {
		s.literal(", quota = ")
		o.Quota = s.number()
		s.literal(", mode = ")
		o.Mode = packetQuota
		if s.word() == byteQuota {
			o.Mode = byteQuota
		}
	}
	s.literal(" } = ")
	name := s.word()
	o.Name = name[:min(len(name), MaxName)]
	return o, s.ok, s.isGreat
}

// scanner reads as scanf does, up to what does not fit.
type scanner struct {
	rest    string
	ok      bool
	isGreat bool // a number was too great
}

// blanks are what scanf takes for blank.
const blanks = " \t\n\v\f\r"

// literal reads a text, in which a blank stands for any number of them.
func (s *scanner) literal(text string) {
	for _, c := range text {
		if c == ' ' {
			s.rest = strings.TrimLeft(s.rest, blanks)
		} else if s.ok {
			s.rest, s.ok = strings.CutPrefix(s.rest, string(c))
		}
	}
}

// skip leaves blanks out before a value. At the end of the text the C library forgets that a number was too great.
func (s *scanner) skip() string {
	s.rest = strings.TrimLeft(s.rest, blanks)
	if s.ok && s.rest == "" {
		s.isGreat = false
	}
	return s.rest
}

func (s *scanner) number() uint64 {
	if !s.ok {
		return 0
	}
	text := s.skip()
	n, rest, ok := libc.CutDecimal([]byte(text))
	s.ok = ok
	s.rest = string(rest)
	_, err := strconv.ParseUint(strings.TrimLeft(text[:len(text)-len(rest)], "+-"), 10, 64)
	s.isGreat = s.isGreat || errors.Is(err, strconv.ErrRange)
	return n
}

func (s *scanner) word() string {
	text := s.skip()
	end := strings.IndexAny(text, blanks)
	if end < 0 {
		end = len(text)
	}
	s.ok = s.ok && end > 0
	s.rest = text[end:]
	return text[:end]
}
