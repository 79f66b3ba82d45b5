package explain_test

import (
	"net/netip"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/chainwalk/chainwalk/netfilter"
	"github.com/chainwalk/chainwalk/scenarios/explain/provenance"
)

// others are names for a test.
type others struct{}

func (others) ServicePort(provenance.ServicePort) provenance.ServicePort { return "n/s:p" }
func (others) Policy(namespace, _ string) (otherNamespace, otherName string) {
	if namespace == "" {
		return "", "policy"
	}
	return "n", "policy"
}
func (others) Pod(string, string) (otherNamespace, otherName string) { return "n", "pod" }
func (others) Address(netip.Addr) netip.Addr                         { return netip.MustParseAddr("10.9.9.9") }
func (others) Chain(string) string                                   { return "CHAIN" }

func TestCommentsWithOtherNames(t *testing.T) {
	for _, row := range []struct{ chain, comment, want string }{
		{"KUBE-SERVICES", "shop/web:http cluster IP", "n/s:p cluster IP"},
		{"KUBE-SVC-X", "shop/web:http -> 10.244.1.2:8080", "n/s:p -> 10.9.9.9:8080"},
		{"KUBE-FW-X", "other traffic to shop/web:http will be dropped by KUBE-PROXY-FIREWALL", "other traffic to n/s:p will be dropped by CHAIN"},
		{"KUBE-PROXY-FIREWALL", "shop/web:http traffic not accepted by KUBE-FW-UBXEMV5HS6YGERHL", "n/s:p traffic not accepted by CHAIN"},
		{"KUBE-SERVICES", "kubernetes service nodeports; NOTE: this must be the last rule in this chain",
			"kubernetes service nodeports; NOTE: this must be the last rule in this chain"},
		{"KUBE-SERVICES", "shop/web:http for acme", ""},
		{"KUBE-NWPLCY-X", "rule to ACCEPT traffic from acme by policy name deny namespace shop", "policy name policy namespace n"},
		{"KUBE-POD-FW-X", "run through nw policy deny", "run through nw policy policy"},
		{"KUBE-POD-FW-X", "shop/web-1 reject", "n/pod reject"},
		{"cali-pi-X", "cali:FUDVBYh1Yr6tVRgq Policy shop/knp.default.deny ingress", "Policy n/knp.default.policy ingress"},
		{"cali-FORWARD", "cali:FUDVBYh1Yr6tVRgq", ""},
		{"ACME", "kubernetes service portals", ""},
	} {
		got, known := provenance.WithNames("filter", row.chain, &netfilter.Fact{Comment: row.comment}, others{})
		assert.Equal(t, row.want, got, row.comment)
		assert.Equal(t, row.want != "", known, row.comment)
	}
}

func TestWhichPartOfAChainsNameIsEverybodys(t *testing.T) {
	for _, chain := range []string{
		"INPUT", "KUBE-SERVICES", "KUBE-MARK-MASQ", "KUBE-ROUTER-INPUT", "cali-FORWARD", "cali-from-wl-dispatch", "DOCKER", "DOCKER-USER",
		"DOCKER_OUTPUT", "CNI-HOSTPORT-DNAT", "FLANNEL-FWD", "ufw-before-logging-input", "IN_public_allow", "ts-input", "CILIUM_FORWARD",
	} {
		assert.True(t, provenance.IsEverywhere(chain), chain)
	}
	for chain, stem := range map[string]string{
		"KUBE-SEP-2Q664ONNGPPHMXDJ": "KUBE-SEP-", "KUBE-POD-FW-X": "KUBE-POD-FW-", "cali-fw-cali0123": "cali-fw-", "cali-acme": "cali-",
		"DOCKER-ACME": "DOCKER-", "CNI-DN-0123": "CNI-DN-", "KUBE-ACME": "KUBE-", "ACME": "", "IN_acme": "",
	} {
		assert.False(t, provenance.IsEverywhere(chain), chain)
		assert.Equal(t, stem, provenance.Stem(chain), chain)
		assert.Equal(t, provenance.WriterOf(chain), provenance.WriterOf(stem+"1"), chain)
	}
	assert.True(t, provenance.EndsInHash("KUBE-SEP-"))
	assert.False(t, provenance.EndsInHash("cali-fw-"))
}
