package snapshot

import (
	"bufio"
	"fmt"
	"io"
	"net/netip"
	"strconv"
	"strings"

	"github.com/chainwalk/chainwalk/internal/document"
	"github.com/chainwalk/chainwalk/packetsim/inet"
)

// TCP and SCTP states by the kernel's number (enum tcp_conntrack and enum sctp_conntrack).
var (
	kernelTCPStates = []string{
		"NONE", "SYN_SENT", "SYN_RECV", "ESTABLISHED", "FIN_WAIT", "CLOSE_WAIT", "LAST_ACK", "TIME_WAIT", "CLOSE", "SYN_SENT2",
	}
	kernelSCTPStates = []string{
		"NONE", "CLOSED", "COOKIE_WAIT", "COOKIE_ECHOED", "ESTABLISHED", "SHUTDOWN_SENT", "SHUTDOWN_RECD", "SHUTDOWN_ACK_SENT",
		"HEARTBEAT_SENT", "HEARTBEAT_ACKED",
	}
)

// connectionStates are the states that conntrack has for a protocol; one empty state for those
// that have none.
func connectionStates(p inet.Proto) []string {
	switch p {
	case inet.TCP:
		return kernelTCPStates
	case inet.SCTP:
		return kernelSCTPStates
	}
	return []string{""}
}

// parseConntrack reads what "conntrack -L -o extended" prints and what stands in
// /proc/net/nf_conntrack. Errors are *Error with line and column; name is the file's
// name in them.
func parseConntrack(name string, r io.Reader) ([]Connection, error) {
	var connections []Connection
	scanner := bufio.NewScanner(r)
	for line := 1; scanner.Scan(); line++ {
		if strings.TrimSpace(scanner.Text()) == "" {
			continue
		}
		c, err := ParseConnection(name, line, scanner.Text())
		if err != nil {
			return nil, err
		}
		connections = append(connections, c)
	}
	if err := scanner.Err(); err != nil {
		return nil, fmt.Errorf("%s: read conntrack entries: %w", name, err)
	}
	return connections, nil
}

// ParseConnection reads one line of what ParseConntrack reads, which is not blank.
func ParseConnection(name string, line int, text string) (Connection, error) {
	p := &conntrackLine{file: name, line: line, words: entryWords(text), conn: Connection{Replied: true}}
	if len(p.words) == 0 {
		return p.conn, p.errorAt(word{}, "the entry is empty")
	}
	return p.parse()
}

// word is a word of an entry and the byte offset that it begins at.
type word struct {
	text   string
	offset int
}

func entryWords(line string) []word {
	var words []word
	end := 0
	for text := range strings.FieldsFuncSeq(line, func(r rune) bool { return r == ' ' || r == '\t' || r == '\r' }) {
		offset := end + strings.Index(line[end:], text)
		words = append(words, word{text, offset})
		end = offset + len(text)
	}
	return words
}

// conntrackLine is one entry on the way through the parser.
type conntrackLine struct {
	file   string
	line   int
	words  []word
	conn   Connection
	tuples int // how many have begun
}

func (p *conntrackLine) errorAt(w word, format string, args ...any) error {
	return &documentError{
		Position: document.Position{File: p.file, Line: p.line, Column: w.offset + 1}, Path: "conntrack entry",
		Msg: fmt.Sprintf("%q: ", w.text) + fmt.Sprintf(format, args...),
	}
}

// parse reads "ipv4 2 tcp 6 117 TIME_WAIT src=... [ASSURED] mark=0 use=1".
func (p *conntrackLine) parse() (Connection, error) {
	rest, err := p.head()
	if err != nil {
		return p.conn, err
	}
	for _, w := range rest {
		if err := p.field(w); err != nil {
			return p.conn, err
		}
	}
	last := p.words[len(p.words)-1]
	if p.tuples != 2 {
		return p.conn, p.errorAt(last, "an entry has two tuples (src= dst= ...), this one has %d", p.tuples)
	}
	if err := p.conn.check("entry"); err != nil {
		return p.conn, p.errorAt(last, "%v", err)
	}
	return p.conn, nil
}

