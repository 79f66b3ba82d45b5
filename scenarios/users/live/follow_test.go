package live

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"

	"github.com/chainwalk/chainwalk/packetsim"
	"github.com/chainwalk/chainwalk/packetsim/inet"
	"github.com/chainwalk/chainwalk/packetsim/snapshot"
	"github.com/chainwalk/chainwalk/scenarios/explain/names"
	"github.com/chainwalk/chainwalk/scenarios/format/manifest"
)

func inputOf(t *testing.T, text string) inet.Input {
	in, err := inet.ParseInput(text)
	require.NoError(t, err)
	return in
}

// followed is a connection through the recorded cluster, a line for each way: the hosts there, and what came of it.
func followed(t *testing.T, c *Cluster, text, via string) []string {
	in := inputOf(t, text)
	v, err := c.View(in.Src, in.Dst)
	require.NoError(t, err)
	f, err := v.Follow(in, via)
	require.NoError(t, err)
	var out []string
	for i := range f.Connections {
		way := &f.Connections[i]
		var hosts []string
		for _, hop := range way.Forward.Hops {
			hosts = append(hosts, hop.Host)
		}
		end := map[bool]string{true: "made", false: "not made"}[way.Made]
		if way.Made {
			end += fmt.Sprintf(": %s sees %s", way.Asked, way.Client.Addr())
		}
		out = append(out, fmt.Sprintf("%.2f %s: %s", way.Probability, strings.Join(hosts, " "), end))
	}
	return append(out, f.Notes...)
}

// TestConnectionsAreFollowedThereAndBack holds what is followed to what was seen when the cluster was recorded (internal/dumps/README.md)
// and to its addresses.
func TestConnectionsAreFollowedThereAndBack(t *testing.T) {
	for _, tc := range []struct {
		name, packet, via string
		want              []string
	}{
		{"a pod calls a cluster IP", "tcp 10.244.2.3:40000 > 10.96.125.22:80", "", []string{
			"0.33 echo-77c9b5bcb7-d6rwv demo-worker demo-worker2 echo-77c9b5bcb7-ngq5b: made: 10.244.1.2:8080 sees 10.244.2.3",
			"0.33 echo-77c9b5bcb7-d6rwv demo-worker demo-worker2 echo-77c9b5bcb7-pj6sh: made: 10.244.1.3:8080 sees 10.244.2.3",
			"0.33 echo-77c9b5bcb7-d6rwv demo-worker echo-77c9b5bcb7-d6rwv: made: 10.244.2.3:8080 sees 10.244.2.1"}},
		{"a node calls its own pod", "tcp 172.18.0.3:40000 > 10.96.233.187:80", "", []string{
			"1.00 demo-worker one-78b79d6f88-h7zhv: made: 10.244.2.2:8080 sees 10.244.2.1"}},
		{"from outside, to the node with the endpoint", "tcp 198.51.100.77:40000 > 172.18.0.3:30081", "", []string{
			"1.00 198.51.100.77 router demo-worker one-78b79d6f88-h7zhv: made: 10.244.2.2:8080 sees 198.51.100.77"}},
		{"from outside, to a node without one", "tcp 198.51.100.77:40000 > 172.18.0.2:30081", "", []string{
			"1.00 198.51.100.77 router demo-worker2: not made"}},
		{"a load balancer's address, by the first node", "tcp 203.0.113.77:40000 > 203.0.113.12:80", "", []string{
			"1.00 203.0.113.77 router demo-control-plane: not made"}},
		{"a load balancer's address, by a node", "tcp 203.0.113.77:40000 > 203.0.113.12:80", "demo-worker", []string{
			"1.00 203.0.113.77 router demo-worker one-78b79d6f88-h7zhv: made: 10.244.2.2:8080 sees 203.0.113.77"}},
		{"a process of a node behind a service", "tcp 10.244.1.2:40000 > 10.96.0.1:443", "", []string{
			"1.00 echo-77c9b5bcb7-ngq5b demo-worker2 demo-control-plane: made: 172.18.0.4:6443 sees 10.244.1.2"}},
		{"IPv6", "tcp [fd00:10:244:2::2]:40000 > [fd00:10:96::2b12]:80", "", []string{
			"1.00 one-78b79d6f88-h7zhv demo-worker one-78b79d6f88-h7zhv: made: [fd00:10:244:2::2]:8080 sees fd00:10:244:2::1"}},
		{"a ping", "icmp 10.244.2.3 > 10.244.1.2", "", []string{
			"1.00 echo-77c9b5bcb7-d6rwv demo-worker demo-worker2 echo-77c9b5bcb7-ngq5b: made: 10.244.1.2:0 sees 10.244.2.3"}},
		{"the world outside", "udp 10.244.2.3:40000 > 8.8.8.8:53", "", []string{
			"1.00 echo-77c9b5bcb7-d6rwv demo-worker router 8.8.8.8: made: 8.8.8.8:53 sees 10.244.2.3"}},
		{"a service that is none", "tcp 10.244.2.3:40000 > 10.96.57.53:7000", "", []string{
			"1.00 echo-77c9b5bcb7-d6rwv demo-worker router: not made"}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			for _, tools := range []string{"nft", "legacy"} {
				assert.Equal(t, tc.want, followed(t, recorded(t, tools, dumpNodes...), tc.packet, tc.via), tools)
			}
		})
	}
}

