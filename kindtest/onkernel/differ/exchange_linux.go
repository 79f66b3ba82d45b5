package differ

import (
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"github.com/chainwalk/chainwalk/internal/quiet"
	"github.com/chainwalk/chainwalk/internal/wire"
	"github.com/chainwalk/chainwalk/kindtest/internal/toolrun"
	"github.com/chainwalk/chainwalk/netfilter"
	"github.com/chainwalk/chainwalk/packetsim/inet"
)

// labKernel is the lab as the side that is right.
type labKernel struct {
	*lab
	current *walkCase
	family  netfilter.Family
	began   time.Time
	// hasNative: the node has tables of nft.
	hasNative bool
	crossed   bool // a packet was on its way for longer than a tick of the kernel's clock, where that matters
}

// begin loads a case into the node.
func (k *labKernel) begin(c *walkCase) (own, beside toolrun.Run, err error) {
	family, err := c.family()
	if err != nil {
		return own, beside, err
	}
	k.current = c
	if err := k.clear(family); err != nil {
		return own, beside, err
	}
	k.family, k.mixed = family, c.OtherRules != ""
	if err := k.objects(c); err != nil {
		return own, beside, err
	}
	if err := k.startAnew(); err != nil {
		return own, beside, err
	}
	own, beside = restoreBoth(c, func(d netfilter.Dialect, rules string) toolrun.Run {
		if c.NFT != "" && d == c.Dialect {
			run, failed := runIn(k.node, []string{"nft", "-f", "-"}, c.NFT)
			err = errors.Join(err, failed)
			return run
		}
		run, failed := runIn(k.node, []string{tool("iptables-restore", d, family)}, rules)
		err = errors.Join(err, failed)
		return run
	})
	if err != nil || own.Status != 0 || beside.Status != 0 {
		return own, beside, err
	}
	if err := k.forget(); err != nil {
		return own, beside, err
	}
	if err := k.tracer.prepare(family); err != nil {
		return own, beside, err
	}
	k.crossed, k.began = false, time.Now()
	return own, beside, k.hear(&heard{})
}

// clear takes the rules of the case before away. The other family's would hold sets and connection tracking.
func (k *labKernel) clear(family netfilter.Family) error {
	var dialects []netfilter.Dialect
	if had := k.hasNative; had || k.current.NFT != "" {
		if _, err := k.node.Output([]string{"nft", "flush", "ruleset"}, ""); err != nil {
			return err
		}
	}
	if k.hasNative = k.current.NFT != ""; !k.hasNative {
		dialects = append(dialects, k.dialect)
	}
	if k.mixed || k.current.OtherRules != "" {
		dialects = append(dialects, k.current.other())
	}
	for _, d := range dialects {
		for _, f := range []netfilter.Family{netfilter.IPv4, netfilter.IPv6} {
			if k.family == family && f != family {
				continue
			}
			if _, err := k.node.Output([]string{tool("iptables-restore", d, f)}, emptyRules); err != nil {
				return err
			}
		}
	}
	return nil
}

// objects makes what rules refer to. The rules of the case before are gone.
func (k *labKernel) objects(c *walkCase) error {
	if len(c.NFAcct) > 0 {
		if err := k.untilFreed(func() error { return k.accounts(c.NFAcct) }); err != nil {
			return err
		}
	}
	if c.Sets == "" {
		return nil
	}
	if _, err := k.node.Output([]string{"ipset", "flush"}, ""); err != nil { // lists hold their sets
		return err
	}
	err := k.untilFreed(func() error {
		_, err := k.node.Output([]string{"ipset", "destroy"}, "")
		return err
	})
	if err != nil {
		return err
	}
	_, err = k.node.Output([]string{"ipset", "restore"}, c.Sets)
	return err
}

// untilFreed tries again for a while: rules of nft are freed a little after they are gone, and hold what they refer to until then.
func (k *labKernel) untilFreed(try func() error) error {
	for until := time.Now().Add(2 * time.Second); ; time.Sleep(5 * time.Millisecond) {
		if err := try(); err == nil || time.Now().After(until) {
			return err
		}
	}
}

