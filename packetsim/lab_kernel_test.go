//go:build linux

package packetsim

import (
	"encoding/binary"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/chainwalk/chainwalk/internal/kerneltest"
	"github.com/chainwalk/chainwalk/internal/nfnetlink"
	"github.com/chainwalk/chainwalk/internal/quiet"
	"github.com/chainwalk/chainwalk/netfilter"
	"github.com/chainwalk/chainwalk/packetsim/inet"
)

// emptyRules take every rule away.
const emptyRules = "*raw\nCOMMIT\n*mangle\nCOMMIT\n*nat\nCOMMIT\n*filter\nCOMMIT\n"

// serverMTU is the MTU of the node's device to the server.
const serverMTU = 1400

// kernelLab is a node between a client and a server, each a network namespace. Client and server drop what they
// get, so that only crafted packets are on the way.
type kernelLab struct {
	t       *testing.T
	reports *nfnetlink.Socket // of the node
	places  map[string]*kerneltest.Namespace
}

// newPlaces makes the lab's namespaces, in which nothing but lo is up.
func newPlaces(t *testing.T) *kernelLab {
	kerneltest.Need(t, "ip", "bridge", "sysctl", "conntrack", "ipset", "iptables-legacy", "ip6tables-legacy", "iptables-legacy-restore",
		"ip6tables-legacy-restore")
	lab := &kernelLab{t: t, places: map[string]*kerneltest.Namespace{}}
	for _, place := range []string{"node", "client", "server"} {
		lab.places[place] = kerneltest.New(t)
		lab.run(place, "ip", "link", "set", "lo", "up")
	}
	return lab
}

func newKernelLab(t *testing.T) *kernelLab {
	lab := newPlaces(t)
	lab.sysctl("net.ipv6.conf.all.forwarding", "1")
	for place, subnet := range map[string]string{"client": "1", "server": "2"} {
		dev := "cwps" + place[:1]
		lab.run("node", "ip", "link", "add", dev, "type", "veth", "peer", "name", "eth0", "netns", lab.places[place].Path())
		lab.run("node", "ip", "addr", "add", "10.77."+subnet+".1/24", "dev", dev)
		// Whatever address is behind the device, nobody is asked for it: an answer that is missing would be told of seconds later.
		lab.run("node", "ip", "link", "set", dev, "address", nodeMAC(place).String(), "arp", "off", "up")
		lab.run(place, "ip", "addr", "add", "10.77."+subnet+".2/24", "dev", "eth0")
		lab.run(place, "ip", "link", "set", "eth0", "up")
		lab.run(place, "ip", "route", "add", "default", "via", "10.77."+subnet+".1")
		lab.run(place, "ip", "link", "set", "eth0", "address", placeMAC(place).String())
		lab.run("node", "ip", "addr", "add", "fd77:"+subnet+"::1/64", "dev", dev, "nodad")
		lab.run("node", "ip", "neigh", "replace", "fd77:"+subnet+"::2", "lladdr", placeMAC(place).String(), "dev", dev, "nud", "permanent")
		for _, tool := range []string{"iptables-legacy", "ip6tables-legacy"} {
			lab.run(place, tool, "-t", "raw", "-A", "PREROUTING", "-j", "DROP")
		}
		if place == "server" {
			lab.run("node", "ip", "link", "set", dev, "mtu", strconv.Itoa(serverMTU))
		}
		lab.sysctl("net.ipv4.conf."+dev+".rp_filter", "0")
		lab.sysctl("net.ipv4.conf."+dev+".send_redirects", "0")
	}
	lab.run("node", "ip", "route", "add", "10.99.0.0/16", "via", "10.77.2.2")
	lab.run("node", "ip", "route", "add", "fd99::/16", "via", "fd77:2::2")
	lab.run("node", "ip", "route", "add", "10.95.0.0/16", "via", "10.77.2.2")
	lab.run("node", "ip", "route", "add", "10.95.0.0/16", "dev", "cwpsc", "table", "95")
	lab.run("node", "ip", "neigh", "replace", "10.95.0.2", "lladdr", placeMAC("client").String(), "dev", "cwpsc", "nud", "permanent")
	lab.run("node", "ip", "rule", "add", "fwmark", "95", "table", "95", "priority", "95")
	lab.run("node", "ip", "route", "add", "blackhole", "10.97.0.0/16")
	lab.run("node", "ip", "route", "add", "prohibit", "10.96.0.0/16")
	lab.addRoutes()
	lab.sysctl("net.ipv4.ip_forward", "1")
	lab.sysctl("net.ipv4.conf.all.rp_filter", "0")
	lab.sysctl("net.ipv4.conf.all.send_redirects", "0") // redirects are not imitated
	lab.sysctl("net.ipv4.conf.cwpsc.route_localnet", "1")
	lab.sysctl("net.ipv4.icmp_ratemask", "0") // no ICMP message is held back for its rate
	lab.openLog()
	return lab
}

