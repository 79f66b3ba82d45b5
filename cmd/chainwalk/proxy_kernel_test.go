//go:build linux

package main

import (
	"bytes"
	"cmp"
	"net"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/chainwalk/chainwalk/internal/kerneltest"
)

// kernelObjects are a node, a service of both families and one over UDP.
const kernelObjects = `apiVersion: v1
kind: Node
metadata: {name: worker1}
status: {addresses: [{type: InternalIP, address: 192.168.0.2}, {type: InternalIP, address: "fd00::2"}]}
---
apiVersion: v1
kind: Service
metadata: {name: web, namespace: default}
spec:
  type: NodePort
  clusterIPs: [172.30.0.41, "fd00:172:30::41"]
  clusterIP: 172.30.0.41
  ipFamilies: [IPv4, IPv6]
  ports: [{port: 80, nodePort: 30080}]
---
apiVersion: v1
kind: Service
metadata: {name: dns, namespace: default}
spec: {clusterIP: 172.30.0.10, clusterIPs: [172.30.0.10], ports: [{port: 53, protocol: UDP}]}
---
apiVersion: discovery.k8s.io/v1
kind: EndpointSlice
metadata: {name: web-4, namespace: default, labels: {kubernetes.io/service-name: web}}
addressType: IPv4
ports: [{port: 8080}]
endpoints: [{addresses: [10.244.1.2]}]
---
apiVersion: discovery.k8s.io/v1
kind: EndpointSlice
metadata: {name: web-6, namespace: default, labels: {kubernetes.io/service-name: web}}
addressType: IPv6
ports: [{port: 8080}]
endpoints: [{addresses: ["fd00:10:244::2"]}]
---
apiVersion: discovery.k8s.io/v1
kind: EndpointSlice
metadata: {name: dns-4, namespace: default, labels: {kubernetes.io/service-name: dns}}
addressType: IPv4
ports: [{port: 5353, protocol: UDP}]
endpoints: [{addresses: [DNS]}]
`

// foreignRules belong to somebody else.
const foreignRules = `*nat
:plugin - [0:0]
-A plugin -p tcp -m tcp --dport 99 -j REDIRECT --to-ports 98
-A OUTPUT -m comment --comment "not KUBE-SERVICES" -j plugin
COMMIT
*filter
:guard - [0:0]
-A guard -p tcp -m tcp --dport 23 -j DROP
-A INPUT -j guard
COMMIT
`

// objectsWith are the objects with endpoints of web and of dns.
func objectsWith(web, dns string) string {
	return strings.NewReplacer("[10.244.1.2]}]", web, "[DNS]", dns).Replace(kernelObjects)
}

const (
	oneEndpoint   = "[10.244.1.2]}]"
	twoEndpoints  = "[10.244.1.2]}, {addresses: [10.244.1.3]}]"
	moreEndpoints = "[10.244.1.2]}, {addresses: [10.244.1.3]}, {addresses: [10.244.1.4]}]"
	mostEndpoints = "[10.244.1.2]}, {addresses: [10.244.1.3]}, {addresses: [10.244.1.4]}, {addresses: [10.244.1.5]}]"
)

// A "chainwalk proxy" process on the real tools and kernel, whom everything happens to that happens on a node.
func TestKernelProxy(t *testing.T) {
	kerneltest.Need(t, "ip", "env", "conntrack")
	binary := filepath.Join(t.TempDir(), "chainwalk")
	output, err := exec.Command("go", "build", "-o", binary, ".").CombinedOutput()
	require.NoError(t, err, "%s", output)
	for _, variant := range []string{"legacy", "nft"} {
		t.Run(variant, func(t *testing.T) {
			t.Parallel()
			n := newKernelNode(t, binary, variant)
			n.restore(t, foreignRules)
			foreign := n.rules(t)
			n.write(t, objectsWith(oneEndpoint, "[10.244.1.2]"))
			n.start(t)
			for _, step := range []struct {
				name string
				test func(*testing.T, *kernelNode)
			}{
				{"programs both families", programsBothFamilies},
				{"notices a flush of table nat", noticesFlushOfNAT},
				{"notices that everything was flushed and deleted", noticesFlushOfEverything},
				{"waits for the lock", waitsForTheLock},
				{"repairs after a restore that failed", repairsAfterFailedRestore},
				{"tries again when it cannot get the lock", triesAgainForTheLock},
				{"goes on after a kill", goesOnAfterKill},
				{"stops on SIGTERM", stopsOnSIGTERM},
				{"cleans up", func(t *testing.T, n *kernelNode) { cleansUp(t, n, foreign) }},
			} {
				if !t.Run(step.name, func(t *testing.T) { step.test(t, n) }) {
					return // what follows begins where this one ends
				}
			}
		})
	}
}