// accounts makes accounting objects anew. One that a rule refers to stays, and cannot be made.
func (k *labKernel) accounts(names []string) error {
	if _, err := k.node.Output([]string{"nfacct", "flush"}, ""); err != nil {
		return err
	}
	for _, name := range names {
		if _, err := k.node.Output([]string{"nfacct", "add", name}, ""); err != nil {
			return err
		}
	}
	return nil
}

func (k *labKernel) tool(name, stdin string, args ...string) (string, error) {
	return k.node.Output(append([]string{tool(name, k.dialect, k.family)}, args...), stdin)
}

// startAnew undoes what a case leaves behind: after a rule with -m connbytes the kernel goes on to count the packets of connections, and
// after an ICMP error it knows a smaller MTU of a route, which -j TCPMSS asks for.
func (k *labKernel) startAnew() error {
	const commands = "echo 0 >/proc/sys/net/netfilter/nf_conntrack_acct; echo 1 >/proc/sys/net/ipv4/route/flush"
	_, err := k.node.Output([]string{"sh", "-c", commands}, "")
	return err
}

// forget has the node forget connections, and what ICMP errors have said of paths: -j TCPMSS --clamp-mss-to-pmtu asks for that.
func (k *labKernel) forget() error {
	for _, family := range []string{"ipv4", "ipv6"} {
		if err := k.node.SetSysctl("net."+family+".route.flush", "1"); err != nil {
			return err
		}
	}
	_, err := k.node.Output([]string{"conntrack", "-F"}, "")
	return err
}

func (k *labKernel) connections() ([]string, error) {
	list, err := k.node.Output([]string{"conntrack", "-L", "-f", fmt.Sprintf("ipv%d", k.family)}, "")
	return connectionLines(list), err
}

func (k *labKernel) end() (*endState, error) {
	save, err := k.tool("iptables-save", "", "-c")
	if err != nil {
		return nil, err
	}
	connections, err := k.connections()
	if err != nil {
		return nil, err
	}
	e := &endState{Save: toolrun.WithoutDates(save), Conntrack: connections}
	if k.current.OtherRules != "" {
		beside, err := k.node.Output([]string{tool("iptables-save", k.current.other(), k.family), "-c"}, "")
		if err != nil {
			return nil, err
		}
		e.OtherSave = toolrun.WithoutDates(beside)
	}
	if len(k.current.NFAcct) > 0 {
		list, err := k.node.Output([]string{"nfacct", "list"}, "")
		if err != nil {
			return nil, err
		}
		e.NFAcct = sortedLines(list)
	}
	return e, nil
}

// Sending usually returns after the packet went all its way. patience is how long its traces are awaited at least, with a look at each
// pause.
const (
	patience = 300 * time.Millisecond
	pause    = 5 * time.Millisecond
)

// send sends a packet and hears what became of it.
func (k *labKernel) send(from string, p inet.Packet, enough func(*observation) bool) (*observation, error) {
	if k.nextID++; k.nextID < 0x4000 {
		k.nextID = 0x4000
	}
	id := uint32(k.nextID)
	began, err := k.awaitTick()
	if err != nil {
		return nil, err
	}
	if err := k.transmit(from, p, k.nextID); err != nil {
		return nil, fmt.Errorf("sending %s: %w", packetText(&p), err)
	}
	all, waited, over := &heard{}, quiet.Patience{Least: patience}, false
	for {
		before := len(all.lines)
		if err := k.hear(all); err != nil {
			return nil, err
		}
		if len(all.lines) > before {
			if err := k.watchTick(began); err != nil {
				return nil, err
			}
		}
		o := all.observation(id)
		if over || enough(o) {
			return o, nil
		}
		if over, err = waited.Over(pause); err != nil {
			return nil, err
		}
		time.Sleep(pause)
	}
}

// heard is what is known of a packet so far.
type heard struct {
	lines []traceLine
	seen  []string
}

// hear reads what is there.
func (k *labKernel) hear(all *heard) error {
	lines, err := k.tracer.read()
	if err != nil {
		return err
	}
	all.lines = append(all.lines, lines...)
	for _, s := range k.sides {
		seen, err := s.hear()
		if err != nil {
			return err
		}
		all.seen = append(all.seen, seen...)
	}
	return nil
}