// head reads the words before the tuples: family, protocol, timeout, state.
func (p *conntrackLine) head() ([]word, error) {
	words := p.words
	if words[0].text == "ipv4" || words[0].text == "ipv6" {
		if len(words) < 2 {
			return nil, p.errorAt(words[0], "the entry ends here")
		}
		words = words[2:]
	}
	if len(words) < 3 {
		return nil, p.errorAt(p.words[0], "not a conntrack entry: want the output of \"conntrack -L -o extended\"")
	}
	proto, err := strconv.ParseUint(words[1].text, 10, 8)
	if err != nil {
		return nil, p.errorAt(words[1], "not a protocol number")
	}
	p.conn.Original.Proto, p.conn.Reply.Proto = inet.Proto(proto), inet.Proto(proto)
	words = words[2:]
	// Entries in a flow table are printed without timeout and state; the kernel keeps them for
	// a day (nf_ct_offload_timeout).
	p.conn.Timeout = 86400
	if timeout, err := strconv.ParseUint(words[0].text, 10, 32); err == nil {
		p.conn.Timeout = uint32(timeout)
		words = words[1:]
	}
	if len(words) > 0 && !strings.ContainsAny(words[0].text, "=[") {
		p.conn.State = words[0].text
		words = words[1:]
	} else if states := connectionStates(inet.Proto(proto)); states[0] != "" {
		p.conn.State = "ESTABLISHED"
	}
	return words, nil
}

func (p *conntrackLine) field(w word) error {
	key, value, ok := strings.Cut(w.text, "=")
	if !ok {
		switch key {
		case "[ASSURED]":
			p.conn.Assured = true
		case "[UNREPLIED]":
			p.conn.Replied = false
		case "[OFFLOAD]", "[HW_OFFLOAD]":
		default:
			return p.errorAt(w, "unknown word in a conntrack entry")
		}
		return nil
	}
	switch key {
	case "src", "dst", "sport", "dport", "type", "code", "id", "packets", "bytes":
		return p.tupleField(w, key, value)
	case "mark", "zone", "zone-orig", "zone-reply":
		return p.number(w, key, value)
	case "use", "helper", "labels", "secctx", "secmark", "delta-time", "start", "stop", "timeout":
		return nil
	}
	return p.errorAt(w, "unknown word in a conntrack entry")
}

func (p *conntrackLine) number(w word, key, value string) error {
	n, err := strconv.ParseUint(value, 0, 32)
	if err != nil || key != "mark" && n > 0xffff {
		return p.errorAt(w, "the %s is not a number of its size", key)
	}
	switch key {
	case "zone":
		p.conn.Zone = uint16(n)
	case "zone-orig":
		p.conn.OrigZone = uint16(n)
	case "zone-reply":
		p.conn.ReplyZone = uint16(n)
	default:
		p.conn.Mark = uint32(n)
	}
	return nil
}

func (p *conntrackLine) tupleField(w word, key, value string) error {
	if key == "src" {
		p.tuples++
	}
	tuple := &p.conn.Original
	switch p.tuples {
	case 1:
	case 2:
		tuple = &p.conn.Reply
	default:
		return p.errorAt(w, "an entry has two tuples, each beginning with src=")
	}
	switch key {
	case "packets", "bytes":
		return nil
	case "src", "dst":
		addr, err := netip.ParseAddr(value)
		if err != nil {
			return p.errorAt(w, "not an address")
		}
		if key == "src" {
			tuple.Src = addr
		} else {
			tuple.Dst = addr
		}
		return nil
	}
	n, err := strconv.ParseUint(value, 10, 16)
	if err != nil || (key == "type" || key == "code") && n > 0xff {
		return p.errorAt(w, "not a number of its size")
	}
	tuple.setNumber(key, uint16(n))
	return nil
}

func (t *Tuple) setNumber(key string, n uint16) {
	switch key {
	case "sport":
		t.SrcPort = n
	case "dport":
		t.DstPort = n
	case "type":
		t.ICMPType = uint8(n)
	case "code":
		t.ICMPCode = uint8(n)
	case "id":
		t.ICMPID = n
	}
}
