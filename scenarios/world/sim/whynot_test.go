package sim

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/chainwalk/chainwalk/scenarios"
)

// failing makes a scenario of a service with one port and one slice, each with fields of its own, whose last step calls the service and
// expects what is not.
func failing(service, slice, steps string) string {
	return `name: failing
topology:
  nodes: [{name: node1, zone: a}, {name: node2, zone: b}]
  pods: [{name: client, node: node1}, {name: near, node: node1, addresses: [10.244.0.2]}, {name: far, node: node2, addresses: [10.244.1.2]}]
  outside: [{name: caller, addresses: [203.0.113.9]}]
objects:
- {apiVersion: v1, kind: Service, metadata: {name: web}, spec: {type: LoadBalancer, clusterIP: 172.30.0.41, ports: [{name: http, port: 80}], ` +
		service + `},
   status: {loadBalancer: {ingress: [{ip: 198.51.100.7}]}}}
- {apiVersion: discovery.k8s.io/v1, kind: EndpointSlice, metadata: {name: web-1, labels: {kubernetes.io/service-name: web}}, addressType: IPv4, ` +
		slice + `}
steps:
` + steps
}

// The ends of a failing scenario.
const (
	both = "ports: [{name: http, port: 8080}], endpoints: [{addresses: [10.244.0.2], nodeName: node1}, " +
		"{addresses: [10.244.1.2], nodeName: node2}]"
	notBoth    = "- connect: {name: last, from: client, to: 'tcp 172.30.0.41:80', expect: reject}\n"
	fromCaller = "- connect: {name: last, from: caller, to: 'tcp 198.51.100.7:80', expect: reject}\n"
)

// fromOutside is what is said where a policy Local leaves no endpoint to clients outside.
var fromOutside = []string{
	"10.244.1.2:8080: policy Local: it is on node2 and the packet on node1 (externalTrafficPolicy)",
	`nat:KUBE-EXT-CDGGSHYLG3RE2FKL:rule:1 (service default/web:http): nearly matched, but for "-s 10.244.0.0/16": ` +
		`-A KUBE-EXT-CDGGSHYLG3RE2FKL ` +
		`-s 10.244.0.0/16 -m comment --comment "pod traffic for default/web:http external destinations" -j KUBE-SVC-CDGGSHYLG3RE2FKL`,
	`nat:KUBE-EXT-CDGGSHYLG3RE2FKL:rule:3 (service default/web:http): nearly matched, but for "-m addrtype --src-type LOCAL": ` +
		`-A KUBE-EXT-CDGGSHYLG3RE2FKL -m comment --comment "route LOCAL traffic for default/web:http external destinations" ` +
		`-m addrtype --src-type LOCAL -j KUBE-SVC-CDGGSHYLG3RE2FKL`,
}