// addRoutes adds the routes and rules of routeCases.
func (lab *kernelLab) addRoutes() {
	for _, command := range []string{
		"route add unreachable 10.94.0.0/16", "route add throw 10.93.0.0/16",
		"rule add iif cwpss to 10.99.3.0/24 priority 96 prohibit",
		"route add 10.89.1.0/24 via 10.77.2.2 realms 7/5", "route add 10.89.2.0/24 via 10.77.1.2 realms 6",
		"route add 10.89.3.0/24 via 10.77.2.2",
		"route add 10.91.0.0/16 nexthop via 10.77.2.2 dev cwpss weight 1 nexthop via 10.77.1.2 dev cwpsc weight 3",
		"-6 route add blackhole fd97::/16", "-6 route add prohibit fd96::/16", "-6 route add unreachable fd94::/16",
		"-6 route add fd95::/16 via fd77:2::2", "-6 route add fd95::/16 dev cwpsc table 95", "-6 rule add fwmark 95 table 95 priority 95",
		"-6 rule add iif cwpss to fd99:3::/32 priority 96 blackhole",
		"-6 route add fd91::/16 nexthop via fd77:2::2 dev cwpss weight 1 nexthop via fd77:1::2 dev cwpsc weight 3",
		"-6 neigh replace fd95::2 lladdr " + placeMAC("client").String() + " dev cwpsc nud permanent",
	} {
		lab.run("node", append([]string{"ip"}, strings.Fields(command)...)...)
	}
}

// in is the lab for a subtest.
func (lab *kernelLab) in(t *testing.T) *kernelLab {
	return &kernelLab{t: t, reports: lab.reports, places: lab.places}
}

// run runs a program in a place that must not fail, and returns what it prints.
func (lab *kernelLab) run(place string, argv ...string) string {
	lab.t.Helper()
	return lab.places[place].In(lab.t).Feed("", argv...)
}

func (lab *kernelLab) sysctl(key, value string) {
	lab.run("node", "sysctl", "-qw", key+"="+value)
}

// groupSysctls sets the sysctls of the group until the test ends.
func (lab *kernelLab) groupSysctls(g kernelGroup) {
	for key, value := range g.sysctls {
		lab.sysctl(key, value)
		usual := "0"
		if key == "net.ipv4.ip_forward" {
			usual = "1"
		}
		lab.t.Cleanup(func() { lab.sysctl(key, usual) })
	}
}

func (lab *kernelLab) restore(family netfilter.Family, rules string) {
	tool := "iptables-legacy-restore"
	if family == netfilter.IPv6 {
		tool = "ip6tables-legacy-restore"
	}
	lab.t.Helper()
	lab.places["node"].In(lab.t).Feed(rules, tool)
}

// openLog lets the node's rules with TRACE report to the lab.
func (lab *kernelLab) openLog() {
	for _, s := range nfnetlink.LogSysctls() {
		lab.sysctl(s[0], s[1])
	}
	lab.within("node", func() {
		var err error
		lab.reports, err = nfnetlink.Open()
		require.NoError(lab.t, err)
	})
	lab.t.Cleanup(func() { require.NoError(lab.t, lab.reports.Close()) })
	require.NoError(lab.t, lab.reports.BindLog(func(nfnetlink.Message) error { return nil }))
}

