package trial

import (
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/chainwalk/chainwalk/scenarios/world/node"
)

// shared is a cluster of mode nftables with two services of one external IP.
const shared = `
name: an external IP of two services
kubeProxy: {mode: nftables}
topology: {nodes: 1}
objects:
- {apiVersion: v1, kind: Service, metadata: {name: dns}, spec: {clusterIP: 172.30.0.2, externalIPs: [198.51.100.1], ports: [{port: 80}]}}
- {apiVersion: v1, kind: Service, metadata: {name: web}, spec: {clusterIP: 172.30.0.3, externalIPs: [198.51.100.1], ports: [{name: http, port: 80}]}}
- {apiVersion: discovery.k8s.io/v1, kind: EndpointSlice, metadata: {name: dns-1, labels: {kubernetes.io/service-name: dns}}, addressType: IPv4,
    ports: [{port: 80}], endpoints: [{addresses: [10.244.1.10]}]}
- {apiVersion: discovery.k8s.io/v1, kind: EndpointSlice, metadata: {name: web-1, labels: {kubernetes.io/service-name: web}}, addressType: IPv4,
    ports: [{name: http, port: 80}], endpoints: [{addresses: [10.244.1.11]}]}
steps:
`

// The chain of an external address that another service has may stand there unused, and no other chain.
func TestChainOfAnAddressThatAnotherServiceHas(t *testing.T) {
	report, err := Run(t.Context(), read(t, shared+"- sync: true\n"), Options{})
	require.NoError(t, err)
	assert.Empty(t, report.Violations)

	// Another external IP of its own leads to the chain, unless the proxier forgets it.
	own := strings.Replace(shared, "clusterIP: 172.30.0.3, externalIPs: [198.51.100.1]",
		"clusterIP: 172.30.0.3, externalIPs: [198.51.100.1, 198.51.100.2]", 1)
	report, err = Run(t.Context(), read(t, own+"- sync: true\n"), Options{})
	require.NoError(t, err)
	assert.Empty(t, report.Violations)
	report, err = Run(t.Context(), read(t, own+"- sync: true\n"), Options{Proxier: without(`198\.51\.100\.2`)})
	require.NoError(t, err)
	assert.NotEmpty(t, report.Violations)
}

// A chain that is out of use is gone after the sync period.
func TestChainsOutOfUseGo(t *testing.T) {
	s := read(t, shared+"- delete: [service default/web, endpointslice default/web-1]\n")
	report, err := Run(t.Context(), s, Options{})
	require.NoError(t, err)
	assert.Empty(t, report.Violations)
	assert.Positive(t, report.Figures.Clauses["no-stale-chain"])

	report, err = Run(t.Context(), s, Options{Proxier: func(p node.Process) (node.Proxy, []string, error) {
		delete := regexp.MustCompile(`(?m)^delete chain .*\n`)
		p.Kernel.Exec = &edited{p.Kernel.Exec, func(input string) string { return delete.ReplaceAllString(input, "") }}
		return node.Chainwalk(p)
	}})
	require.NoError(t, err)
	require.NotEmpty(t, report.Violations)
	assert.Equal(t, "no-stale-chain", report.Violations[0].Clause.Name)
	assert.Contains(t, report.Violations[0].Got, "default/web")
}

// What somebody does to kube-proxy's table is made good, if it is to be noticed, and is not asked for if it is not.
func TestTableOfNFTablesDamaged(t *testing.T) {
	for _, run := range []string{
		"nft add table ip kube-proxy, nft delete table ip kube-proxy",
		"nft add chain ip kube-proxy services, nft flush chain ip kube-proxy services",
		"nft flush map ip kube-proxy service-ips",
	} {
		s := read(t, shared+"- fault: {run: ["+run+"]}\n- sync: true\n")
		report, err := Run(t.Context(), s, Options{})
		require.NoError(t, err)
		assert.Empty(t, report.Violations, run)
	}
	s := read(t, shared+"- fault: {run: [nft delete table ip kube-proxy]}\n- sync: true\n")
	report, err := Run(t.Context(), s, Options{Proxier: wrapping(func(p node.Proxy) node.Proxy { return careless{p} })})
	require.NoError(t, err)
	assert.NotEmpty(t, report.Violations, "nobody looks")
}

// A table that cannot be filled again is made anew, and forgets its clients.
func TestTableThatIsMadeAnew(t *testing.T) {
	sticky := strings.ReplaceAll(shared, "clusterIP: 172.30.0.2,", "clusterIP: 172.30.0.2, sessionAffinity: ClientIP,")
	sticky = strings.Replace(sticky, "[{addresses: [10.244.1.10]}]", "[{addresses: [10.244.1.10]}, {addresses: [10.244.1.12]}]", 1)
	s := read(t, sticky+`- connect: {from: 10.244.1.11, bind: ":20001", to: "tcp 172.30.0.2:80", as: kept, pick: "10.244.1.10:80",
    expect: {endpoints: ["10.244.1.10:80", "10.244.1.12:80"]}}
- advance: 3600s
- fault: {restoreFails: 3}
- {sync: true, syncMayFail: true}
- {sync: true, syncMayFail: true}
`)
	report, err := Run(t.Context(), s, Options{})
	require.NoError(t, err)
	assert.Empty(t, report.Violations)
}

// A sync that ends with an error of conntrack has written its rules all the same: a service that went while it failed is gone from the
// kernel, and with it the memory of its clients.
func TestServiceReturnsWhileConntrackFails(t *testing.T) {
	sticky := strings.ReplaceAll(shared, "clusterIP: 172.30.0.2, externalIPs: [198.51.100.1],",
		"clusterIP: 172.30.0.2, sessionAffinity: ClientIP,")
	sticky = strings.Replace(sticky, "[{addresses: [10.244.1.10]}]", "[{addresses: [10.244.1.10]}, {addresses: [10.244.1.12]}]", 1)
	s := read(t, sticky+`- connect: {from: 10.244.1.11, bind: ":20001", to: "tcp 172.30.0.2:80", as: kept, pick: "10.244.1.10:80",
    expect: {endpoints: ["10.244.1.10:80", "10.244.1.12:80"]}}
- fault: {conntrackFails: 1}
- {delete: [service default/dns], syncMayFail: true}
- syncMayFail: true
  apply:
  - {apiVersion: v1, kind: Service, metadata: {name: dns}, spec: {clusterIP: 172.30.0.2, sessionAffinity: ClientIP, ports: [{port: 80}]}}
- fault: {heal: true}
- {hold: false, sync: true}
`)
	report, err := Run(t.Context(), s, Options{})
	require.NoError(t, err)
	assert.Empty(t, report.Violations)
}