// unreachedCases have each reason why an endpoint is not reached in a scenario of its own; want and notes are what the failure says.
var unreachedCases = []struct {
	name, service, slice, steps string
	want, notes                 []string
}{
	{name: "terminating", slice: "ports: [{name: http, port: 8080}], endpoints: [{addresses: [10.244.0.2], nodeName: node1}, " +
		"{addresses: [10.244.1.2], nodeName: node2, conditions: {ready: false, serving: true, terminating: true}}]",
		steps: notBoth, want: []string{"10.244.1.2:8080: terminating, while others are ready"}},
	{name: "not ready", slice: "ports: [{name: http, port: 8080}], endpoints: [{addresses: [10.244.0.2], nodeName: node1}, " +
		"{addresses: [10.244.1.2], nodeName: node2, conditions: {ready: false}}]",
		steps: notBoth, want: []string{"10.244.1.2:8080: not ready"}},
	{name: "a hint of another zone", slice: "ports: [{name: http, port: 8080}], endpoints: " +
		"[{addresses: [10.244.0.2], nodeName: node1, hints: {forZones: [{name: a}]}}, {addresses: [10.244.1.2], nodeName: node2, " +
		"hints: {forZones: [{name: b}]}}]",
		steps: notBoth, want: []string{"10.244.1.2:8080: hint of zone b: node1 is in zone a"}},
	{name: "another port name", slice: "ports: [{name: web, port: 8080}], endpoints: [{addresses: [10.244.0.2], nodeName: node1}]",
		steps: "- connect: {name: last, from: client, to: 'tcp 172.30.0.41:80', expect: {endpoints: ['10.244.0.2:8080']}}\n",
		want: []string{
			`10.244.0.2: port name differs: endpoint slice web-1 has "web" of TCP, the service port is "http" of TCP`,
		}},
	{name: "source ranges", service: "loadBalancerSourceRanges: [192.0.2.0/24]", slice: both, steps: fromCaller, want: []string{
		"10.244.0.2:8080: source range: 203.0.113.9 is in none of 192.0.2.0/24 (loadBalancerSourceRanges)",
		"10.244.1.2:8080: source range: 203.0.113.9 is in none of 192.0.2.0/24 (loadBalancerSourceRanges)",
		`nat:KUBE-FW-CDGGSHYLG3RE2FKL:rule:1 (service default/web:http): nearly matched, but for "-s 192.0.2.0/24": ` +
			`-A KUBE-FW-CDGGSHYLG3RE2FKL ` +
			`-s 192.0.2.0/24 -m comment --comment "default/web:http loadbalancer IP" -j KUBE-EXT-CDGGSHYLG3RE2FKL`,
	}},
	{name: "policy Local, the endpoint on another node", service: "internalTrafficPolicy: Local",
		slice: "ports: [{name: http, port: 8080}], endpoints: [{addresses: [10.244.1.2], nodeName: node2}]",
		steps: "- connect: {name: last, from: client, to: 'tcp 172.30.0.41:80', expect: {endpoints: ['10.244.1.2:8080']}}\n",
		want:  []string{"10.244.1.2:8080: policy Local: it is on node2 and the packet on node1 (internalTrafficPolicy)"}},
	{name: "policy Local, from outside", service: "externalTrafficPolicy: Local",
		slice: "ports: [{name: http, port: 8080}], endpoints: [{addresses: [10.244.1.2], nodeName: node2}]",
		steps: fromCaller,
		want:  fromOutside},
	{name: "another port", slice: both, steps: "- connect: {name: last, from: client, to: 'tcp 172.30.0.41:81', expect: reject}\n",
		want: []string{
			"service default/web: it has no port 81 of TCP: it has http 80/TCP",
			`nat:KUBE-SERVICES:rule:1 (service default/web:http): nearly matched, but for "-m tcp --dport 80": -A KUBE-SERVICES ` +
				`-d 172.30.0.41/32 -p tcp ` +
				`-m comment --comment "default/web:http cluster IP" -m tcp --dport 80 -j KUBE-SVC-CDGGSHYLG3RE2FKL`,
		}},
	{name: "a service without endpoints", slice: "ports: [{name: http, port: 8080}], endpoints: []",
		steps: "- connect: {name: last, from: client, to: 'tcp 172.30.0.41:80', expect: drop}\n",
		want: []string{
			"service default/web: no endpoint slice has an endpoint of it, and it has no selector by which Kubernetes would make one",
		}},
	{name: "a service that was deleted", slice: both, steps: "- delete: [service default/web]\n" + notBoth,
		want: []string{"service default/web: no such Service is there now"}},
	{name: "rules that were flushed", slice: both, steps: "- fault: {flush: [nat], node: node1}\n" + notBoth, want: []string{
		"10.244.0.2:8080: missing: no rule of node1 leads to it (kube-proxy there has not written it, or somebody has removed it)",
		"10.244.1.2:8080: missing: no rule of node1 leads to it (kube-proxy there has not written it, or somebody has removed it)",
	}},
	{name: "a node that is held", slice: "ports: [{name: http, port: 8080}], endpoints: [{addresses: [10.244.0.2], nodeName: node1}]",
		steps: "- hold: [node1]\n- apply: [{apiVersion: discovery.k8s.io/v1, kind: EndpointSlice, metadata: {name: web-1, " +
			"labels: {kubernetes.io/service-name: web}}, addressType: IPv4, ports: [{name: http, port: 8080}], " +
			"endpoints: [{addresses: [10.244.1.2], nodeName: node2}]}]\n" + notBoth,
		want: []string{"10.244.1.2:8080: missing: no rule of node1 leads to it " +
			"(kube-proxy there did not get all changes of service default/web: node1 is held)"},
		notes: []string{"stale: 10.244.0.2:8080 is reached and is by the objects no endpoint of default/web: the rules of node1 are older"}},
	{name: "a client that is remembered", service: "sessionAffinity: ClientIP", slice: both,
		steps: "- connect: {as: first, pick: '10.244.0.2:8080', from: client, to: 'tcp 172.30.0.41:80', " +
			"expect: {endpoints: ['10.244.0.2:8080', '10.244.1.2:8080']}}\n" +
			"- connect: {name: last, from: client, bind: ':41000', to: 'tcp 172.30.0.41:80', expect: reject}\n",
		want: []string{"10.244.1.2:8080: session affinity: the client is remembered for another endpoint"}},
	{name: "one packet at a node, from nobody in the topology", service: "externalTrafficPolicy: Local",
		slice: "ports: [{name: http, port: 8080}], endpoints: [{addresses: [10.244.1.2], nodeName: node2}]",
		steps: "- send: {name: last, node: node1, packet: 'tcp 192.0.2.77:40000 > 198.51.100.7:80 in eth0', expect: reject}\n",
		want:  fromOutside},
	{name: "every endpoint is reached", slice: both, steps: notBoth},
	{name: "an address of nobody", slice: both, steps: "- connect: {name: last, from: client, to: 'tcp 172.30.0.99:80', expect: drop}\n"},
}

