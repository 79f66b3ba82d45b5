package sim_test

import (
	"context"
	"fmt"
	"os"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	kubeproxyconfig "k8s.io/kube-proxy/config/v1alpha1"

	"github.com/chainwalk/chainwalk/netfilter"
	"github.com/chainwalk/chainwalk/scenarios"
	"github.com/chainwalk/chainwalk/scenarios/format/manifest"
	"github.com/chainwalk/chainwalk/scenarios/world/sim"
)

// A scenario is read, run in memory and reported.
func Example() {
	scenario, err := scenarios.Read("web.yaml", strings.NewReader(`
name: a service without endpoints is refused
iptables: {tools: [legacy]}
objects:
- {apiVersion: v1, kind: Service, metadata: {name: web}, spec: {clusterIP: 172.30.0.41, ports: [{port: 80}]}}
steps:
- connect: {from: node1, to: "tcp 172.30.0.41:80", expect: {reject: icmp-port-unreachable}}
`))
	if err != nil {
		fmt.Println(err)
		return
	}
	result := scenarios.Run(context.Background(), scenario, sim.Backend{})
	if err := scenarios.WriteText(os.Stdout, []*scenarios.Result{result}, scenarios.WaysFailed); err != nil {
		fmt.Println(err)
	}
	// Output:
	// ok    a service without endpoints is refused (web.yaml on sim, 1 check)
	// 1 scenario, 0 failed, 0 skipped; 1 check, 0 failed
}

// The rules of a node without running any packets.
func ExampleRules() {
	objects, err := manifest.ReadObjects("web.yaml", strings.NewReader(
		"{apiVersion: v1, kind: Service, metadata: {name: web}, spec: {clusterIP: 172.30.0.41, ports: [{port: 80}]}}"))
	if err != nil {
		fmt.Println(err)
		return
	}
	rules, err := sim.Rules(sim.RulesInput{
		Objects:       objects,
		Configuration: &kubeproxyconfig.KubeProxyConfiguration{ClusterCIDR: "10.244.0.0/16"},
		Node: &corev1.Node{
			ObjectMeta: metav1.ObjectMeta{Name: "node1"},
			Status:     corev1.NodeStatus{Addresses: []corev1.NodeAddress{{Type: corev1.NodeInternalIP, Address: "192.168.0.2"}}},
		},
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(len(rules.RestoreInputs), "restores")
	var save strings.Builder
	if err := rules.Save(netfilter.IPv4, &save); err != nil {
		fmt.Println(err)
	}
	for line := range strings.Lines(save.String()) {
		if strings.Contains(line, "default/web") {
			rule, with, _ := strings.Cut(strings.TrimSpace(line), " --reject-with ")
			fmt.Printf("%s\nwith %s\n", rule, with)
		}
	}
	// Output:
	// 2 restores
	// -A KUBE-SERVICES -d 172.30.0.41/32 -p tcp -m comment --comment "default/web has no endpoints" -m tcp --dport 80 -j REJECT
	// with icmp-port-unreachable
}
