package differ

import (
	"fmt"
	"net/netip"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/chainwalk/chainwalk/packetsim"
	"github.com/chainwalk/chainwalk/packetsim/conntrack"
	"github.com/chainwalk/chainwalk/packetsim/inet"
)

// conversation is the side whose port the kernel chose, as the walk has it, and the other side. In ICMP the identifier stands for the
// chosen port, and the other one is 0.
type conversation struct{ chosen, peer netip.AddrPort }

// conversationOf is that of a packet whose source port is chosen.
func conversationOf(p *inet.Packet) conversation {
	return conversation{sourceOf(p), netip.AddrPortFrom(p.Dst, p.DstPort)}
}

// conversationOfEntry is that of a connection whose source the kernel translates.
func conversationOfEntry(e *conntrack.Entry) conversation {
	if isEcho(e.Original.Proto) {
		return echoOf(e.Reply.Dst, e.Reply.Src, e.Reply.ICMPID)
	}
	return conversation{netip.AddrPortFrom(e.Reply.Dst, e.Reply.DstPort), netip.AddrPortFrom(e.Reply.Src, e.Reply.SrcPort)}
}

func echoOf(from, to netip.Addr, id uint16) conversation {
	return conversation{netip.AddrPortFrom(from, id), netip.AddrPortFrom(to, 0)}
}

func isEcho(p inet.Proto) bool { return p == inet.ICMP || p == inet.ICMPv6 }

// learn notes the source ports that the kernel chose.
func (j *judging) learn(ours []seen, kernel []string) {
	for i, port := range j.matchSeen(ours, kernel) {
		if ours[i].chosen || len(j.sourcePorts(sourceOf(&ours[i].packet))) > 1 {
			j.ports[conversationOf(&ours[i].packet)] = port
		}
	}
}

// learnUnseen asks the kernel for the ports that it chose and no packet showed, since it stayed on lo.
func (j *judging) learnUnseen() error {
	var unknown []conntrack.Entry
	for _, e := range j.host.Conntrack() {
		if j.isUnknown(&e) {
			unknown = append(unknown, e)
		}
	}
	if len(unknown) == 0 {
		return nil
	}
	lines, err := j.connections()
	if err != nil {
		return err
	}
	for i := range unknown {
		e := &unknown[i]
		if port, found := chosenIn(lines, tupleText(j.realTuple(e.Original)), zoneWords(e.Zone)); found {
			j.ports[conversationOfEntry(e)] = port
		} else {
			j.lost = append(j.lost, conversationOfEntry(e).chosen.Port())
		}
	}
	return nil
}

// rememberedPort is a native rule that puts ports into a set.
var rememberedPort = regexp.MustCompile(`(?:add|update) @\w+ \{[^}\n]*dport`)

// remembersLost ends the case where a rule has put into a set a port that the kernel had drawn and nobody has learned, since its connection
// was gone at once: what the packet has now is the walk's own choice.
func (j *judging) remembersLost(p *inet.Packet) bool {
	if !rememberedPort.MatchString(j.c.NFT) || !slices.Contains(j.lost, p.SrcPort) && !slices.Contains(j.lost, p.DstPort) {
		return false
	}
	j.v.Refused, j.apart = "a set remembers a port that the kernel has drawn for a connection that is gone", true
	return true
}

// connections asks the kernel for its connections and keeps them with the answer.
func (j *judging) connections() ([]string, error) {
	lines, err := j.real.connections()
	j.v.Answer.Sends[len(j.v.Answer.Sends)-1].Connections = lines
	return lines, err
}

// settle finds out which of several outcomes the kernel took that look alike, since the packet was delivered to a port that was drawn.
func (j *judging) settle(outcomes []packetsim.Outcome, obs *observation, first int) (int, error) {
	var alike []int
	for n := range outcomes {
		if o := &outcomes[n]; o.To == packetsim.ToLocal && j.fits(o, obs, false) {
			alike = append(alike, n)
		}
	}
	if len(alike) < 2 {
		return first, nil
	}
	lines, err := j.connections()
	if err != nil {
		return first, err
	}
	for _, n := range alike {
		p := &outcomes[n].Packet
		answers := fmt.Sprintf(" src=%s dst=%s sport=%d ", p.Dst, p.Src, p.DstPort)
		if slices.ContainsFunc(lines, func(line string) bool { return strings.Contains(line, answers) }) {
			return n, nil
		}
	}
	return first, nil // the connection is gone again
}

// isUnknown is for connections whose source port or ICMP identifier is the walk's choice, and the kernel's is not known.
func (j *judging) isUnknown(e *conntrack.Entry) bool {
	_, known := j.ports[conversationOfEntry(e)]
	return !known && j.isDrawn(e)
}

