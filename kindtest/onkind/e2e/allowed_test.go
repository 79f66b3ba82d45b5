package main

import (
	"bytes"
	"net/url"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/chainwalk/chainwalk/internal/command"
	"github.com/chainwalk/chainwalk/internal/race"
	"github.com/chainwalk/chainwalk/scenarios"
)

const modesDiffer = `name: a
topology:
  nodes: [{extraAddresses: [192.168.1.2]}, {}]
  pods: [{name: client, node: node1}]
  outside: [{name: internet, addresses: [203.0.113.7]}]
objects:
- apiVersion: v1
  kind: Service
  metadata: {name: web}
  spec: {type: NodePort, clusterIP: 172.30.0.41, ports: [{port: 80, nodePort: 30080}]}
steps:
- connect: {name: nobody's yet, from: client, to: "tcp 172.30.0.42:80", expect: untouched}
- connect: {name: nobody's ever, from: client, to: "tcp 172.30.0.99:80", expect: untouched}
- connect: {name: loopback, from: node1, to: "tcp 127.0.0.1:30080", as: kept, expect: reject}
- connect: {name: another address, from: internet, to: "tcp 192.168.1.2:30080", expect: reject}
- connect: {name: the pods' gateway, from: client, to: "tcp 10.244.1.1:30080", expect: reject}
- connect: {name: the primary address, from: internet, to: "tcp 192.168.0.2:30080", expect: reject}
- connect: {name: another protocol, from: internet, to: "udp 192.168.1.2:30080", expect: reject}
- connect: {name: no node port, from: node1, to: "tcp 127.0.0.1:22", expect: reject}
- connect: {name: its port, from: client, to: "tcp 172.30.0.41:80", expect: reject}
- cases:
  - {name: a port it has not, from: client, to: "tcp 172.30.0.41:81", expect: untouched}
  - {name: a protocol it has not, from: client, to: "udp 172.30.0.41:80", expect: untouched}
  - {name: an echo request, from: client, to: "icmp 172.30.0.41", expect: untouched}
- flow: {of: kept, expect: {drop: true}}
- send: {name: of no connection, node: node1, packet: "tcp 203.0.113.7:443 > 10.244.1.100:5555 in eth0 flags SYN,ACK", expect: {drop: true}}
- send: {name: a first one, node: node1, packet: "tcp 203.0.113.7:443 > 127.0.0.1:30080 in eth0", expect: {drop: true}}
- restart: [node1]
  kubeProxy: {nodePortAddresses: [192.168.1.0/24]}
- connect: {name: an address that is asked for, from: internet, to: "tcp 192.168.1.2:30080", expect: reject}
- apply:
  - {apiVersion: v1, kind: Service, metadata: {name: late}, spec: {clusterIP: 172.30.0.42, ports: [{port: 80}]}}
- connect: {name: somebody's now, from: client, to: "tcp 172.30.0.42:80", as: one, expect: reject}
- {name: out of the window, flow: {of: one, from: server, send: outOfWindow, expect: {drop: true}}}
- {name: after it, flow: {of: one, from: server, expect: {drop: true}}}
- apply:
  - {apiVersion: v1, kind: Service, metadata: {name: late}, spec: {type: ExternalName, externalName: example.com}}
- connect: {name: without an address, from: client, to: "tcp 172.30.0.42:80", expect: untouched}
- apply:
  - apiVersion: v1
    kind: Service
    metadata: {name: late, labels: {service.kubernetes.io/service-proxy-name: ""}}
    spec: {clusterIP: 172.30.0.42, ports: [{port: 80}]}
- connect: {name: of another proxy, from: client, to: "tcp 172.30.0.42:80", expect: untouched}
- delete: [service default/web]
- connect: {name: what is gone, from: client, to: "tcp 172.30.0.41:80", expect: untouched}
`