// compare sends one packet both ways. id is its IP identification, by which its lines are known.
func (lab *kernelLab) compare(host *Host, p kernelPacket, id uint16) {
	in, err := inet.ParseInput(p.packet)
	require.NoError(lab.t, err)
	if p.inner != "" {
		inner, err := inet.ParseInput(p.inner)
		require.NoError(lab.t, err)
		in.Inner = &inner.Packet
	}
	switch p.place {
	case "node":
		in.Local, in.Socket = true, &inet.Socket{Raw: true} // of root
	case "client":
		in.In = "cwpsc"
	case "server":
		in.In = "cwpss"
	}
	if !in.Local {
		in.MAC, in.LinkType, in.Socket = inet.MAC(placeMAC(p.place)), inet.LinkUnicast, &inet.Socket{None: true}
	}
	outcomes, err := host.Walk(in)
	require.NoError(lab.t, err)
	least := len(traceLines(outcomes[0]))
	for _, o := range outcomes {
		least = min(least, len(traceLines(o)))
	}
	lab.send(p.place, in.Packet, id)
	real := lab.trace(least, id)
	if outcomes[0].To == ToLocal { // what the sockets of the node answer is not the walk's
		real = slices.DeleteFunc(real, func(line string) bool { return strings.HasPrefix(line, "reply ") })
	}
	for n, o := range outcomes {
		if slices.Equal(real, traceLines(o)) {
			_, err := host.Step(in, &fixedChance{n: n})
			require.NoError(lab.t, err)
			return
		}
	}
	require.Equal(lab.t, real, traceLines(outcomes[0]), "%s (one of %d outcomes, verdict %s %s)",
		p.packet, len(outcomes), outcomes[0].Verdict, outcomes[0].Why)
}

// fixedChance falls false until the n-th draw.
type fixedChance struct{ n int }

func (c *fixedChance) Draw(uint32) bool {
	c.n--
	return c.n < 0
}

// traceLines is what the kernel logs for an outcome: the rule with TRACE itself is logged only if the packet was traced before.
//
// The copies that TEE makes are logged behind their rules. They are traced from their start if the packet was.
func traceLines(o Outcome) []string {
	copies, replies := takeCopies(o.Replies)
	var lines []string
	for i, s := range o.Steps {
		if i > 0 || s.Table != "raw" || s.Number != 1 {
			lines = append(lines, s.String())
		}
		if s.Rule != nil && s.Rule.Fact.Other == "TEE" && len(copies) > 0 {
			for _, step := range copies[0].Outcome.Steps {
				lines = append(lines, step.String())
			}
			copies = copies[1:]
		}
	}
	for _, r := range replies {
		for _, line := range traceLines(r.Outcome) {
			lines = append(lines, "reply "+line)
		}
	}
	return lines
}

func takeCopies(all []Reply) (copies, replies []Reply) {
	for _, r := range all {
		if r.Copy {
			copies = append(copies, r)
		} else {
			replies = append(replies, r)
		}
	}
	return copies, replies
}

// pause is how long a look for more lines waits.
const pause = 10 * time.Millisecond

// trace reads the packet's lines, until there are as many as are awaited at least and no packet is on its way.
func (lab *kernelLab) trace(awaited int, id uint16) []string {
	var own, replies []string
	waited := quiet.Patience{}
	for {
		count, err := lab.reports.Receive(func(m nfnetlink.Message) error {
			r, _, err := nfnetlink.ParseLog(m)
			step, isStep := r.Step()
			switch {
			case err != nil || !isStep || isUnasked(r.Packet):
			case identification(r.Packet) == uint32(id):
				own = append(own, step)
			default:
				replies = append(replies, "reply "+step)
			}
			return err
		})
		require.NoError(lab.t, err)
		if count > 0 {
			waited.Restart()
		}
		if waited.Least = patience; len(own)+len(replies) >= awaited {
			waited.Least = pause
		}
		over, err := waited.Over(lab.wait())
		require.NoError(lab.t, err)
		if over {
			return append(own, replies...)
		}
	}
}

// patience is how long lines that are missing are awaited at least.
const patience = 300 * time.Millisecond

// wait waits for a report, but not longer than a pause. It returns the time in which there was none.
func (lab *kernelLab) wait() time.Duration {
	fds := []unix.PollFd{{Fd: int32(lab.reports.FD()), Events: unix.POLLIN}}
	if n, err := unix.Poll(fds, int(pause/time.Millisecond)); n > 0 || errors.Is(err, unix.EINTR) {
		return 0
	}
	return pause
}

// identification is that of an IPv4 packet, or the flow label of an IPv6 packet.
func identification(packet []byte) uint32 {
	if packet[0]>>4 == 6 {
		return binary.BigEndian.Uint32(packet) & 0xfffff
	}
	return uint32(binary.BigEndian.Uint16(packet[4:]))
}

// isUnasked is for the messages that IPv6 and multicast routing send on their own. Those of MLD have a header of hop-by-hop options first.
func isUnasked(packet []byte) bool {
	if packet[0]>>4 == 4 {
		return packet[9] == unix.IPPROTO_IGMP
	}
	return packet[6] == unix.IPPROTO_HOPOPTS || inet.Proto(packet[6]) == inet.ICMPv6 && packet[40] >= 130 && packet[40] <= 143
}