// isDrawn is for connections whose source port or ICMP identifier is the walk's choice.
func (j *judging) isDrawn(e *conntrack.Entry) bool {
	if isEcho(e.Original.Proto) {
		return e.Reply.ICMPID != e.Original.ICMPID
	}
	port := e.Reply.DstPort
	return port != e.Original.SrcPort && (j.ranged(port) || !j.mentions(strconv.Itoa(int(port))))
}

// drawnTwice reports whether the walk has drawn one port for two connections with one other side, as it may in two zones. What the kernel
// has drawn for each cannot be told apart then.
func (j *judging) drawnTwice() bool {
	known := map[conversation]bool{}
	for _, e := range j.host.Conntrack() {
		c := conversationOfEntry(&e)
		if j.isDrawn(&e) && known[c] {
			return true
		}
		known[c] = known[c] || j.isDrawn(&e)
	}
	return false
}

// drawsTwice reports whether a packet that looks otherwise than the kernel's does so because it begins a second such connection, and ends
// the case then.
func (j *judging) drawsTwice(in inet.Input, outcomes []packetsim.Outcome, obs *observation) (bool, error) {
	known := j.ports
	j.ports = map[conversation]uint16{}
	n := j.pick(outcomes, obs, false)
	j.ports = known
	if n < 0 {
		return false, nil
	}
	if _, err := j.host.Step(in, newGuide(outcomes, n)); err != nil || !j.drawnTwice() {
		return false, err
	}
	j.endOfPorts()
	return true, nil
}

// endOfPorts ends the case: what the kernel has drawn for which connection is not known any more.
func (j *judging) endOfPorts() {
	j.v.Refused, j.apart = "the walk has drawn one port for connections of two zones, and the kernel one for each", true
}

// hashesDrawn ends the case where a packet met -j HMARK and the kernel has drawn another port than the walk: a hash of the port is
// another one.
func (j *judging) hashesDrawn(obs *observation) bool {
	lines := rulesByPlace(j.c.Rules)
	met := slices.ContainsFunc(slices.Concat(obs.Steps, obs.Replies), func(step string) bool {
		return strings.Contains(lines[placeOfStep(step)], "-j HMARK ")
	})
	if !met {
		return false
	}
	for _, e := range j.host.Conntrack() {
		if port, known := j.ports[conversationOfEntry(&e)]; j.isDrawn(&e) && (!known || port != conversationOfEntry(&e).chosen.Port()) {
			j.v.Refused, j.apart = "a rule hashes a port that the kernel has drawn", true
			return true
		}
	}
	return false
}

// tellsDrawn ends the case where the packet has a port that the kernel has drawn otherwise than the walk, and a native rule may tell the
// two ports apart: by a number between them, or by a hash.
func (j *judging) tellsDrawn(p *inet.Packet) bool {
	for _, e := range j.host.Conntrack() {
		c := conversationOfEntry(&e)
		ours := c.chosen.Port()
		if !j.isDrawn(&e) || ours != p.SrcPort && ours != p.DstPort {
			continue
		}
		if kernel, known := j.ports[c]; kernel != ours && (!known || strings.Contains(j.c.NFT, "jhash") || partsPorts(j.c.NFT, kernel, ours)) {
			j.v.Refused, j.apart = "a rule tells the port that the kernel has drawn from the one of the walk", true
			return true
		}
	}
	return false
}

// countedByChance is a native rule in which chance decides whether the kernel counts something that later packets meet.
var countedByChance = regexp.MustCompile(`(?:meta random|numgen random)[^\n]* (?:numgen inc|limit|quota|ct count|add @|update @|delete @)`)

// countsByChance ends the case if there is such a rule: where it does not match after all, no trace shows whether it has counted.
func (j *judging) countsByChance() bool {
	if !countedByChance.MatchString(j.c.NFT) {
		return false
	}
	j.v.Refused, j.apart = "chance decides on what a rule counts, which no trace shows", true
	return true
}

// number is a number in a ruleset.
var number = regexp.MustCompile(`\b\d+\b`)

// partsPorts says whether a number of the rules is between two ports.
func partsPorts(rules string, a, b uint16) bool {
	return slices.ContainsFunc(number.FindAllString(rules, -1), func(text string) bool {
		n, err := strconv.ParseUint(text, 10, 16)
		return err == nil && uint64(min(a, b)) <= n && n <= uint64(max(a, b))
	})
}

// ranged says whether the port is of a range in the rules.
func (j *judging) ranged(port uint16) bool {
	for _, text := range portRange.FindAllString(j.c.Rules, -1) {
		low, high, _ := strings.Cut(strings.TrimPrefix(text, ":"), "-")
		from, err := strconv.ParseUint(low, 10, 16)
		to, err2 := strconv.ParseUint(high, 10, 16)
		if err == nil && err2 == nil && from <= uint64(port) && uint64(port) <= to {
			return true
		}
	}
	return false
}

// chosenPort is the last port of a connection's line, which replies are sent to.
var chosenPort = regexp.MustCompile(`.* (?:dport|id)=(\d+)`)