func programsBothFamilies(t *testing.T, n *kernelNode) {
	version := n.run(t, "iptables --version")
	assert.Equal(t, n.variant == "nft", strings.Contains(version, "nf_tables"), version)
	rules := strings.Join(n.rules(t), "\n")
	for _, want := range []string{
		"iptables-save*nat -A PREROUTING -m comment --comment \"kubernetes service portals\" -j KUBE-SERVICES",
		"--to-destination 10.244.1.2:8080", "--to-destination 10.244.1.2:5353",
		"ip6tables-save*nat -A PREROUTING -m comment --comment \"kubernetes service portals\" -j KUBE-SERVICES",
		"--to-destination [fd00:10:244::2]:8080",
	} {
		assert.Contains(t, rules, want)
	}
}

func noticesFlushOfNAT(t *testing.T, n *kernelNode) {
	before := n.rules(t)
	syncs, _ := n.metric(t, fullSyncs("IPv4"))
	n.run(t, "iptables -w -F -t nat")
	n.awaitMetric(t, fullSyncs("IPv4"), syncs+1)
	n.awaitRules(t, withForeign(before, n.rules(t)))
}

// withForeign are the rules without those of somebody else that are gone: nobody brings them back.
func withForeign(before, now []string) []string {
	return slices.DeleteFunc(slices.Clone(before), func(line string) bool {
		return (strings.Contains(line, "plugin") || strings.Contains(line, "guard")) && !slices.Contains(now, line)
	})
}

func noticesFlushOfEverything(t *testing.T, n *kernelNode) {
	before := n.rules(t)
	for _, tool := range []string{"iptables", "ip6tables"} {
		for _, table := range []string{"filter", "nat", "mangle"} {
			n.await(t, "an empty table", func() string { // the proxy may come between the two
				n.run(t, tool+" -w -F -t "+table)
				out, err := n.output(n.command(tool, "-w", "-X", "-t", table))
				if err != nil {
					return out
				}
				return ""
			})
		}
	}
	n.awaitRules(t, withForeign(before, n.rules(t)))
	n.restore(t, foreignRules)
}

// The nft tools have no lock, since the kernel takes each restore in one transaction: they do not wait for that of the others.
func waitsForTheLock(t *testing.T, n *kernelNode) {
	release := n.holdLock(t)
	n.write(t, objectsWith(twoEndpoints, "[10.244.1.2]"))
	if n.variant == "nft" {
		awaitEndpoint(t, n, "10.244.1.3:8080")
		release()
		return
	}
	n.await(t, "a sync that waits", func() string { // one that comes late after a flush makes chains first, and waits there
		restore, chain := n.child(t, "iptables-restore"), n.child(t, "iptables")
		if strings.Contains(restore, " -w 5 -W 100000 ") || strings.Contains(chain, " -w 5 -W 100000 -N ") {
			return ""
		}
		return cmp.Or(restore, chain, "no tool runs")
	})
	release()
	awaitEndpoint(t, n, "10.244.1.3:8080")
	_, failed := n.metric(t, restoreFailures)
	assert.False(t, failed, "it has waited, not failed")
}

const restoreFailures = `kubeproxy_sync_proxy_rules_iptables_restore_failures_total{ip_family="IPv4"}`

// The tools give up after five seconds.
func triesAgainForTheLock(t *testing.T, n *kernelNode) {
	before, _ := n.metric(t, restoreFailures)
	release := n.holdLock(t)
	n.write(t, objectsWith(mostEndpoints, "[10.244.1.2]"))
	if n.variant == "legacy" {
		n.awaitMetric(t, restoreFailures, before+1)
	}
	release()
	awaitEndpoint(t, n, "10.244.1.5:8080")
}

func awaitEndpoint(t *testing.T, n *kernelNode, endpoint string) {
	t.Helper()
	n.await(t, endpoint, func() string {
		if rules := n.run(t, "iptables-save -t nat"); !strings.Contains(rules, "--to-destination "+endpoint+"\n") {
			return rules
		}
		return ""
	})
}

