//go:build linux

package probe

import (
	"bufio"
	"context"
	"io"
	"net"
	"net/netip"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"k8s.io/utils/clock"

	"github.com/chainwalk/chainwalk/internal/kerneltest"
)

// agentVariable makes this test binary be the agent of a name, and socketVariable says where it takes requests.
const (
	agentVariable  = "CHAINWALK_PROBE_TEST_AGENT"
	socketVariable = "CHAINWALK_PROBE_TEST_SOCKET"
)

func TestMain(m *testing.M) {
	if name := os.Getenv(agentVariable); name != "" {
		os.Exit(beAgent(name, os.Getenv(socketVariable)))
	}
	os.Exit(m.Run())
}

// beAgent is an agent until its input ends, as it does with the test.
func beAgent(name, path string) int {
	a, err := NewAgent(name, clock.RealClock{})
	if err != nil {
		return 2
	}
	control, err := net.Listen("unix", path)
	if err != nil {
		return 2
	}
	ctx, cancel := context.WithCancel(context.Background())
	go func() {
		_, _ = io.Copy(io.Discard, os.Stdin)
		cancel()
	}()
	_, _ = os.Stdout.WriteString("serving\n")
	if a.Run(ctx, control) != nil {
		return 1
	}
	return 0
}

// world is a client and two servers behind a router, each with an agent.
//
//	client 10.1.0.2 -- 10.1.0.1 router 10.2.0.1 -- 10.2.0.2 s1
//	                                   10.3.0.1 -- 10.3.0.2 s2
type world struct {
	*Client
	t      *testing.T
	spaces map[string]*kerneltest.Namespace
}

func four(net int, host string) string { return "10." + string(rune('0'+net)) + ".0." + host }
func six(net int, host string) string  { return "fd00:" + string(rune('0'+net)) + "::" + host }

var nets = map[string]int{"client": 1, "s1": 2, "s2": 3}

func newWorld(t *testing.T) *world {
	t.Helper()
	kerneltest.Need(t, "ip", "sysctl", "iptables-nft", "ip6tables-nft")
	w := &world{t: t, spaces: map[string]*kerneltest.Namespace{"router": kerneltest.New(t)}}
	router := w.spaces["router"]
	w.prepare(router)
	router.Must("sysctl -qw net.ipv4.ip_forward=1", "sysctl -qw net.ipv6.conf.all.forwarding=1")
	for _, name := range []string{"client", "s1", "s2"} {
		n, net := kerneltest.New(t), nets[name]
		w.spaces[name] = n
		w.prepare(n)
		router.Must("ip link add to-" + name + " type veth peer name eth0 netns " + n.Path())
		for _, end := range []struct {
			n            *kerneltest.Namespace
			device, host string
		}{{router, "to-" + name, "1"}, {n, "eth0", "2"}} {
			end.n.Must("ip address add "+four(net, end.host)+"/24 dev "+end.device,
				"ip address add "+six(net, end.host)+"/64 dev "+end.device+" nodad", "ip link set "+end.device+" up")
		}
		n.Must("ip route add default via "+four(net, "1"), "ip -6 route add default via "+six(net, "1"))
	}
	w.start()
	return w
}

func (w *world) prepare(n *kerneltest.Namespace) {
	n.Must("ip link set lo up", "sysctl -qw net.ipv4.icmp_ratemask=0", "sysctl -qw net.ipv6.icmp.ratelimit=0",
		"sysctl -qw net.ipv6.conf.default.accept_ra=0", "sysctl -qw net.ipv6.conf.default.dad_transmits=0")
}

// start starts the agents and a relay.
func (w *world) start() {
	dir := w.t.TempDir()
	for name, n := range w.spaces {
		cmd := exec.Command(os.Args[0])
		cmd.Env = append(os.Environ(), agentVariable+"="+name, socketVariable+"="+socketPath(dir, name))
		cmd.Stderr = os.Stderr
		in, err := cmd.StdinPipe()
		require.NoError(w.t, err)
		out, err := cmd.StdoutPipe()
		require.NoError(w.t, err)
		n.Do(func() { require.NoError(w.t, cmd.Start()) })
		w.t.Cleanup(func() {
			require.NoError(w.t, in.Close())
			require.NoError(w.t, cmd.Wait(), "agent %s", name)
		})
		line, err := bufio.NewReader(out).ReadString('\n')
		require.NoError(w.t, err)
		require.Equal(w.t, "serving\n", line)
	}
	near, far := net.Pipe()
	relayed := make(chan struct{})
	go func() {
		defer close(relayed)
		Relay(context.Background(), dir, clock.RealClock{}, far)
	}()
	w.Client = NewClient(near)
	w.t.Cleanup(func() {
		require.NoError(w.t, w.Close())
		<-relayed
	})
}

// rules gives the router rules, as the words behind iptables and ip6tables.
func (w *world) rules(family string, rules ...string) {
	for _, r := range rules {
		w.spaces["router"].Must(family + "-nft " + r)
	}
}

// flush takes the router's rules away.
func (w *world) flush() {
	for _, family := range []string{"iptables", "ip6tables"} {
		for _, table := range []string{"nat", "filter"} {
			w.rules(family, "-t "+table+" -F")
		}
	}
}

// address is that of a host, of a family.
func address(host string, v6 bool) netip.Addr {
	text := four(nets[host], "2")
	if v6 {
		text = six(nets[host], "2")
	}
	return netip.MustParseAddr(text)
}

// routerAddress is that of the router on the network of a host.
func routerAddress(host string, v6 bool) netip.Addr {
	text := four(nets[host], "1")
	if v6 {
		text = six(nets[host], "1")
	}
	return netip.MustParseAddr(text)
}

func familyName(v6 bool) string {
	return strings.Replace("iptables", "ip", map[bool]string{false: "ip", true: "ip6"}[v6], 1)
}