// TestSnapshotsAloneMakeACluster: nodes and pods are found without objects.
func TestSnapshotsAloneMakeACluster(t *testing.T) {
	c := recorded(t, "nft", dumpNodes...)
	c.Objects = nil
	assert.Equal(t, []string{
		"0.33 10.244.2.3 demo-worker demo-worker2 10.244.1.2: made: 10.244.1.2:8080 sees 10.244.2.3",
		"0.33 10.244.2.3 demo-worker demo-worker2 10.244.1.3: made: 10.244.1.3:8080 sees 10.244.2.3",
		"0.33 10.244.2.3 demo-worker 10.244.2.3: made: 10.244.2.3:8080 sees 10.244.2.1",
	}, followed(t, c, "tcp 10.244.2.3:40000 > 10.96.125.22:80", ""))
	assert.Equal(t, []string{"1.00 203.0.113.77 router demo-control-plane: not made"},
		followed(t, c, "tcp 203.0.113.77:40000 > 203.0.113.12:80", ""), "an address that rules are about is no machine's")
}

func TestFollowingSaysWhatIsAssumed(t *testing.T) {
	c := recorded(t, "nft", "demo-worker")
	out := followed(t, c, "tcp 10.244.2.3:40000 > 10.244.1.2:8080", "")
	assert.Contains(t, out, "there is no snapshot of demo-worker2: packets pass it as if it had no rules")
	assert.NotContains(t, strings.Join(out, "\n"), "demo-control-plane", "the packet does not come near it")
}

func TestFollowingRefuses(t *testing.T) {
	for packet, want := range map[string]string{
		"tcp 10.244.2.3:1 > 10.96.125.22:80 in eth0":       `leave out "in eth0"`,
		"tcp 10.244.2.3:1 > 10.96.125.22:80 flags ACK":     "alone",
		"tcp 10.244.2.3:1 > 10.96.125.22:80 mark 7":        "alone",
		"icmp 10.244.2.3 > 10.244.1.2 type 0/0":            "alone",
		"udp 0.0.0.0:1 > 10.96.125.22:53":                  "write who sends it",
		"tcp 10.244.2.3:1 > 10.96.125.22:80 out-of-window": "alone",
	} {
		in := inputOf(t, packet)
		v, err := recorded(t, "nft", "demo-worker").View(in.Src, in.Dst)
		require.NoError(t, err)
		_, err = v.Follow(in, "")
		require.ErrorIs(t, err, ErrNoFirstPacket, packet)
		assert.ErrorContains(t, err, want)
	}
	in := inputOf(t, "tcp 10.244.2.3:1 > 10.96.125.22:80")
	v, err := recorded(t, "nft", "demo-worker").View(in.Src, in.Dst)
	require.NoError(t, err)
	_, err = v.Follow(in, "worker")
	assert.ErrorContains(t, err, `no node is named "worker": there are demo-control-plane, demo-worker, demo-worker2`)
}

// whyNotOf is what is said of a packet that a node of a cluster has.
func whyNotOf(t *testing.T, c *Cluster, packet string) []string {
	in := inputOf(t, packet)
	host, err := snapshot.NewHost(c.Snapshots[0], snapshot.HostOptions{})
	require.NoError(t, err)
	return whyNotAt(t, c, host, in)
}

