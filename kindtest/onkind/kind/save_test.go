package kind

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"

	"github.com/chainwalk/chainwalk/netfilter"
)

// TestSavesComeBackAsTheScenarioHasThem takes what a node of the cluster prints, with services that are none of the scenario's.
func TestSavesComeBackAsTheScenarioHasThem(t *testing.T) {
	c, m := mapped(t, smallObjects)
	s := newSaves(m)
	for _, o := range c.Objects[len(c.Nodes):] {
		_, err := m.object(o)
		require.NoError(t, err)
		switch object := o.Object.(type) {
		case *corev1.Service:
			s.noteService(object)
		case *discoveryv1.EndpointSlice:
			s.noteSlice(object)
		}
	}
	ip := m.To(addr("172.30.0.41")).String()
	real := endpointChain("default/web:http", corev1.ProtocolTCP, m.ToPort(endpoint("10.244.1.100:8080")))
	of := endpointChain("default/web:http", corev1.ProtocolTCP, endpoint("10.244.1.100:8080"))
	require.NotEqual(t, real, of)
	got, err := s.back(strings.Join([]string{
		"*nat", ":PREROUTING ACCEPT [0:0]", ":KUBE-SERVICES - [0:0]", ":KUBE-MARK-MASQ - [0:0]", ":KUBE-SVC-AAAAAAAAAAAAAAAA - [0:0]",
		":KUBE-SVC-BBBBBBBBBBBBBBBB - [0:0]", ":" + real + " - [0:0]",
		":KUBE-SEP-CCCCCCCCCCCCCCCC - [0:0]", ":KUBE-SVCS - [0:0]",
		`[3:180] -A KUBE-SERVICES -d ` + ip +
			`/32 -p tcp -m comment --comment "default/web:http cluster IP" -m tcp --dport 80 -j KUBE-SVC-AAAAAAAAAAAAAAAA`,
		`[0:0] -A KUBE-SERVICES -d 10.96.0.1/32 -p tcp -m comment --comment "default/kubernetes:https cluster IP" -j KUBE-SVC-BBBBBBBBBBBBBBBB`,
		`[0:0] -A KUBE-SVC-AAAAAAAAAAAAAAAA ! -s 10.244.0.0/22 -d ` + ip + `/32 -j KUBE-MARK-MASQ`,
		`[0:0] -A KUBE-SVC-AAAAAAAAAAAAAAAA -m comment --comment "default/web:http -> 10.244.2.2:8080" -j ` + real,
		`[0:0] -A KUBE-SVC-BBBBBBBBBBBBBBBB -m comment --comment "default/kubernetes:https -> 172.18.0.2:6443" -j KUBE-SEP-CCCCCCCCCCCCCCCC`,
		`[0:0] -A KUBE-SEP-CCCCCCCCCCCCCCCC -p tcp -m tcp -j DNAT --to-destination 172.18.0.2:6443`,
		`[0:0] -A ` + real + ` -p tcp -m tcp -j DNAT --to-destination 10.244.2.2:8080`,
		"COMMIT", "",
	}, "\n"), netfilter.IPv4, netfilter.Legacy)
	require.NoError(t, err)
	_, err = m.addressRange(c.Nodes[0].PodCIDRs[0])
	require.NoError(t, err)
	assert.Equal(t, strings.Join([]string{
		"*nat", ":PREROUTING ACCEPT [0:0]", ":KUBE-SERVICES - [0:0]", ":KUBE-MARK-MASQ - [0:0]", ":KUBE-SVC-AAAAAAAAAAAAAAAA - [0:0]",
		":" + of + " - [0:0]", ":KUBE-SVCS - [0:0]",
		`[3:180] -A KUBE-SERVICES -d 172.30.0.41/32 -p tcp -m comment --comment "default/web:http cluster IP" -m tcp --dport 80 ` +
			`-j KUBE-SVC-AAAAAAAAAAAAAAAA`,
		`[0:0] -A KUBE-SVC-AAAAAAAAAAAAAAAA ! -s 10.244.0.0/22 -d 172.30.0.41/32 -j KUBE-MARK-MASQ`,
		`[0:0] -A KUBE-SVC-AAAAAAAAAAAAAAAA -m comment --comment "default/web:http -> 10.244.1.100:8080" -j ` + of,
		`[0:0] -A ` + of + ` -p tcp -m tcp -j DNAT --to-destination 10.244.1.100:8080`,
		"COMMIT", "",
	}, "\n"), got)
}

func TestARangeThatWasMappedComesBack(t *testing.T) {
	c, m := mapped(t, smallDual)
	_, err := m.config("node1", c.Configs["node1"], "")
	require.NoError(t, err)
	assert.Equal(t, "-A X ! -s 10.244.0.0/16 -j Y", m.BackText("-A X ! -s 10.244.0.0/22 -j Y"))
	assert.Equal(t, "-A X -s fd00:10:244::/56 -j Y", m.BackText("-A X -s fd00:10:244::/62 -j Y"))
	assert.Equal(t, "--to-destination [fd00:10:244:1::64]:8080", m.BackText("--to-destination [fd00:10:244:2::2]:8080"))
	assert.Equal(t, "--set-xmark 0x4000/0x4000 [0:0] 12:34:56", m.BackText("--set-xmark 0x4000/0x4000 [0:0] 12:34:56"))
}

func TestTextsOfTheScenarioAreMapped(t *testing.T) {
	_, m := mapped(t, smallDual)
	got, err := m.toText("iptables -A FORWARD -s 10.244.0.0/16 -d 10.244.1.100 -p tcp --dport 80 -j ACCEPT")
	require.NoError(t, err)
	assert.Equal(t, "iptables -A FORWARD -s 10.244.0.0/22 -d 10.244.2.2 -p tcp --dport 80 -j ACCEPT", got)
	_, err = m.toText("iptables -A FORWARD -s 192.0.0.0/4")
	require.Error(t, err)
}

// TestEndpointChainsHaveTheirNames holds the names to those of a shipped scenario, which were read from a real node.
func TestEndpointChainsHaveTheirNames(t *testing.T) {
	assert.Equal(t, "KUBE-SEP-6O2F5R4HSSKMDZYV", endpointChain("default/leaves", corev1.ProtocolTCP, endpoint("10.244.1.28:8080")))
	assert.Equal(t, "KUBE-SEP-UZJTLOSA6S5RCUYI", endpointChain("default/leaves", corev1.ProtocolTCP, endpoint("10.244.2.28:8080")))
}
