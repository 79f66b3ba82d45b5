package explain_test

import (
	"net/netip"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/chainwalk/chainwalk/netfilter"
	"github.com/chainwalk/chainwalk/scenarios/explain/provenance"
)

func TestWriterOfAChain(t *testing.T) {
	for chain, want := range map[string]provenance.Writer{
		"KUBE-SERVICES": provenance.KubeProxy, "KUBE-SEP-ZEIDTFVL27F4EVRN": provenance.KubeProxy,
		"KUBE-PROXY-CANARY": provenance.KubeProxy, "KUBE-MARK-MASQ": provenance.KubeProxy,
		"KUBE-FIREWALL": provenance.Kubelet, "KUBE-KUBELET-CANARY": provenance.Kubelet,
		"KUBE-IPTABLES-HINT": provenance.Kubelet, "KUBE-MARK-DROP": provenance.Kubelet,
		"KUBE-ROUTER-INPUT": provenance.KubeRouter, "KUBE-POD-FW-ABC": provenance.KubeRouter, "KUBE-NWPLCY-ABC": provenance.KubeRouter,
		"cali-FORWARD": provenance.Calico, "DOCKER": provenance.Docker, "DOCKER-USER": provenance.Docker, "DOCKER_OUTPUT": provenance.Docker,
		"DOCKERS": "", "INPUT": "", "kube-": "",
	} {
		assert.Equal(t, want, provenance.WriterOf(chain), chain)
	}
	assert.Equal(t, provenance.KubeProxy, provenance.TableWriter("kube-proxy", "services"), "nftables")
	assert.Equal(t, provenance.KubeProxy, provenance.OfRule("nat", "PREROUTING", &netfilter.Fact{Jump: "KUBE-SERVICES"}))
	assert.Equal(t, provenance.Calico, provenance.OfRule("nat", "cali-X", &netfilter.Fact{Jump: "KUBE-MARK-MASQ"}),
		"the chain is Calico's, so is the rule")
	assert.Equal(t, provenance.Writer(""), provenance.OfRule("filter", "INPUT", &netfilter.Fact{Verdict: netfilter.Drop}))
}

func TestServicePortOfARule(t *testing.T) {
	for _, row := range []struct {
		table, chain, comment, jump string
		want                        provenance.ServicePort
	}{
		{"nat", "KUBE-SERVICES", "shop/web:http cluster IP", "", "shop/web:http"},
		{"nat", "KUBE-SEP-X", "shop/ext", "", "shop/ext"},
		{"nat", "KUBE-SEP-X", "shop/ext:a", "", "shop/ext:a"},
		{"nat", "KUBE-SVC-X", "shop/web:http -> 10.244.1.2:8080", "", "shop/web:http"},
		{"nat", "KUBE-EXT-X", "masquerade traffic for shop/web:http external destinations", "", "shop/web:http"},
		{"nat", "KUBE-FW-X", "other traffic to shop/web:http will be dropped by KUBE-PROXY-FIREWALL", "", "shop/web:http"},
		{"filter", "KUBE-SERVICES", "shop/web has no endpoints", "", "shop/web"},
		{"filter", "FORWARD", "kubernetes forwarding rules", "KUBE-FORWARD", ""},
		{"filter", "KUBE-FIREWALL", "for shop/web", "", ""},
		{"filter", "KUBE-POD-FW-ABC", "shop/web-1 reject", "", ""},
		{"nat", "DOCKER", "for shop/web", "", ""},
		{"filter", "INPUT", "traffic to 10.0.0.0/8", "", ""},
		{"kube-proxy", "services", "", "service-42NFTM6N-ns2/svc2/tcp/p80", "ns2/svc2:p80"},
		{"kube-proxy", "endpoint-5OJB2KTY-ns1/svc1/tcp/__10.180.0.1/80", "", "", "ns1/svc1"},
		{"kube-proxy", "external-42NFTM6N-my-ns/a-svc/udp/dns", "", "mark-for-masquerade", "my-ns/a-svc:dns"},
		{"kube-proxy", "masquerading", "", "", ""},
	} {
		f := netfilter.Fact{Comment: row.comment, Jump: row.jump}
		assert.Equal(t, row.want, provenance.ServicePortOf(row.table, row.chain, &f), "%s %s %q", row.table, row.chain, row.comment)
	}
	assert.Equal(t, "shop/web", provenance.ServicePort("shop/web:http").Service())
}