func readScenario(t *testing.T, text string) *scenarios.Scenario {
	t.Helper()
	s, err := scenarios.Read("in.yaml", strings.NewReader(text))
	require.NoError(t, err)
	return s
}

func TestProbesAreFoundThatModesAnswerDifferently(t *testing.T) {
	got := clausesOf(readScenario(t, modesDiffer))
	byName := map[string][]clause{}
	for m, clauses := range got {
		line := strings.Split(modesDiffer, "\n")[lineOf(t, m.at)-1]
		name := "flow"
		if _, rest, ok := strings.Cut(line, "name: "); ok {
			name, _, _ = strings.Cut(rest, ",")
		}
		byName[name] = clauses
	}
	assert.Equal(t, map[string][]clause{
		"loopback": {localhostNodePort}, "another address": {otherNodePort}, "the pods' gateway": {otherNodePort},
		"a port it has not": {unusedPort}, "a protocol it has not": {unusedPort}, "flow": {localhostNodePort},
		"of no connection": {invalidPacket}, "a first one": {localhostNodePort}, "what is gone": {unallocatedIP},
		"nobody's yet": {unallocatedIP}, "without an address": {unallocatedIP}, "of another proxy": {unallocatedIP},
		"out of the window": {invalidPacket}, "after it": {invalidPacket},
	}, byName)
}

// lineOf is the line of a place such as in.yaml:15:3.
func lineOf(t *testing.T, at string) int {
	t.Helper()
	line, err := strconv.Atoi(strings.Split(at, ":")[1])
	require.NoError(t, err, at)
	return line
}

// TestShippedFilesAskAllThatModesAnswerDifferently: an allowance that nothing asks about would hide nothing, and say nothing.
func TestShippedFilesAskAllThatModesAnswerDifferently(t *testing.T) {
	race.OneGoroutine(t)
	all, err := shippedFiles()
	require.NoError(t, err)
	asked := map[clause]int{}
	for _, s := range all {
		for _, clauses := range clausesOf(s) {
			for _, c := range clauses {
				asked[c]++
			}
		}
	}
	t.Log(asked)
	for _, a := range allowances {
		assert.Positive(t, asked[a.Clause], a.Clause)
	}
}

func TestEachAllowanceHasADocument(t *testing.T) {
	for _, a := range allowances {
		link, err := url.Parse(a.Document)
		require.NoError(t, err)
		assert.Equal(t, "https", link.Scheme)
		assert.NotEmpty(t, link.Fragment, "the section of the document")
		assert.NotEmpty(t, a.Sentence)
		assert.NotEqual(t, "iptables", a.Mode, "which the expectations are about")
	}
}