func repairsAfterFailedRestore(t *testing.T, n *kernelNode) {
	const failures = `kubeproxy_sync_proxy_rules_iptables_partial_restore_failures_total{ip_family="IPv4"}`
	_, failed := n.metric(t, failures)
	require.False(t, failed, "none has failed yet")
	syncs, _ := n.metric(t, fullSyncs("IPv4"))
	// A new endpoint makes the chain of the service be written again, with a jump to the endpoint that was there.
	saved := n.run(t, "iptables-save -t nat")
	endpoint := regexp.MustCompile(`-A (KUBE-SEP-\w+) .*--to-destination 10\.244\.1\.2:8080`).FindStringSubmatch(saved)[1]
	service := regexp.MustCompile(`-A (KUBE-SVC-\w+) .*-j ` + endpoint).FindStringSubmatch(saved)[1]
	n.run(t, "iptables -w -t nat -F "+service, "iptables -w -t nat -F "+endpoint, "iptables -w -t nat -X "+endpoint)
	n.write(t, objectsWith(moreEndpoints, "[10.244.1.2]"))
	n.awaitMetric(t, failures, 1)
	n.awaitMetric(t, fullSyncs("IPv4"), syncs+1)
	for _, address := range []string{"10.244.1.2:8080", "10.244.1.3:8080", "10.244.1.4:8080"} {
		awaitEndpoint(t, n, address)
	}
	value, _ := n.metric(t, failures)
	assert.InDelta(t, 1, value, 0, "the next sync is whole and does not fail")
}

func goesOnAfterKill(t *testing.T, n *kernelNode) {
	talkToDNS(t, n)
	require.Contains(t, dnsConnections(t, n), "src=10.244.1.2")
	before := n.rules(t)
	require.EqualError(t, n.stop(t, syscall.SIGKILL), "signal: killed")
	n.start(t)
	assert.Equal(t, before, n.rules(t))
	assert.Contains(t, dnsConnections(t, n), "src=10.244.1.2", "nothing has changed")
	// The search for stale entries comes after the rules: a metric shows that there was one.
	n.awaitMetric(t, `kubeproxy_conntrack_reconciler_sync_duration_seconds_count{ip_family="IPv4"}`, 1)
	assert.Contains(t, dnsConnections(t, n), "src=10.244.1.2", "nothing has changed")

	n.write(t, objectsWith(mostEndpoints, "[10.244.1.9]"))
	n.awaitMetric(t, `kubeproxy_conntrack_reconciler_deleted_entries_total{ip_family="IPv4"}`, 1)
	assert.Empty(t, dnsConnections(t, n), "the endpoint is gone")
}

// talkToDNS sends a datagram to the service dns and has it answered by the endpoint.
func talkToDNS(t *testing.T, n *kernelNode) {
	t.Helper()
	var server, client *net.UDPConn
	require.NoError(t, n.ns.Namespace.Do(func() (err error) {
		if server, err = net.ListenUDP("udp", &net.UDPAddr{IP: net.IPv4(10, 244, 1, 2), Port: 5353}); err != nil {
			return err
		}
		client, err = net.DialUDP("udp", &net.UDPAddr{IP: net.IPv4(10, 244, 1, 9)}, &net.UDPAddr{IP: net.IPv4(172, 30, 0, 10), Port: 53})
		return err
	}))
	defer func() { _, _ = server.Close(), client.Close() }()
	for _, conn := range []*net.UDPConn{server, client} {
		require.NoError(t, conn.SetDeadline(time.Now().Add(patience)))
	}
	_, err := client.Write([]byte("question"))
	require.NoError(t, err)
	buffer := make([]byte, 16)
	length, from, err := server.ReadFrom(buffer)
	require.NoError(t, err)
	assert.Equal(t, "question", string(buffer[:length]))
	_, err = server.WriteTo([]byte("answer"), from)
	require.NoError(t, err)
	length, err = client.Read(buffer)
	require.NoError(t, err)
	assert.Equal(t, "answer", string(buffer[:length]))
}

// dnsConnections are the entries to the service dns.
func dnsConnections(t *testing.T, n *kernelNode) string {
	t.Helper()
	cmd := n.command("conntrack", "-L", "-p", "udp", "-d", "172.30.0.10")
	var list bytes.Buffer
	cmd.Stdout = &list
	require.NoError(t, n.ns.Namespace.Do(cmd.Run))
	return list.String()
}

func stopsOnSIGTERM(t *testing.T, n *kernelNode) {
	before := n.rules(t)
	require.NoError(t, n.stop(t, syscall.SIGTERM), "exit status 0")
	want := slices.DeleteFunc(slices.Clone(before), func(line string) bool { return strings.Contains(line, "KUBE-PROXY-CANARY") })
	require.Len(t, want, len(before)-6, "three canaries for each family")
	assert.Equal(t, want, n.rules(t))
}

func cleansUp(t *testing.T, n *kernelNode, foreign []string) {
	n.run(t, n.binary+" proxy --cleanup")
	left := slices.DeleteFunc(n.rules(t), func(line string) bool { return strings.Contains(line, "KUBE-FIREWALL") })
	assert.Equal(t, foreign, left, "KUBE-FIREWALL is the kubelet's, too")
}
