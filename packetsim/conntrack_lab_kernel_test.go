//go:build linux

package packetsim

import (
	"fmt"
	"net"
	"net/netip"
	"os/exec"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/vishvananda/netlink/nl"
	"golang.org/x/sys/unix"
	"k8s.io/utils/clock"

	"github.com/chainwalk/chainwalk/fakeipt"
	"github.com/chainwalk/chainwalk/internal/ctnetlink"
	"github.com/chainwalk/chainwalk/internal/kerneltest"
	"github.com/chainwalk/chainwalk/internal/wire"
	"github.com/chainwalk/chainwalk/netfilter"
	"github.com/chainwalk/chainwalk/packetsim/conntrack"
	"github.com/chainwalk/chainwalk/packetsim/inet"
)

// ctLab is a node between a client and a server that only send and capture frames. A test of it stays in the node's namespace.
type ctLab struct {
	t      *testing.T
	places map[string]*kerneltest.Namespace
	ports  map[string]*ctPort
	id     uint16
}

// ctPort is the device of the client or the server.
type ctPort struct {
	fd, index int
	device    string // the node's end
}

func newCTLab(t *testing.T) *ctLab {
	lab := &ctLab{t: t, places: map[string]*kerneltest.Namespace{}, ports: map[string]*ctPort{}}
	for _, place := range []string{"node", "client", "server"} {
		lab.places[place] = kerneltest.New(t)
	}
	lab.places["node"].Stay()
	lab.run("ip", "link", "set", "lo", "up")
	lab.run("sysctl", "-qw", "net.ipv4.ip_forward=1", "net.ipv6.conf.all.forwarding=1", "net.ipv6.conf.default.accept_dad=0",
		"net.ipv6.conf.default.router_solicitations=0", "net.ipv4.icmp_ratemask=0")
	for i, place := range []string{"client", "server"} {
		lab.plug(place, i+1)
	}
	lab.run("ip", "route", "add", "default", "via", "10.78.2.2")
	lab.run("ip", "-6", "route", "add", "default", "via", "fd78:2::2")
	lab.run("sysctl", "-qw", "net.ipv4.conf.all.send_redirects=0", "net.ipv4.conf.all.rp_filter=0",
		"net.ipv4.conf.ctc.rp_filter=0", "net.ipv4.conf.cts.rp_filter=0", "net.ipv4.conf.ctc.send_redirects=0",
		"net.ipv4.conf.cts.send_redirects=0")
	lab.awaitLinks()
	return lab
}

// awaitLinks waits until the node's devices send: before that they drop what they are given.
func (lab *ctLab) awaitLinks() {
	deadline := time.Now().Add(5 * time.Second)
	for _, port := range lab.ports {
		for {
			dev, err := net.InterfaceByName(port.device)
			require.NoError(lab.t, err)
			if dev.Flags&net.FlagRunning != 0 {
				break
			}
			require.True(lab.t, time.Now().Before(deadline), "%s has no carrier", port.device)
			lab.wait()
		}
	}
	lab.wait()
}

// in is the lab for a subtest, which stays in the node's namespace.
func (lab *ctLab) in(t *testing.T) *ctLab {
	lab.places["node"].In(t).Stay()
	return &ctLab{t: t, places: lab.places, ports: lab.ports}
}

// plug joins a place to the node; subnet is the third number of its addresses.
func (lab *ctLab) plug(place string, subnet int) {
	dev := "ct" + place[:1]
	lab.run("ip", "link", "add", dev, "type", "veth", "peer", "name", "eth0", "netns", lab.places[place].Path())
	lab.run("ip", "addr", "add", fmt.Sprintf("10.78.%d.1/24", subnet), "dev", dev)
	lab.run("ip", "addr", "add", fmt.Sprintf("fd78:%d::1/64", subnet), "dev", dev, "nodad")
	lab.run("ip", "link", "set", dev, "address", nodeMAC(place).String(), "up")
	for _, host := range []int{2, 3} {
		for _, addr := range []string{fmt.Sprintf("10.78.%d.%d", subnet, host), fmt.Sprintf("fd78:%d::%d", subnet, host)} {
			lab.run("ip", "neigh", "replace", addr, "lladdr", placeMAC(place).String(), "dev", dev, "nud", "permanent")
		}
	}
	lab.places[place].Do(func() { lab.listen(place, dev) })
}