// observation sorts the lines into those of the packet with the identification and those of others, which it caused. In nft copies of it,
// which have the same identification, are of other groups, and begin in OUTPUT.
// If the packet came in, all groups but the first are of copies.
func (h *heard) observation(id uint32) *observation {
	o := &observation{Seen: slices.Sorted(slices.Values(h.seen))}
	var groups []uint32
	replies, copies := map[uint32][]string{}, map[uint32]bool{}
	cameIn := false
	for _, l := range h.lines {
		if _, known := copies[l.group]; l.group != 0 && l.id == id && !known {
			copies[l.group] = len(copies) > 0 && (cameIn || strings.HasPrefix(l.text, "raw:OUTPUT:"))
			cameIn = cameIn || len(copies) == 1 && strings.HasPrefix(l.text, "raw:PREROUTING:")
		}
		if l.id == id && !copies[l.group] {
			o.Steps = append(o.Steps, l.text)
			continue
		}
		if _, known := replies[l.group]; !known {
			groups = append(groups, l.group)
		}
		replies[l.group] = append(replies[l.group], l.text+l.made)
	}
	for _, g := range groups {
		o.Replies = append(o.Replies, replies[g]...)
	}
	return o
}

// transmit puts a packet on the wire of client or server, or on a raw socket of the node.
func (k *labKernel) transmit(from string, p inet.Packet, id uint16) error {
	data := wire.Encode(&p, wire.Fields{ID: id})
	if from == nodePlace {
		return k.transmitRaw(p, data)
	}
	s := k.sides[from]
	if s == nil {
		return fmt.Errorf("unknown place %q", from)
	}
	to, _ := frameTo(from, p.Dst)
	return unix.Sendto(s.fd, data, 0, wire.LinkAddress(data, s.index, to))
}

func (k *labKernel) transmitRaw(p inet.Packet, data []byte) error {
	to := unix.Sockaddr(&unix.SockaddrInet6{Addr: p.Dst.As16()})
	if p.Dst.Is4() {
		to = &unix.SockaddrInet4{Addr: p.Dst.As4()}
	}
	fd := k.raw[k.family]
	if err := unix.SetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_MARK, int(p.Mark)); err != nil {
		return err
	}
	if err := k.bindSource(fd, &p); err != nil {
		return err
	}
	err := unix.Sendto(fd, data, 0, to)
	for _, refused := range []unix.Errno{unix.EPERM, unix.ENETUNREACH, unix.EHOSTUNREACH, unix.EACCES, unix.EINVAL} {
		if errors.Is(err, refused) { // dropped in OUTPUT, or no route: the walk has to say so as well
			return nil
		}
	}
	return err
}

// bindSource binds the socket to the packet's source, or to none. The kernel sends by the device of that address what goes to a group or to
// everybody, and does not look for a route.
func (k *labKernel) bindSource(fd int, p *inet.Packet) error {
	source := netip.IPv4Unspecified()
	if p.Src.Is4() && k.isNodes(p.Src) && leadsBySource(p.Dst) {
		source = p.Src
	}
	if p.Src.Is6() {
		return nil
	}
	return unix.Bind(fd, &unix.SockaddrInet4{Addr: source.As4()})
}

func (k *labKernel) isNodes(a netip.Addr) bool { return slices.Contains(worlds[k.family].node, a) }

// hear reads the packets that came to the side.
func (s *side) hear() ([]string, error) {
	var seen []string
	buf := make([]byte, 2048)
	for {
		n, from, err := unix.Recvfrom(s.fd, buf, 0)
		switch err {
		case nil:
		case unix.EAGAIN:
			return seen, nil
		default:
			return nil, fmt.Errorf("%s: %w", s.name, err)
		}
		link, ok := from.(*unix.SockaddrLinklayer)
		if !ok || link.Pkttype == unix.PACKET_OUTGOING {
			continue
		}
		p, _, err := wire.Decode(buf[:n])
		if err == nil && !isUnasked(p.Proto, p.ICMPType) {
			seen = append(seen, seenText(s.name, &p))
		}
	}
}

// isUnasked is for what the kernel sends by itself: reports of the groups that it is in, which in IPv6 have a header of hop-by-hop options
// first, and what IPv6 says to find neighbours.
func isUnasked(proto inet.Proto, icmpType uint8) bool {
	return proto == unix.IPPROTO_IGMP || proto == unix.IPPROTO_HOPOPTS || proto == inet.ICMPv6 && icmpType >= 130 && icmpType <= 143
}