func TestOnlyWhatADocumentSaysIsAllowed(t *testing.T) {
	for about, row := range map[string]struct {
		mode     string
		packet   string
		clauses  []clause
		outcomes []string
		allowed  bool
	}{
		"as the document says": {"nftables", "tcp 127.0.0.1:30080 from node1", []clause{localhostNodePort},
			[]string{"refused with tcp-reset"}, true},
		"the node's own process": {"nftables", "tcp 127.0.0.1:30080 from node1", []clause{localhostNodePort},
			[]string{"answered by node1 at 127.0.0.1:30080, from 127.0.0.1"}, true},
		"an endpoint": {"nftables", "tcp 127.0.0.1:30080 from node1", []clause{localhostNodePort},
			[]string{"answered by web at 10.244.1.2:80, from 10.244.1.1"}, false},
		"another process": {"nftables", "tcp 127.0.0.1:30080 from node1", []clause{localhostNodePort},
			[]string{"answered by node1 at 127.0.0.1:80, from 127.0.0.1"}, false},
		"at another address": {"nftables", "tcp [fd00::2]:30080 from node1", []clause{otherNodePort},
			[]string{"answered by node1 at [fd00::2]:30080, from [fd00::3]"}, true},
		"an endpoint of it": {"nftables", "tcp [fd00::2]:30080 from node1", []clause{otherNodePort},
			[]string{"answered by web at [fd00::9]:30080, from [fd00::3]"}, false},
		"another mode": {"iptables", "tcp 127.0.0.1:30080 from node1", []clause{localhostNodePort},
			[]string{"refused with tcp-reset"}, false},
		"another end": {"nftables", "tcp 127.0.0.1:30080 from node1", []clause{localhostNodePort}, []string{"silent"}, false},
		"an end of two": {"nftables", "tcp 127.0.0.1:30080 from node1", []clause{localhostNodePort},
			[]string{"refused with tcp-reset", "silent"}, false},
		"nothing was seen": {"nftables", "tcp 127.0.0.1:30080 from node1", []clause{localhostNodePort}, nil, false},
		"another clause": {"nftables", "tcp 127.0.0.1:30080 from node1", []clause{unusedPort}, []string{"refused with tcp-reset"},
			false},
		"a port that is not used": {"nftables", "tcp 127.0.0.1:30080 from node1", []clause{unusedPort},
			[]string{"refused with icmp-port-unreachable"}, true},
		"one of two clauses":       {"nftables", "tcp 127.0.0.1:30080 from node1", []clause{unusedPort, invalidPacket}, []string{"silent"}, true},
		"about nothing particular": {"nftables", "tcp 127.0.0.1:30080 from node1", nil, []string{"silent"}, false},
		"gone":                     {"nftables", "tcp 127.0.0.1:30080 from node1", []clause{unallocatedIP}, []string{"silent"}, true},
		"gone, and refused": {"nftables", "tcp 127.0.0.1:30080 from node1", []clause{unallocatedIP},
			[]string{"refused with icmp-port-unreachable"}, false},
		"not the primary address": {"nftables", "tcp 127.0.0.1:30080 from node1", []clause{otherNodePort},
			[]string{"refused with icmp-port-unreachable"}, true},
	} {
		assert.Equal(t, row.allowed, allowedBy(row.mode, row.packet, row.clauses, row.outcomes) != nil, about)
	}
}

// refusedOn are checks of two probes and a step that could not be made, none of them as expected: at a loopback address, and at a second
// place.
func refusedOn(second string, last ...scenarios.Check) *scenarios.Result {
	refused := []scenarios.Way{{End: scenarios.Refused, Heard: true}}
	return &scenarios.Result{Name: "web", File: "web.yaml", Checks: append([]scenarios.Check{
		{Step: 1, At: "web.yaml:1:1", Name: "loopback", Packet: "tcp 127.0.0.1:30080 from node1", Wrong: "refused", Ways: refused},
		{Step: 2, At: second, Name: "second", Packet: "tcp 10.0.0.1:80 from node1", Passed: second == "", Wrong: second, Ways: refused},
	}, last...)}
}