// listen opens the packet socket of a place, in which it is called, on the device whose other end is the node's dev.
func (lab *ctLab) listen(place, dev string) {
	lab.run("sysctl", "-qw", "net.ipv6.conf.all.disable_ipv6=1")
	lab.run("ip", "link", "set", "eth0", "address", placeMAC(place).String(), "up")
	fd, err := unix.Socket(unix.AF_PACKET, unix.SOCK_DGRAM|unix.SOCK_NONBLOCK, 0x0300) // ETH_P_ALL in network order
	require.NoError(lab.t, err)
	lab.t.Cleanup(func() { _ = unix.Close(fd) })
	eth0, err := net.InterfaceByName("eth0")
	require.NoError(lab.t, err)
	lab.ports[place] = &ctPort{fd, eth0.Index, dev}
}

func (lab *ctLab) run(argv ...string) string {
	out, err := exec.Command(argv[0], argv[1:]...).CombinedOutput()
	require.NoErrorf(lab.t, err, "%s: %s", strings.Join(argv, " "), out)
	return string(out)
}

func ctTool(family netfilter.Family, tool string) string {
	if family == netfilter.IPv6 {
		return "ip6tables-legacy-" + tool
	}
	return "iptables-legacy-" + tool
}

func (lab *ctLab) restore(family netfilter.Family, rules string) {
	cmd := exec.Command(ctTool(family, "restore"))
	cmd.Stdin = strings.NewReader(emptyRules + rules)
	out, err := cmd.CombinedOutput()
	require.NoErrorf(lab.t, err, "%s", out)
}

// ctDevices are the node's devices.
func ctDevices() []Device {
	return []Device{
		{Name: "ctc", Up: true, Addresses: addresses("10.78.1.1/24", "fd78:1::1/64")},
		{Name: "cts", Up: true, Addresses: addresses("10.78.2.1/24", "fd78:2::1/64")},
	}
}

func ctRoutes() []Route {
	return []Route{
		{Dst: netip.MustParsePrefix("0.0.0.0/0"), Via: netip.MustParseAddr("10.78.2.2"), Dev: "cts"},
		{Dst: netip.MustParsePrefix("::/0"), Via: netip.MustParseAddr("fd78:2::2"), Dev: "cts"},
	}
}

// twin is the Host that is like the node.
func (lab *ctLab) twin(kernel *fakeipt.Kernel, sysctls map[string]string) *Host {
	all := map[string]string{"net.ipv4.ip_forward": "1", "net.ipv6.conf.all.forwarding": "1", "net.ipv4.conf.all.send_redirects": "0"}
	for _, dev := range []string{"ctc", "cts"} {
		all["net.ipv4.conf."+dev+".send_redirects"] = "0"
	}
	for name, value := range sysctls {
		all[name] = value
	}
	h, err := NewHost(HostConfig{Name: "node", Devices: ctDevices(), Routes: ctRoutes(), Sysctls: all, Netfilter: kernel.Namespace(),
		Clock: clock.RealClock{}})
	require.NoError(lab.t, err)
	return h
}

// flush empties the node's table.
func (lab *ctLab) flush() {
	req := nl.NewNetlinkRequest(nl.IPCTNL_MSG_CT_DELETE|1<<8, unix.NLM_F_ACK)
	req.AddData(&nl.Nfgenmsg{NfgenFamily: unix.AF_UNSPEC, Version: nl.NFNETLINK_V0})
	_, err := req.Execute(unix.NETLINK_NETFILTER, 0)
	require.NoError(lab.t, err)
}