// chosenIn finds the port that the kernel chose for the connection with that original tuple.
func chosenIn(lines []string, original string, zone []string) (port uint16, found bool) {
	for _, line := range lines {
		words := strings.Fields(line)
		zones := slices.DeleteFunc(slices.Clone(words), func(w string) bool { return !strings.HasPrefix(w, "zone") })
		if m := chosenPort.FindStringSubmatch(line); m != nil && strings.Contains(line, " "+original+" ") && slices.Equal(zones, zone) {
			n, err := strconv.ParseUint(m[1], 10, 16)
			return uint16(n), err == nil
		}
	}
	return 0, false
}

// forgetPorts drops the ports of connections that are no more: the next one between the same addresses gets another.
func (j *judging) forgetPorts() {
	if len(j.ports) == 0 {
		return
	}
	kept := map[conversation]uint16{}
	for _, e := range j.host.Conntrack() {
		c := conversationOfEntry(&e)
		if port, known := j.ports[c]; known {
			kept[c] = port
		}
	}
	j.ports = kept
}

// realPacket is a packet of the walk with the ports that the kernel chose.
func (j *judging) realPacket(p inet.Packet) inet.Packet {
	p.SrcPort, p.DstPort = j.realPorts(p.Src, p.SrcPort, p.Dst, p.DstPort)
	if p.Inner != nil {
		inner := j.realPacket(*p.Inner)
		p.Inner = &inner
	} else if isEcho(p.Proto) {
		p.ICMPID = j.realID(p.Src, p.Dst, p.ICMPID)
	}
	return p
}

func (j *judging) realTuple(t conntrack.Tuple) conntrack.Tuple {
	if isEcho(t.Proto) {
		t.ICMPID = j.realID(t.Src, t.Dst, t.ICMPID)
	}
	t.SrcPort, t.DstPort = j.realPorts(t.Src, t.SrcPort, t.Dst, t.DstPort)
	return t
}

// realPorts replaces either port by the one that the kernel chose for it.
func (j *judging) realPorts(src netip.Addr, sport uint16, dst netip.Addr, dport uint16) (realSrc, realDst uint16) {
	from, to := netip.AddrPortFrom(src, sport), netip.AddrPortFrom(dst, dport)
	if port, ok := j.ports[conversation{from, to}]; ok {
		return port, dport
	}
	if port, ok := j.ports[conversation{to, from}]; ok {
		return sport, port
	}
	return j.sourcePort(from), j.sourcePort(to)
}

func sourceOf(p *inet.Packet) netip.AddrPort { return netip.AddrPortFrom(p.Src, p.SrcPort) }

// sourcePorts are the ports that the kernel chose for the address and port in the known conversations: what one source is translated to is
// used again for other peers (find_appropriate_src). They are several where the walk has chosen one port for two sources.
func (j *judging) sourcePorts(ours netip.AddrPort) []uint16 {
	var ports []uint16
	for c, real := range j.ports {
		if c.chosen == ours && c.peer.Port() != 0 && !slices.Contains(ports, real) {
			ports = append(ports, real)
		}
	}
	slices.Sort(ports)
	return ports
}

// sourcePort is the one port that the kernel chose for the address and port, or the port itself.
func (j *judging) sourcePort(ours netip.AddrPort) uint16 {
	if ports := j.sourcePorts(ours); len(ports) == 1 {
		return ports[0]
	}
	return ours.Port()
}

// realID replaces an ICMP identifier by the one that the kernel chose for it.
func (j *judging) realID(src, dst netip.Addr, id uint16) uint16 {
	if real, ok := j.ports[echoOf(src, dst, id)]; ok {
		return real
	}
	if real, ok := j.ports[echoOf(dst, src, id)]; ok {
		return real
	}
	return id
}

// portField is a port of a connection's line, or what stands for it in ICMP.
var portField = regexp.MustCompile(`\b(sport|dport|id)=(\d+)`)

// knownPorts takes the ports out of the lines that no rule and no packet of the case mentions: the kernel chose them.
func (j *judging) knownPorts(lines []string) []string {
	var known []string
	for _, line := range lines {
		known = append(known, portField.ReplaceAllStringFunc(line, func(field string) string {
			name, port, _ := strings.Cut(field, "=")
			if port == "0" || j.mentions(port) {
				return field
			}
			return name + "=chosen"
		}))
	}
	slices.Sort(known)
	return known
}

// portRange is a range that the kernel chooses from.
var portRange = regexp.MustCompile(`:?\d+-\d+\b`)

// mentions says whether the number stands in the rules or the packets of the case, other than as the end of a range.
func (j *judging) mentions(number string) bool {
	word := regexp.MustCompile(`\b` + number + `\b`)
	return word.MatchString(portRange.ReplaceAllString(j.c.Rules, "")) ||
		slices.ContainsFunc(j.c.Sends, func(s send) bool { return word.MatchString(s.Packet) })
}