// connections lists the node's connections as hostConnections does.
func (lab *kernelLab) connections(g kernelGroup) []string {
	var lines []string
	list := lab.run("node", "conntrack", "-L", "-f", "ipv"+strconv.Itoa(int(g.family)))
	for line := range strings.Lines(list) {
		m := labConnection.FindStringSubmatch(line)
		if m == nil {
			continue
		}
		proto := m[1]
		if proto == "unknown" || proto == "gre" {
			proto = m[2]
		}
		text := fmt.Sprintf("%s %s:%s>%s:%s %s %s:%s>%s:%s", proto, m[5], number(m[7]), m[6], number(m[8]), proto, m[9], number(m[11]), m[10],
			number(m[12]))
		if g.states {
			timeout, _ := strconv.Atoi(m[3])
			state, _, _ := strings.Cut(m[4], "timeout=") // which a line of GRE has
			text += stateText(strings.TrimSpace(state), timeout, strings.Contains(line, "[UNREPLIED]"), strings.Contains(line, "[ASSURED]"))
		}
		lines = append(lines, text)
	}
	slices.Sort(lines)
	return lines
}

// labConnection is a line of conntrack -L: protocol, number, timeout, state, and of each tuple addresses and ports.
var labConnection = regexp.MustCompile(
	`^(\w+) +(\d+) (\d+) ([A-Z_0-9]+ |timeout=.*?)?` +
		`src=(\S+) dst=(\S+) (?:sport=(\d+) dport=(\d+))?.*?src=(\S+) dst=(\S+) (?:sport=(\d+) dport=(\d+))?`)

// number is a port that may be missing.
func number(s string) string {
	port, _ := strconv.Atoi(s)
	return knownPort(uint16(port))
}

// send puts the packet on the wire of the client or the server, or on a raw socket of the node.
func (lab *kernelLab) send(place string, p inet.Packet, id uint16) {
	lab.within(place, func() {
		if place == "node" {
			lab.sendRaw(wireFormat(p, id), p.Dst)
		} else {
			lab.sendFrame(wireFormat(p, id), nodeMAC(place))
		}
	})
}

// within calls f in the namespace of the place.
func (lab *kernelLab) within(place string, f func()) { lab.places[place].In(lab.t).Do(f) }

func (lab *kernelLab) sendRaw(packet []byte, dst netip.Addr) {
	domain, to := unix.AF_INET6, unix.Sockaddr(&unix.SockaddrInet6{Addr: dst.As16()})
	if dst.Is4() {
		domain, to = unix.AF_INET, &unix.SockaddrInet4{Addr: dst.As4()}
	}
	fd, err := unix.Socket(domain, unix.SOCK_RAW, unix.IPPROTO_RAW)
	require.NoError(lab.t, err)
	defer func() { _ = unix.Close(fd) }()
	err = unix.Sendto(fd, packet, 0, to)
	if err != unix.EPERM { // a drop in OUTPUT
		require.NoError(lab.t, err)
	}
}

// sendFrame sends to the node's device by its hardware address, so that no route of the place matters.
func (lab *kernelLab) sendFrame(packet []byte, mac net.HardwareAddr) {
	protocol := uint16(0x0008) // EtherTypes in network order
	if packet[0]>>4 == 6 {
		protocol = 0xdd86
	}
	fd, err := unix.Socket(unix.AF_PACKET, unix.SOCK_DGRAM, int(protocol))
	require.NoError(lab.t, err)
	defer func() { _ = unix.Close(fd) }()
	eth0, err := net.InterfaceByName("eth0")
	require.NoError(lab.t, err)
	to := &unix.SockaddrLinklayer{Protocol: protocol, Ifindex: eth0.Index, Halen: 6}
	copy(to.Addr[:], mac)
	require.NoError(lab.t, unix.Sendto(fd, packet, 0, to))
}

// nodeMAC is the hardware address of the node's device to the place.
func nodeMAC(place string) net.HardwareAddr { return net.HardwareAddr{2, 0x77, 0, 0, 0, place[0]} }

// placeMAC is the hardware address of the place's device.
func placeMAC(place string) net.HardwareAddr { return net.HardwareAddr{2, 0x78, 0, 0, 0, place[0]} }