// entries are the node's connections of the family.
func (lab *ctLab) entries(family netfilter.Family) []conntrack.Entry {
	req := nl.NewNetlinkRequest(nl.IPCTNL_MSG_CT_GET|1<<8, unix.NLM_F_DUMP)
	req.AddData(&nl.Nfgenmsg{NfgenFamily: unix.AF_UNSPEC, Version: nl.NFNETLINK_V0})
	messages, err := req.Execute(unix.NETLINK_NETFILTER, 0)
	require.NoError(lab.t, err)
	var list []conntrack.Entry
	for _, message := range messages {
		e, err := ctnetlink.Parse(message)
		require.NoError(lab.t, err)
		if inet.FamilyOf(e.Original.Src) == family && !e.Original.Dst.IsMulticast() {
			list = append(list, ctEntry(&e))
		}
	}
	slices.SortFunc(list, func(a, b conntrack.Entry) int { return a.Original.Compare(b.Original) })
	return list
}

// ctEntry is an entry of the kernel as a host lists its own.
func ctEntry(e *ctnetlink.Entry) conntrack.Entry {
	c := conntrack.Entry{
		Original: ctTuple(&e.Original), Reply: ctTuple(&e.Reply), Timeout: e.Timeout, Mark: e.Mark,
		Replied: e.Status&ctnetlink.StatusSeenReply != 0, Assured: e.Status&ctnetlink.StatusAssured != 0,
		Zone: conntrack.Zone{Original: e.Zone | e.Original.Zone, Reply: e.Zone | e.Reply.Zone},
	}
	switch c.Original.Proto {
	case inet.TCP:
		c.State = []string{
			"NONE", "SYN_SENT", "SYN_RECV", "ESTABLISHED", "FIN_WAIT", "CLOSE_WAIT", "LAST_ACK", "TIME_WAIT", "CLOSE", "SYN_SENT2",
		}[e.State]
	case inet.SCTP:
		c.State = []string{
			"NONE", "CLOSED", "COOKIE_WAIT", "COOKIE_ECHOED", "ESTABLISHED", "SHUTDOWN_SENT", "SHUTDOWN_RECD", "SHUTDOWN_ACK_SENT",
			"HEARTBEAT_SENT", "HEARTBEAT_ACKED",
		}[e.State]
	}
	return c
}

func ctTuple(t *ctnetlink.Tuple) conntrack.Tuple {
	return conntrack.Tuple{
		Proto: inet.Proto(t.Protocol), Src: t.Src, Dst: t.Dst, SrcPort: t.SrcPort, DstPort: t.DstPort,
		ICMPType: t.ICMPType, ICMPCode: t.ICMPCode, ICMPID: t.ICMPID,
	}
}

// send puts a packet on the wire of a place.
func (lab *ctLab) send(place string, p inet.Packet) {
	lab.id++
	raw := wireFormat(p, lab.id)
	port := lab.ports[place]
	to := &unix.SockaddrLinklayer{Protocol: 0x0008, Ifindex: port.index, Halen: 6}
	if p.Is6() {
		to.Protocol = 0xdd86
	}
	copy(to.Addr[:], nodeMAC(place))
	require.NoError(lab.t, unix.Sendto(port.fd, raw, 0, to))
}

// captured are the packets of the family that came to a place since the last call.
func (lab *ctLab) captured(place string, family netfilter.Family) []inet.Packet {
	var list []inet.Packet
	buf := make([]byte, 4096)
	for {
		n, from, err := unix.Recvfrom(lab.ports[place].fd, buf, 0)
		if err == unix.EAGAIN {
			return list
		}
		require.NoError(lab.t, err)
		if link, ok := from.(*unix.SockaddrLinklayer); !ok || link.Pkttype == unix.PACKET_OUTGOING {
			continue
		}
		p, _, err := wire.Decode(buf[:n])
		if err == nil && inet.FamilyOf(p.Dst) == family && !p.Dst.IsMulticast() && !p.Dst.IsLinkLocalUnicast() {
			list = append(list, p)
		}
	}
}

