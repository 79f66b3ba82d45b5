package forall_test

import (
	"fmt"
	"net/netip"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/chainwalk/chainwalk/packetsim"
	"github.com/chainwalk/chainwalk/packetsim/snapshot"
)

// services are rules like kube-proxy's for so many services of five endpoints: one of ten has a node port, and one of eleven is of UDP.
type services struct {
	count int
	// port is that of an endpoint of the service in the middle; 0: 8080, as of the others.
	port int
	// ports are those of the first endpoints of some services, whose chains have them in their names; and some services are gone.
	ports map[int]int
	gone  map[int]bool
	// unmarked leaves the mark for masquerading out of that service.
	unmarked bool
	// reversed writes chains and disjoint rules in the other order.
	reversed bool
	// native writes them for nft.
	native bool
}

const endpoints = 5

// addrOf is the cluster IP and the protocol of a service.
func (s *services) addrOf(i int) (ip, proto string) {
	ip, proto = fmt.Sprintf("10.96.%d.%d", i/250, i%250+1), "tcp"
	if i%11 == 0 {
		proto = "udp"
	}
	return ip, proto
}

// portOf is the port of an endpoint of a service.
func (s *services) portOf(i, endpoint int) int {
	switch port, is := s.ports[i]; {
	case endpoint > 0:
	case is:
		return port
	case s.port != 0 && i == s.count/2:
		return s.port
	}
	return 8080
}

func (s *services) hasNodePort(i int) bool { return i%10 == 0 }

// chainsOf are the names of the chains of a service.
func (s *services) chainsOf(i int) []string {
	names := []string{fmt.Sprintf("KUBE-SVC-%d", i)}
	if s.hasNodePort(i) {
		names = append(names, fmt.Sprintf("KUBE-EXT-%d", i))
	}
	for e := range endpoints {
		names = append(names, s.endpointChain(i, e))
	}
	return names
}

func (s *services) endpointChain(i, e int) string {
	name := fmt.Sprintf("KUBE-SEP-%d-%d", i, e)
	if port, is := s.ports[i]; is && e == 0 {
		name += fmt.Sprintf("-%d", port)
	}
	return name
}

// jumpTo is the rule that leads to a service by its address.
func (s *services) jumpTo(i int) string {
	ip, proto := s.addrOf(i)
	return fmt.Sprintf("-A KUBE-SERVICES -d %s/32 -p %s -m %s --dport 80 -j KUBE-SVC-%d\n", ip, proto, proto, i)
}

// portJumpTo is the rule that leads to a service by its node port; empty: it has none.
func (s *services) portJumpTo(i int) string {
	_, proto := s.addrOf(i)
	if !s.hasNodePort(i) {
		return ""
	}
	return fmt.Sprintf("-A KUBE-NODEPORTS -p %s -m %s --dport %d -j KUBE-EXT-%d\n", proto, proto, 30000+i/10, i)
}

// rulesOf are the rules of a service's own chains.
func (s *services) rulesOf(i int) string {
	var b strings.Builder
	ip, proto := s.addrOf(i)
	if s.hasNodePort(i) {
		fmt.Fprintf(&b, "-A KUBE-EXT-%d -j KUBE-MARK-MASQ\n-A KUBE-EXT-%d -j KUBE-SVC-%d\n", i, i, i)
	}
	if !s.unmarked || i != s.count/2 {
		fmt.Fprintf(&b, "-A KUBE-SVC-%d ! -s 10.244.0.0/16 -d %s/32 -p %s -m %s --dport 80 -j KUBE-MARK-MASQ\n", i, ip, proto, proto)
	}
	for e := range endpoints {
		chain, draw := s.endpointChain(i, e), ""
		if left := endpoints - e; left > 1 {
			draw = fmt.Sprintf(" -m statistic --mode random --probability %.11f", 1/float64(left))
		}
		fmt.Fprintf(&b, "-A KUBE-SVC-%d%s -j %s\n-A %s -s %s/32 -j KUBE-MARK-MASQ\n-A %s -p %s -m %s -j DNAT --to-destination %s:%d\n",
			i, draw, chain, chain, podOf(i, e), chain, proto, proto, podOf(i, e), s.portOf(i, e))
	}
	return b.String()
}

