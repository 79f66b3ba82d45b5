package proxytest_test

import (
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"

	"github.com/chainwalk/chainwalk/scenarios"
	"github.com/chainwalk/chainwalk/scenarios/users/proxytest"
)

// unfair is the proxier under test: cluster IPs of TCP in a few lines, and with a bug. Of n endpoints it gives each of them 1 in n of the
// packets that come as far as its rule, and not 1 in those that are left.
func unfair(_, n int) int { return n }

// fair is the same without the bug.
func fair(i, n int) int { return n - i }

// served is what the API says that there is: a Cluster, or a Node of one.
type served interface {
	Services() []*corev1.Service
	EndpointSlices() []*discoveryv1.EndpointSlice
}

// rulesOf is what the proxier gives to iptables-restore.
func rulesOf(c served, oneIn func(i, n int) int) string {
	chains, rules := ":MY-MASQ - [0:0]\n:MY-SERVICES - [0:0]\n:MY-POSTROUTING - [0:0]\n", `-A PREROUTING -j MY-SERVICES
-A OUTPUT -j MY-SERVICES
-A POSTROUTING -j MY-POSTROUTING
-A MY-MASQ -j MARK --set-xmark 0x4000/0x4000
-A MY-POSTROUTING -m mark ! --mark 0x4000/0x4000 -j RETURN
-A MY-POSTROUTING -j MARK --set-xmark 0x4000/0x0
-A MY-POSTROUTING -j MASQUERADE
`
	for _, service := range c.Services() {
		for _, port := range service.Spec.Ports {
			endpoints := endpointsOf(c, service.Name, port.Name)
			at := fmt.Sprintf("-d %s/32 -p tcp -m tcp --dport %d", service.Spec.ClusterIP, port.Port)
			rules += fmt.Sprintf("-A MY-SERVICES ! -s 10.244.0.0/16 %s -j MY-MASQ\n", at)
			for i, endpoint := range endpoints {
				chain := fmt.Sprintf("MY-%s-%s-%d", service.Name, port.Name, i)
				address, _, _ := strings.Cut(endpoint, ":")
				chains += fmt.Sprintf(":%s - [0:0]\n", chain)
				rules += fmt.Sprintf("-A %s -s %s/32 -j MY-MASQ\n-A %s -p tcp -j DNAT --to-destination %s\n", chain, address, chain, endpoint)
				chance := 1 / float64(oneIn(i, len(endpoints)))
				rules += fmt.Sprintf("-A MY-SERVICES %s -m statistic --mode random --probability %.10f -j %s\n", at, chance, chain)
			}
		}
	}
	return "*nat\n" + chains + rules + "COMMIT\n*filter\n-A FORWARD -m conntrack --ctstate INVALID -j DROP\nCOMMIT\n"
}

// endpointsOf are the ready endpoints of a service port, ADDRESS:PORT.
func endpointsOf(c served, service, port string) []string {
	var out []string
	for _, slice := range c.EndpointSlices() {
		for _, p := range slice.Ports {
			for _, e := range slice.Endpoints {
				if slice.Labels["kubernetes.io/service-name"] == service && *p.Name == port && (e.Conditions.Ready == nil || *e.Conditions.Ready) {
					out = append(out, fmt.Sprintf("%s:%d", e.Addresses[0], *p.Port))
				}
			}
		}
	}
	return out
}

const web = `
apiVersion: v1
kind: Service
metadata: {name: web}
spec: {clusterIP: 172.30.0.41, ports: [{name: http, port: 80}]}
---
apiVersion: discovery.k8s.io/v1
kind: EndpointSlice
metadata: {name: web-1, labels: {kubernetes.io/service-name: web}}
addressType: IPv4
ports: [{name: http, port: 8080}]
endpoints:
- {addresses: [10.244.1.10], nodeName: node1}
- {addresses: [10.244.1.11], nodeName: node1}
- {addresses: [10.244.2.10], nodeName: node2}
`

// write lets the proxier write its rules on every node.
func write(c *proxytest.Cluster, oneIn func(i, n int) int) error {
	return c.Run(func(node *proxytest.Node) error { return restore(node, rulesOf(node, oneIn)) })
}

// restore gives rules to a node.
func restore(node *proxytest.Node, rules string) error {
	cmd := node.Exec().Command("iptables-restore")
	cmd.SetStdin(strings.NewReader(rules))
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("%w: %s", err, out)
	}
	return nil
}

// A proxier that shares connections out wrongly, and what finds it.
func Example() {
	objects, err := proxytest.Objects(web)
	if err != nil {
		fmt.Println(err)
		return
	}
	cluster, err := proxytest.New(&scenarios.Scenario{Objects: objects})
	if err != nil {
		fmt.Println(err)
		return
	}
	if err := write(cluster, unfair); err != nil {
		fmt.Println(err)
		return
	}
	failures, err := cluster.Judge()
	if err != nil {
		fmt.Println(err)
		return
	}
	f := failures[0]
	fmt.Println(f.Clause.Name)
	fmt.Println("from", f.Attempt.From, "to", f.Attempt.To)
	fmt.Println("want:", f.Want)
	for _, way := range f.Ways {
		fmt.Printf("%.3f %s at %s\n", way.Probability, way.End, way.Host)
	}
	// Output:
	// cluster-ip-served
	// from 10.244.1.10 to 172.30.0.41:80
	// want: default/web:http sends it to 10.244.1.10:8080 (masqueraded), 10.244.1.11:8080 (kept), 10.244.2.10:8080 (kept), equally often
	// 0.333 delivered at 10.244.1.10
	// 0.222 delivered at 10.244.1.11
	// 0.148 delivered at 10.244.2.10
	// 0.296 lost at router
}