// packetText is what NAT changes of a packet.
func packetText(p inet.Packet) string {
	text := fmt.Sprintf("%s %s:%d>%s:%d %d/%d id %d", p.Proto, p.Src, p.SrcPort, p.Dst, p.DstPort, p.ICMPType, p.ICMPCode, p.ICMPID)
	if p.Inner != nil {
		text += " {" + packetText(*p.Inner) + "}"
	}
	return text
}

// arrivals are what the outcome says to come to each place.
func (lab *ctLab) arrivals(o *Outcome) map[string][]string {
	want := map[string][]string{}
	add := func(o *Outcome) {
		for place, port := range lab.ports {
			if o.To == ToForward && o.Out == port.device {
				want[place] = append(want[place], packetText(o.Packet))
			}
		}
	}
	add(o)
	for i := range o.Replies {
		add(&o.Replies[i].Outcome)
	}
	for _, texts := range want {
		slices.Sort(texts)
	}
	return want
}

// entryLine is an entry without its timeout, in one line.
func entryLine(e conntrack.Entry) string {
	return fmt.Sprintf("%s -> %s %s replied=%t assured=%t mark=%d zone=%v", tupleLine(e.Original), tupleLine(e.Reply), e.State, e.Replied,
		e.Assured, e.Mark, e.Zone)
}

func tupleLine(t conntrack.Tuple) string {
	return fmt.Sprintf("%s %s:%d>%s:%d(%d/%d %d)", t.Proto, t.Src, t.SrcPort, t.Dst, t.DstPort, t.ICMPType, t.ICMPCode, t.ICMPID)
}

// compareEntries says how two lists of entries differ; empty if they do not. Timeouts may differ by the time between, which is longer on a
// machine that is busy: late is how much.
func compareEntries(real, ours []conntrack.Entry, late time.Duration) string {
	slack := 2 + uint32(late/time.Second)
	lines := func(list []conntrack.Entry) (text []string) {
		for _, e := range list {
			text = append(text, fmt.Sprintf("%s timeout=%d", entryLine(e), e.Timeout))
		}
		return text
	}
	same := slices.EqualFunc(real, ours, func(a, b conntrack.Entry) bool {
		return entryLine(a) == entryLine(b) && a.Timeout <= b.Timeout+slack && b.Timeout <= a.Timeout+slack
	})
	if same {
		return ""
	}
	return fmt.Sprintf("kernel:\n\t%s\nours:\n\t%s", strings.Join(lines(real), "\n\t"), strings.Join(lines(ours), "\n\t"))
}

// settleTime is how long the kernel gets to do what we say it does, and settleLooks how often we look at least: on a busy machine one look
// takes long.
const (
	settleTime  = 300 * time.Millisecond
	settleLooks = 10
)

// counted are the packets that each rule of the node's filter table counted.
func (lab *ctLab) counted(family netfilter.Family) map[string]int {
	return countedRules(lab.run(ctTool(family, "save"), "-c", "-t", "filter"))
}

func countedRules(save string) map[string]int {
	counts := map[string]int{}
	for line := range strings.Lines(save) {
		if m := countedRule.FindStringSubmatch(line); m != nil {
			counts[m[2]], _ = strconv.Atoi(m[1])
		}
	}
	return counts
}

// since are the packets that were counted after earlier counts.
func since(now, before map[string]int) map[string]int {
	counts := map[string]int{}
	for rule, n := range now {
		if strings.Contains(rule, "FORWARD") {
			counts[rule] = n - before[rule]
		}
	}
	return counts
}

var countedRule = regexp.MustCompile(`^\[(\d+):\d+\] (-A .*)\n`)