func TestWhatIsAllowedDiffersAndDoesNotFail(t *testing.T) {
	clauses := map[moment][]clause{{1, "web.yaml:1:1"}: {localhostNodePort}, {3, "web.yaml:3:1"}: {localhostNodePort}}
	flow := scenarios.Check{Step: 3, At: "web.yaml:3:1", Name: "flow", Wrong: "there is no such connection"}
	rules := scenarios.Check{Step: 4, At: "web.yaml:4:1", Name: "rules", Passed: true, Skipped: "there are none"}

	row := rowOf(refusedOn("", flow, rules), nil, "nftables", clauses)
	assert.Equal(t, resultDiffers, row.Result)
	assert.Equal(t, localhostNodePort, row.Probes[0].Allowed.Clause)
	assert.Nil(t, row.Probes[1].Allowed)
	assert.NotNil(t, row.Others[0].Allowed, "its connection could not be made")
	assert.Equal(t, resultFailed, rowOf(refusedOn("", flow), nil, "iptables", clauses).Result, "another mode")
	assert.Equal(t, resultFailed, rowOf(refusedOn("web.yaml:2:1"), nil, "nftables", clauses).Result, "another probe is wrong")
	assert.Equal(t, resultFailed, rowOf(refusedOn("", scenarios.Check{Step: 3, Wrong: "broken"}), nil, "nftables", clauses).Result,
		"another step is wrong")

	r := &report{Version: reportVersion, Proxy: "kube-proxy", Mode: "nftables", Tool: "nft", Family: "dual", Scenarios: []scenarioRow{row}}
	var told strings.Builder
	r.writeSummary(&told)
	assert.Contains(t, told.String(), "1 ran (100 of 100), 0 failed\n")
	assert.Contains(t, told.String(), "columns disagree: 0 (")
	assert.Contains(t, told.String(), "other checks: 1, not as expected: 0\n  passed over, as they cannot be seen here: 1\n")
	assert.Contains(t, told.String(), "other than expected, as documents allow for mode nftables: 2\n")
	assert.Equal(t, "differs as allowed (1 of 2 probes)", row.cell())
	path, err := r.writeFiles(t.TempDir(), "sample")
	require.NoError(t, err)
	read, err := readReport(path)
	require.NoError(t, err)
	assert.Equal(t, row.Probes[0].Allowed.Sentence, read.Scenarios[0].Probes[0].Allowed.Sentence)
}

// TestJoinTellsAllowedDifferencesFromFindings compares mode iptables with nftables, where one difference is allowed and another one is not.
func TestJoinTellsAllowedDifferencesFromFindings(t *testing.T) {
	folder := t.TempDir()
	write := func(mode, loopback, clusterIP string) string {
		r := &report{Version: reportVersion, Proxy: "kube-proxy", Mode: mode, Tool: "nft", Family: "dual", Scenarios: []scenarioRow{{
			Name: "web", File: "web.yaml", Result: resultHeld, Probes: []probeRow{
				{At: "web.yaml:1:1", Name: "loopback", Packet: "tcp 127.0.0.1:30080 from node1", Outcomes: []string{loopback},
					Clauses: []clause{localhostNodePort}},
				{At: "web.yaml:2:1", Name: "cluster IP", Packet: "tcp 172.30.0.41:80 from node1", Outcomes: []string{clusterIP}},
			},
		}}}
		path, err := r.writeFiles(folder, mode+loopback[:3]+clusterIP[:3])
		require.NoError(t, err)
		return path
	}
	const web, reset = "answered by web at 10.244.1.2:80, from 10.244.1.1", "refused with tcp-reset"
	join := func(paths ...string) (status int, text string) {
		var out bytes.Buffer
		status = newCommand().Run(t.Context(), append([]string{"-join"}, paths...), &out, &out)
		return status, out.String()
	}
	status, text := join(write("iptables", web, web), write("nftables", reset, web))
	assert.Equal(t, command.Held, status)
	assert.Contains(t, text, "1 differences, 0 of them findings\n")
	assert.Contains(t, text,
		"  - kube-proxy nftables (iptables-nft): refused with tcp-reset\n"+
			"    - allowed: a node port at a loopback address: \"NodePort services on 127.0.0.1")
	assert.NotContains(t, text, "a finding")

	status, text = join(write("iptables", web, web), write("nftables", reset, reset))
	assert.Equal(t, command.Failed, status)
	assert.Contains(t, text, "2 differences, 1 of them findings\n")
	assert.Contains(t, text, "- web: cluster IP (tcp 172.30.0.41:80 from node1)\n  - kube-proxy iptables (iptables-nft): "+web+
		"\n  - kube-proxy nftables (iptables-nft): refused with tcp-reset\n  - a finding: no document allows it\n")

	status, text = join(write("iptables", web, web), write("iptables", "silent", web), write("nftables", reset, web))
	assert.Equal(t, command.Failed, status, "the two in mode iptables differ")
	assert.Contains(t, text, "1 differences, 1 of them findings\n")
}