func (s *services) text() string {
	var heads, jumps, nodePorts, chains []string
	for i := range s.count {
		if s.gone[i] {
			continue
		}
		for _, name := range s.chainsOf(i) {
			heads = append(heads, ":"+name+" - [0:0]\n")
		}
		jumps, chains = append(jumps, s.jumpTo(i)), append(chains, s.rulesOf(i))
		if s.hasNodePort(i) {
			nodePorts = append(nodePorts, s.portJumpTo(i))
		}
	}
	if s.reversed {
		for _, list := range [][]string{heads, jumps, nodePorts, chains} {
			for i, j := 0, len(list)-1; i < j; i, j = i+1, j-1 {
				list[i], list[j] = list[j], list[i]
			}
		}
	}
	return "*filter\n:INPUT ACCEPT [0:0]\n:FORWARD ACCEPT [0:0]\n:OUTPUT ACCEPT [0:0]\n:KUBE-FORWARD - [0:0]\n:KUBE-FIREWALL - [0:0]\n" +
		"-A INPUT -j KUBE-FIREWALL\n-A OUTPUT -j KUBE-FIREWALL\n-A FORWARD -j KUBE-FORWARD\n" +
		"-A KUBE-FIREWALL ! -s 127.0.0.0/8 -d 127.0.0.0/8 -m conntrack ! --ctstate RELATED,ESTABLISHED,DNAT -j DROP\n" +
		"-A KUBE-FORWARD -m conntrack --ctstate INVALID -j DROP\n-A KUBE-FORWARD -m mark --mark 0x4000/0x4000 -j ACCEPT\n" +
		"-A KUBE-FORWARD -m conntrack --ctstate RELATED,ESTABLISHED -j ACCEPT\nCOMMIT\n" +
		"*nat\n:PREROUTING ACCEPT [0:0]\n:INPUT ACCEPT [0:0]\n:OUTPUT ACCEPT [0:0]\n:POSTROUTING ACCEPT [0:0]\n:KUBE-SERVICES - [0:0]\n" +
		":KUBE-NODEPORTS - [0:0]\n:KUBE-MARK-MASQ - [0:0]\n:KUBE-POSTROUTING - [0:0]\n" + strings.Join(heads, "") +
		"-A PREROUTING -j KUBE-SERVICES\n-A OUTPUT -j KUBE-SERVICES\n-A POSTROUTING -j KUBE-POSTROUTING\n" +
		"-A KUBE-MARK-MASQ -j MARK --set-xmark 0x4000/0x4000\n-A KUBE-POSTROUTING -m mark ! --mark 0x4000/0x4000 -j RETURN\n" +
		"-A KUBE-POSTROUTING -j MARK --set-xmark 0x4000/0x0\n-A KUBE-POSTROUTING -j MASQUERADE --random-fully\n" +
		strings.Join(jumps, "") + "-A KUBE-SERVICES -m addrtype --dst-type LOCAL -j KUBE-NODEPORTS\n" + strings.Join(nodePorts, "") +
		strings.Join(chains, "") + "COMMIT\n"
}

func (s *services) host(t testing.TB) *packetsim.Host {
	t.Helper()
	if s.native {
		return hostOfServices(t, s.nft())
	}
	return hostOfServices(t, s.text())
}

func hostOfServices(t testing.TB, text string) *packetsim.Host {
	t.Helper()
	h, err := snapshot.HostOfSave("services", strings.NewReader(text), snapshot.RulesOptions{Devices: []string{"veth1", "cni0", "docker0"},
		Local: []netip.Addr{netip.MustParseAddr("172.18.0.3")}})
	require.NoError(t, err)
	return h
}