func TestEndpointOfARule(t *testing.T) {
	at := netip.MustParseAddrPort("10.244.1.2:8080")
	to := netfilter.Translation{Kind: netfilter.DNAT, Of: netfilter.Destination, MinAddr: at.Addr(), MaxAddr: at.Addr(), MinPort: 8080,
		MaxPort: 8080}
	assert.Equal(t, at, provenance.EndpointOf(&netfilter.Fact{Translation: to}))
	assert.Equal(t, at, provenance.EndpointOf(&netfilter.Fact{Comment: "shop/web:http -> 10.244.1.2:8080"}))
	assert.Equal(t, netip.MustParseAddrPort("[fd00::1]:80"), provenance.EndpointOf(&netfilter.Fact{Comment: "shop/web -> [fd00::1]:80"}))
	to.MaxPort = 8090
	assert.False(t, provenance.EndpointOf(&netfilter.Fact{Translation: to}).IsValid(), "several ports")
	assert.False(t, provenance.EndpointOf(&netfilter.Fact{Comment: "shop/web ->"}).IsValid())
}

func TestNamesOfChainsInATextAreOthers(t *testing.T) {
	const text = "-A KUBE-SVC-67NZLRHBNDSAWJRO -j KUBE-SEP-ZEIDTFVL27F4EVRN"
	assert.Equal(t, "-A KUBE-SVC -j KUBE-SEP", provenance.WithoutHashes(text))
	assert.Equal(t, "-A x -j x", provenance.WithChains(text, func(string) string { return "x" }))
}

func TestCommentWithoutNumbers(t *testing.T) {
	assert.Equal(t, "Drop if no policies passed packet",
		provenance.Comment(&netfilter.Fact{Comment: "cali:FUDVBYh1Yr6tVRgq Drop if no policies passed packet"}))
	assert.Empty(t, provenance.Comment(&netfilter.Fact{Comment: "cali:FUDVBYh1Yr6tVRgq"}))
}

func TestKindsOfRulesTellNoServicesApart(t *testing.T) {
	for _, row := range []struct {
		chain, rule, want string
	}{
		{"KUBE-SERVICES", "-d 10.96.0.10/32 -p tcp -m comment --comment SHOP/web:http -m tcp --dport 80 -j KUBE-SVC-AAAAAAAAAAAAAAAA",
			"-A KUBE-SERVICES -d -p -m -m --dport -j KUBE-SVC"},
		{"KUBE-SEP-AAAAAAAAAAAAAAAA", "-p tcp -m tcp -j DNAT --to-destination [fd00::1]:8080", "-A KUBE-SEP -p -m -j DNAT --to-destination"},
		{"KUBE-SVC-AAAAAAAAAAAAAAAA", "! -s 10.244.0.0/16 -m recent --rcheck --name KUBE-SEP-BBBBBBBBBBBBBBBB -j KUBE-MARK-MASQ",
			"-A KUBE-SVC ! -s -m --rcheck --name KUBE-SEP -j KUBE-MARK-MASQ"},
	} {
		assert.Equal(t, row.want, provenance.Kind(row.chain, strings.Fields(row.rule)))
	}
	assert.Equal(t, "-A KUBE-SERVICES -j DROP", provenance.Kind("KUBE-SERVICES", []string{"--comment", "Of two words", "-j", "DROP", ""}))
}

func TestConditionsThatAskMemory(t *testing.T) {
	for condition, want := range map[string]bool{
		"-m recent --rcheck --seconds 10800 --reap --name KUBE-SEP-5KRP7KEUXJYC2XM6 --mask 255.255.255.255 --rsource": true,
		"-m recent --rcheck --name knockers --mask 255.255.255.255 --rsource":                                         false,
		"-m recent --name":                          false,
		"-m limit --name KUBE-SEP-A":                false,
		"set affinity-A of ip kube-proxy has saddr": true,
		"set affinity-A of ip mine has saddr":       false,
		"set others of ip6 kube-proxy has saddr":    false,
		"set affinity-A":                            false,
		"":                                          false,
	} {
		assert.Equal(t, want, provenance.AsksMemory(condition), condition)
	}
}