func TestFailuresSayWhyEndpointsAreNotReached(t *testing.T) {
	for _, tc := range unreachedCases {
		t.Run(tc.name, func(t *testing.T) {
			result := runText(t, failing(tc.service, tc.slice, tc.steps))
			last := result.Checks[len(result.Checks)-1]
			require.Equal(t, "last", last.Name)
			require.False(t, last.Passed)
			require.False(t, last.Error, last.Wrong)
			var got []string
			for _, u := range last.Unreached {
				got = append(got, u.What+": "+u.Why)
			}
			assert.Equal(t, tc.want, withoutPods(got))
			assert.Equal(t, tc.notes, withoutPods(last.Notes))
			assert.Equal(t, last.Unreached, result.Checks[len(result.Checks)/2-1].Unreached, "both variants of the tools")
		})
	}
}

// withoutPods are texts without the names of the topology's pods.
func withoutPods(texts []string) []string {
	var out []string
	for _, text := range texts {
		out = append(out, strings.NewReplacer(" (pod near)", "", " (pod far)", "").Replace(text))
	}
	return out
}

func runText(t *testing.T, text string) *scenarios.Result {
	t.Helper()
	s, err := scenarios.Read("failing.yaml", strings.NewReader(text))
	require.NoError(t, err)
	return scenarios.Run(t.Context(), s, Backend{})
}

// TestReportsSayWhyEndpointsAreNotReached: each report has the reasons, a text few of them where the ways are not wanted.
func TestReportsSayWhyEndpointsAreNotReached(t *testing.T) {
	slice := "ports: [{name: http, port: 8080}], endpoints: [{addresses: [10.244.0.2], nodeName: node1}"
	for i := 10; i < 25; i++ {
		slice += fmt.Sprintf(", {addresses: [10.244.1.%d], nodeName: node2, conditions: {ready: false}}", i)
	}
	results := []*scenarios.Result{runText(t, failing("", slice+"]", notBoth))}

	var out strings.Builder
	require.NoError(t, scenarios.WriteText(&out, results, scenarios.WaysNone))
	assert.Contains(t, out.String(), "    not reached:\n      10.244.1.10:8080: not ready\n      10.244.1.11:8080: not ready\n"+
		"      10.244.1.12:8080: not ready\n      and 12 more (-o json has them)\n    decided by -A KUBE-SEP-")
	assert.Equal(t, 1, strings.Count(out.String(), "not reached:"), "both variants of the tools agree")
	out.Reset()
	require.NoError(t, scenarios.WriteText(&out, results, scenarios.WaysFailed))
	assert.Contains(t, out.String(), "      10.244.1.21:8080: not ready\n      and 3 more (-o json has them)\n    decided by -A KUBE-SEP-")
	out.Reset()
	require.NoError(t, scenarios.WriteJUnit(&out, results))
	assert.Contains(t, out.String(), "    not reached:\n      10.244.1.10:8080: not ready\n")
	out.Reset()
	require.NoError(t, scenarios.WriteJSON(&out, results, scenarios.WaysNone))
	var report struct {
		Results []struct {
			Checks []struct{ Unreached []struct{ What, Why string } }
		}
	}
	require.NoError(t, json.Unmarshal([]byte(out.String()), &report))
	require.Len(t, report.Results[0].Checks[0].Unreached, 15)
	assert.Equal(t, "10.244.1.24:8080", report.Results[0].Checks[0].Unreached[14].What)
	assert.Equal(t, "not ready", report.Results[0].Checks[0].Unreached[14].Why)
}