func whyNotAt(t *testing.T, c *Cluster, host *packetsim.Host, in inet.Input) []string {
	outcomes, err := host.Walk(in)
	require.NoError(t, err)
	v, err := c.View(in.Src, in.Dst)
	require.NoError(t, err)
	why, _ := v.WhyNot(host, in, outcomes, names.New(c.Objects))
	var out []string
	for _, u := range why.Unreached {
		out = append(out, u.What+": "+u.Why)
	}
	return append(out, why.Notes...)
}

// withOther is a cluster in which one object is another one.
func withOther[T any](t *testing.T, c *Cluster, name string, change func(T)) *Cluster {
	out := *c
	out.Objects = slices.Clone(c.Objects)
	i := slices.IndexFunc(out.Objects, func(o manifest.Object) bool {
		_, ok := o.Object.(T)
		return ok && o.Meta().GetName() == name
	})
	require.GreaterOrEqual(t, i, 0)
	copied := manifest.Object{Object: out.Objects[i].DeepCopyObject()}
	change(copied.Object.(T))
	out.Objects[i] = copied
	return &out
}

const (
	toWeb  = "tcp 10.244.2.2:40000 > 10.96.125.22:80 in vethb0aa81ba"
	echoed = "10.244.2.3:8080 (pod shop/echo-77c9b5bcb7-d6rwv)" // one of its endpoints
)

func TestWhyNotByTheRules(t *testing.T) {
	c := recorded(t, "nft", "demo-worker")
	assert.Empty(t, whyNotOf(t, c, toWeb), "every endpoint is reached")

	lost := recorded(t, "nft", "demo-worker")
	save := &lost.Snapshots[0].IPTables[slices.IndexFunc(lost.Snapshots[0].IPTables, func(r snapshot.Rules) bool {
		return strings.Contains(r.Save, `"shop/web:http -> 10.244.2.3:8080"`)
	})]
	was := save.Save
	save.Save = withoutLines(was, `"shop/web:http -> 10.244.2.3:8080"`)
	got := whyNotOf(t, lost, toWeb)
	require.Len(t, got, 1, "the chain is there, and nothing leads to it")
	assert.Equal(t, echoed+": demo-worker has rules that lead to it, and the packet does not come to them",
		got[0])
	save.Save = withoutLines(was, "10.244.2.3:8080")
	assert.Equal(t, []string{echoed + ": missing: no rule of demo-worker leads to it " +
		"(kube-proxy there has not written it, or somebody has removed it)"}, whyNotOf(t, lost, toWeb))
	save.Save = was
	assert.Empty(t, whyNotOf(t, lost, toWeb), "fixed")
	save.Save = strings.Replace(was, "-A KUBE-SERVICES -d 10.96.125.22/32 -p tcp", "-A KUBE-SERVICES -s 10.9.0.0/16 -d 10.96.125.22/32 -p tcp",
		1)
	got = whyNotOf(t, lost, toWeb)
	require.Len(t, got, 4, "three endpoints, and the rule that has one condition too many")
	assert.Contains(t, got[3],
		`(service shop/web:http): nearly matched, but for "-s 10.9.0.0/16": -A KUBE-SERVICES -s 10.9.0.0/16 -d 10.96.125.22/32`)
	save.Save = "*raw\n:PREROUTING ACCEPT [0:0]\n:OUTPUT ACCEPT [0:0]\n-A PREROUTING -p tcp -j DROP\nCOMMIT\n" + was
	got = whyNotOf(t, lost, toWeb)
	require.Len(t, got, 3)
	assert.Contains(t, got[0], "the packet ends before an endpoint is chosen: drop")
}

func withoutLines(text, word string) string {
	var out strings.Builder
	for line := range strings.Lines(text) {
		if !strings.Contains(line, word) {
			out.WriteString(line)
		}
	}
	return out.String()
}

