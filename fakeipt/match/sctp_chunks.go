package match

import (
	"bytes"
	"fmt"
	"slices"
	"strings"

	"github.com/chainwalk/chainwalk/fakeipt/xtables"
)

// SCTPChunkMode is how --chunk-types compares.
type SCTPChunkMode uint8

// The modes: any of the chunks, all of them, or no others.
const (
	SCTPChunksAny SCTPChunkMode = iota
	SCTPChunksAll
	SCTPChunksOnly
)

// SCTPChunk is a type of chunk of --chunk-types; its flags under FlagMask are Flags.
type SCTPChunk struct {
	Type            uint8
	FlagMask, Flags uint8
}

// SCTPChunks is --chunk-types of -m sctp.
type SCTPChunks struct {
	Mode   SCTPChunkMode
	All    bool // every type there is
	Types  []SCTPChunk
	Invert bool

	flagged []uint8 // the types with flags, in the order in which they were given
}

// sctpChunkName is a type's name, with the letters of its flags from bit 7.
type sctpChunkName struct {
	name   string
	number uint8
	flags  string
}

const noSCTPFlags = "--------"

// sctpChunkNames are the types in the order in which flags are counted to them.
var sctpChunkNames = [...]sctpChunkName{
	{"DATA", 0, "----IUBE"}, {"INIT", 1, noSCTPFlags}, {"INIT_ACK", 2, noSCTPFlags}, {"SACK", 3, noSCTPFlags},
	{"HEARTBEAT", 4, noSCTPFlags}, {"HEARTBEAT_ACK", 5, noSCTPFlags}, {"ABORT", 6, "-------T"}, {"SHUTDOWN", 7, noSCTPFlags},
	{"SHUTDOWN_ACK", 8, noSCTPFlags}, {"ERROR", 9, noSCTPFlags}, {"COOKIE_ECHO", 10, noSCTPFlags}, {"COOKIE_ACK", 11, noSCTPFlags},
	{"ECN_ECNE", 12, noSCTPFlags}, {"ECN_CWR", 13, noSCTPFlags}, {"SHUTDOWN_COMPLETE", 14, "-------T"},
	{"I_DATA", 64, "----IUBE"}, {"RE_CONFIG", 130, noSCTPFlags}, {"PAD", 132, noSCTPFlags}, {"ASCONF", 193, noSCTPFlags},
	{"ASCONF_ACK", 128, noSCTPFlags}, {"FORWARD_TSN", 192, noSCTPFlags}, {"I_FORWARD_TSN", 194, noSCTPFlags},
}

// append appends " MODE TYPES".
func (c *SCTPChunks) append(dst []byte, numeric bool) []byte {
	dst = append(dst, [...]string{" any", " all", " only"}[c.Mode]...)
	switch {
	case c.All:
		return append(dst, " ALL"...)
	case len(c.Types) == 0:
		return append(dst, " NONE"...)
	}
	separator := byte(' ')
	for _, t := range c.Types {
		dst, separator = append(dst, separator), ','
		n := sctpNameOf(t.Type)
		if numeric {
			dst = fmt.Appendf(dst, "0x%04X", t.Type)
		} else {
			dst = append(dst, n.name...)
		}
		if t.FlagMask != 0 && t.Type <= lastSCTPPrinted {
			dst = t.appendFlags(append(dst, ':'), n.flags)
		}
	}
	return dst
}

// lastSCTPPrinted is the last type of which the tools print the flags.
const lastSCTPPrinted = 14

func sctpNameOf(number uint8) *sctpChunkName {
	i := slices.IndexFunc(sctpChunkNames[:], func(n sctpChunkName) bool { return n.number == number })
	return &sctpChunkNames[i]
}

// appendFlags appends a letter for each flag that is asked: a capital one if it must be set.
func (t SCTPChunk) appendFlags(dst []byte, letters string) []byte {
	for bit := 7; bit >= 0; bit-- {
		letter := letters[7-bit]
		switch {
		case t.FlagMask&(1<<bit) == 0:
			continue
		case t.Flags&(1<<bit) == 0 && letter != '-':
			letter |= 0x20
		}
		dst = append(dst, letter)
	}
	return dst
}

// parseSCTPChunks reads the two arguments of --chunk-types.
func parseSCTPChunks(mode, list []byte) (*SCTPChunks, error) {
	c := &SCTPChunks{}
	switch strings.ToUpper(string(mode)) {
	case "ANY":
	case "ALL":
		c.Mode = SCTPChunksAll
	case "ONLY":
		c.Mode = SCTPChunksOnly
	default:
		return nil, xtables.BadParameter(`Match type has to be one of "ALL", "ANY" or "ONLY"`)
	}
	switch strings.ToUpper(string(list)) {
	case "ALL":
		c.All = true
		return c, nil
	case "NONE":
		return c, nil
	}
	for word := range bytes.FieldsFuncSeq(list, func(r rune) bool { return r == ',' }) {
		if err := c.add(word); err != nil {
			return nil, err
		}
	}
	slices.SortFunc(c.Types, func(a, b SCTPChunk) int { return int(a.Type) - int(b.Type) })
	return c, nil
}

// maxSCTPFlagged is how many types can have flags.
const maxSCTPFlagged = 4

// add reads "TYPE[:FLAGS]".
func (c *SCTPChunks) add(word []byte) error {
	name, flags, _ := bytes.Cut(word, []byte(":"))
	known := slices.IndexFunc(sctpChunkNames[:], func(n sctpChunkName) bool { return strings.EqualFold(n.name, string(name)) })
	if known < 0 {
		return xtables.BadParameter("Unknown sctp chunk `%s'", name)
	}
	n := &sctpChunkNames[known]
	at := slices.IndexFunc(c.Types, func(t SCTPChunk) bool { return t.Type == n.number })
	if at < 0 {
		at = len(c.Types)
		c.Types = append(c.Types, SCTPChunk{Type: n.number})
	}
	t := &c.Types[at]
	if len(flags) > 0 && !slices.Contains(c.flagged, n.number) {
		if c.flagged = append(c.flagged, n.number); len(c.flagged) > maxSCTPFlagged {
			return xtables.BadParameter("Number of chunk types with flags exceeds currently allowed limit. Increasing this limit involves " +
				"changing IPT_NUM_SCTP_FLAGS and recompiling both the kernel space and user space modules")
		}
	}
	for _, letter := range flags {
		capital := letter
		if 'a' <= letter && letter <= 'z' {
			capital -= 0x20
		}
		place := strings.IndexByte(n.flags, capital)
		if place < 0 {
			return xtables.BadParameter("Invalid flags for chunk type %d", known)
		}
		t.FlagMask |= 0x80 >> place
		if 'A' <= letter && letter <= 'Z' {
			t.Flags |= 0x80 >> place
		}
	}
	return nil
}
