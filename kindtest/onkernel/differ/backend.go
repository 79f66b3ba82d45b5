package differ

import (
	"fmt"
	"slices"
	"sort"
	"strconv"
	"strings"

	"github.com/chainwalk/chainwalk/kindtest/internal/toolrun"
	"github.com/chainwalk/chainwalk/netfilter"
	"github.com/chainwalk/chainwalk/packetsim"
	"github.com/chainwalk/chainwalk/packetsim/conntrack"
	"github.com/chainwalk/chainwalk/packetsim/inet"
)

// kernel is the side that is right: the lab, or its answer from a file.
type kernel interface {
	// begin loads the rules into a node without connections.
	begin(c *walkCase) (own, beside toolrun.Run, err error)
	// send sends a packet from the place. What is still on its way is awaited for a while, unless enough says that all is there.
	send(from string, p inet.Packet, enough func(*observation) bool) (*observation, error)
	// connections are the tracked connections as connectionLines spells them.
	connections() ([]string, error)
	forget() error
	end() (*endState, error)
	// disturbed says what else the machine did while the case was played, so that its answer may be another one; empty: nothing.
	disturbed() string
}

// recorded is the kernel's answer in a case.
type recorded struct {
	answer *kernelAnswer
	next   int
}

func (r *recorded) begin(*walkCase) (own, beside toolrun.Run, err error) {
	return r.answer.Restore, r.answer.OtherRestore, nil
}

func (r *recorded) send(string, inet.Packet, func(*observation) bool) (*observation, error) {
	if r.next >= len(r.answer.Sends) {
		return nil, fmt.Errorf("the recorded answer has only %d packets", len(r.answer.Sends))
	}
	r.next++
	return &r.answer.Sends[r.next-1], nil
}

func (r *recorded) connections() ([]string, error) { return r.answer.Sends[r.next-1].Connections, nil }

// forget passes over the answer of a send that was none.
func (r *recorded) forget() error {
	r.next++
	return nil
}

func (r *recorded) end() (*endState, error) { return &r.answer.endState, nil }

func (r *recorded) disturbed() string { return "" }

// emptyRules take every rule away, and make the tables be there.
const emptyRules = "*raw\nCOMMIT\n*mangle\nCOMMIT\n*nat\nCOMMIT\n*filter\nCOMMIT\n"

// seenText is a packet as it came out on a side of the node.
func seenText(place string, p *inet.Packet) string {
	return place + ": " + packetText(p)
}

// packetText has every header field that is compared.
func packetText(p *inet.Packet) string {
	plain := *p
	plain.Mark, plain.Length = 0, 0
	plain.SetHopLimit(p.HopLimit())
	text := inet.Input{Packet: plain}.String()
	if p.TOS != 0 {
		text += fmt.Sprintf(" tos %#x", p.TOS)
	}
	if p.MSS != 0 {
		text += fmt.Sprintf(" mss %d", p.MSS)
	}
	if p.Inner != nil {
		text += " quoting (" + packetText(p.Inner) + ")"
	}
	return text
}

func sortedLines(text string) []string {
	lines := strings.Split(strings.TrimSuffix(text, "\n"), "\n")
	sort.Strings(lines)
	return lines
}

// passing are the fields of a connection that are not compared.
var passing = []string{"use", "timeout", "stream_timeout", "srckey", "dstkey"}

// connectionLines are the lines of "conntrack -L" without what changes from run to run, sorted.
func connectionLines(list string) []string {
	var lines []string
	for line := range strings.Lines(list) {
		words := strings.Fields(line)
		if len(words) < 5 || !strings.Contains(line, " src=") {
			continue
		}
		kept, zones := []string{protocolName(words[1]), roundTimeout(words[2])}, []string(nil)
		for _, w := range words[3:] {
			switch name, _, _ := strings.Cut(w, "="); {
			case w == "mark=0" || slices.Contains(passing, name):
			case strings.HasPrefix(name, "zone"):
				zones = append(zones, w)
			default:
				kept = append(kept, w)
			}
		}
		kept = append(kept, zones...)
		lines = append(lines, strings.Join(kept, " "))
	}
	sort.Strings(lines)
	return lines
}

func protocolName(number string) string {
	n, err := strconv.ParseUint(number, 10, 8)
	if err != nil {
		return number
	}
	return inet.Proto(n).String()
}

// roundTimeout takes the seconds away that may have passed: on a busy machine a case takes some.
func roundTimeout(seconds string) string {
	n, err := strconv.Atoi(seconds)
	if err != nil {
		return seconds
	}
	step := 5
	if n > 20 { // where all timeouts are multiples of ten
		step = 10
	}
	return strconv.Itoa((n + step - 1) / step * step)
}

// hostConnectionLines are the connections of a walk's host as connectionLines spells the kernel's.
func hostConnectionLines(h *packetsim.Host, f netfilter.Family, real func(conntrack.Tuple) conntrack.Tuple) []string {
	var lines []string
	for _, e := range h.Conntrack() {
		if e.Original.Dst.Is6() != (f == netfilter.IPv6) {
			continue
		}
		words := []string{e.Original.Proto.String(), roundTimeout(strconv.Itoa(int(e.Timeout)))}
		if e.State != "" {
			words = append(words, e.State)
		}
		words = append(words, tupleText(real(e.Original))+countsText(&e, 0))
		if !e.Replied {
			words = append(words, "[UNREPLIED]")
		}
		words = append(words, tupleText(real(e.Reply))+countsText(&e, 1))
		if e.Assured {
			words = append(words, "[ASSURED]")
		}
		if e.Mark != 0 {
			words = append(words, fmt.Sprintf("mark=%d", e.Mark))
		}
		if e.Helper != "" {
			words = append(words, "helper="+e.Helper)
		}
		words = append(words, zoneWords(e.Zone)...)
		lines = append(lines, strings.Join(words, " "))
	}
	slices.Sort(lines)
	return lines
}

func zoneWords(z conntrack.Zone) []string {
	switch {
	case z == (conntrack.Zone{}):
		return nil
	case z.Original == z.Reply:
		return []string{fmt.Sprintf("zone=%d", z.Original)}
	case z.Original != 0:
		return []string{fmt.Sprintf("zone-orig=%d", z.Original)}
	}
	return []string{fmt.Sprintf("zone-reply=%d", z.Reply)}
}

// countsText is what conntrack prints behind the tuple of a direction, if packets are counted.
func countsText(e *conntrack.Entry, direction int) string {
	if !e.Counted {
		return ""
	}
	return fmt.Sprintf(" packets=%d bytes=%d", e.Packets[direction], e.Bytes[direction])
}

func tupleText(t conntrack.Tuple) string {
	s := fmt.Sprintf("src=%s dst=%s", t.Src, t.Dst)
	switch {
	case t.Proto.HasPorts():
		s += fmt.Sprintf(" sport=%d dport=%d", t.SrcPort, t.DstPort)
	case t.Proto == inet.ICMP || t.Proto == inet.ICMPv6:
		s += fmt.Sprintf(" type=%d code=%d id=%d", t.ICMPType, t.ICMPCode, t.ICMPID)
	}
	return s
}