func TestWhyNotByTheObjects(t *testing.T) {
	c := recorded(t, "nft", "demo-worker")
	gone := withOther(t, c, "web-xqjl5", func(s *discoveryv1.EndpointSlice) { s.Endpoints = s.Endpoints[1:] })
	assert.Equal(t, []string{"stale: " + echoed + " is reached and is by the objects no endpoint of shop/web: " +
		"the rules of demo-worker are older"}, whyNotOf(t, gone, toWeb))
	ready := false
	notReady := withOther(t, c, "web-xqjl5", func(s *discoveryv1.EndpointSlice) {
		s.Endpoints[0].Conditions = discoveryv1.EndpointConditions{Ready: &ready, Serving: &ready}
	})
	assert.Equal(t, []string{echoed + " is reached, though by the objects it should not be (not ready): " +
		"the rules of demo-worker are older"}, whyNotOf(t, notReady, toWeb))

	const toEmpty = "tcp 10.244.2.2:40000 > 10.96.237.230:80 in vethb0aa81ba"
	const none = "service shop/empty: no endpoint slice has an endpoint of it"
	assert.Equal(t, []string{none + ": no pod has the labels of its selector, app=nobody"},
		whyNotOf(t, c, toEmpty))
	selecting := withOther(t, c, "empty", func(s *corev1.Service) { s.Spec.Selector = map[string]string{"app": "one"} })
	assert.Equal(t, []string{none + ", though pods have the labels of its selector, app=one: " +
		"shop/one-78b79d6f88-h7zhv"}, whyNotOf(t, selecting, toEmpty))
	unselecting := withOther(t, c, "empty", func(s *corev1.Service) { s.Spec.Selector = nil })
	assert.Equal(t, []string{none + ", and it has no selector by which Kubernetes would make one"},
		whyNotOf(t, unselecting, toEmpty))

	assert.Equal(t, []string{"service shop/web: it has no port 81 of TCP: it has http 80/TCP, dns-udp 53/UDP",
		`nat:KUBE-SERVICES:rule:6 (service shop/web:http): nearly matched, but for "-m tcp --dport 80": ` +
			`-A KUBE-SERVICES -d 10.96.125.22/32 -p tcp -m comment --comment "shop/web:http cluster IP" -m tcp --dport 80 ` +
			`-j KUBE-SVC-67NZLRHBNDSAWJRO`,
		`nat:KUBE-SERVICES:rule:7 (service shop/web:dns-udp): nearly matched, but for "-p udp": ` +
			`-A KUBE-SERVICES -d 10.96.125.22/32 -p udp -m comment --comment "shop/web:dns-udp cluster IP" -m udp --dport 53 ` +
			`-j KUBE-SVC-YVNUGCWTMBPPQARL`},
		whyNotOf(t, c, "tcp 10.244.2.2:40000 > 10.96.125.22:81 in vethb0aa81ba"))
	assert.Equal(t, []string{"service shop/lb-proxy: Nodes leave an address of ipMode Proxy to the load balancer: " +
		"what they send there is not translated."},
		whyNotOf(t, c, "tcp 10.244.2.2:40000 > 203.0.113.13:8000 in vethb0aa81ba"))
	assert.Empty(t, whyNotOf(t, c, "tcp 10.244.2.2:40000 > 192.0.2.1:80 in vethb0aa81ba"), "nobody's address")
}

// TestWhyNotOfARememberedClient: session affinity and known connections leave endpoints out.
func TestWhyNotOfARememberedClient(t *testing.T) {
	c := recorded(t, "nft", "demo-worker")
	host, err := snapshot.NewHost(c.Snapshots[0], snapshot.HostOptions{})
	require.NoError(t, err)
	const toSticky = "tcp 10.244.2.2:%d > 10.96.45.0:80 in vethb0aa81ba"
	first := inputOf(t, fmt.Sprintf(toSticky, 40000))
	assert.Empty(t, whyNotAt(t, c, host, first))
	_, err = host.Step(first, packetsim.SeededChance(1))
	require.NoError(t, err)
	for port, want := range map[int]string{
		40001: "session affinity: the client is remembered for another endpoint",
		40000: "the packet is of a connection that is known already, and such keep their endpoint",
	} {
		got := whyNotAt(t, c, host, inputOf(t, fmt.Sprintf(toSticky, port)))
		require.Len(t, got, 2)
		for _, text := range got {
			assert.True(t, strings.HasSuffix(text, ": "+want), text)
		}
	}
}
