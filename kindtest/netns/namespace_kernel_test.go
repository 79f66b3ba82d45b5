//go:build linux

package netns

import (
	"bufio"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"github.com/vishvananda/netlink"
	"github.com/vishvananda/netns"
	"golang.org/x/sys/unix"

	"github.com/chainwalk/chainwalk/scenarios"
)

// witnessEnv names the namespace in which a child process is to leave a witness.
const witnessEnv = "CHAINWALK_NETNS_WITNESS"

// TestKernelWitness is the child of TestKernelNamespacesEndWithTheProcess: it makes a
// namespace, ties it to its parent's by a wire and waits to be killed.
func TestKernelWitness(t *testing.T) {
	path := os.Getenv(witnessEnv)
	if path == "" {
		t.Skip("the child process of another test")
	}
	parent, err := netns.GetFromPath(path)
	require.NoError(t, err)
	ns, err := newNamespace()
	require.NoError(t, err)
	require.NoError(t, ns.link.LinkAdd(&netlink.Veth{
		LinkAttrs: netlink.LinkAttrs{Name: "inside"}, PeerName: "witness", PeerNamespace: netlink.NsFd(int(parent)),
	}))
	fmt.Println("ready")
	select {}
}

// TestKernelNamespacesEndWithTheProcess kills a process that has a namespace, and
// waits until the other end of the wire in it is gone.
func TestKernelNamespacesEndWithTheProcess(t *testing.T) {
	needKernel(t)
	own, err := newNamespace()
	require.NoError(t, err)
	defer func() { require.NoError(t, own.close()) }()
	gone := make(chan struct{})
	updates, stop := make(chan netlink.LinkUpdate, 16), make(chan struct{})
	defer close(stop)
	require.NoError(t, netlink.LinkSubscribeAt(own.ns, updates, stop))
	go func() {
		for update := range updates {
			if update.Header.Type == unix.RTM_DELLINK && update.Attrs().Name == "witness" {
				close(gone)
				return
			}
		}
	}()

	child := exec.Command(os.Args[0], "-test.run", "^TestKernelWitness$")
	child.Env = append(os.Environ(), fmt.Sprintf("%s=/proc/%d/fd/%d", witnessEnv, os.Getpid(), int(own.ns)))
	out, err := child.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, child.Start())
	line, err := bufio.NewReader(out).ReadString('\n')
	require.NoError(t, err)
	require.Equal(t, "ready\n", line)
	_, err = own.link.LinkByName("witness")
	require.NoError(t, err, "the child has tied its namespace to this one")

	require.NoError(t, child.Process.Kill())
	require.Error(t, child.Wait(), "it was killed")
	select {
	case <-gone:
	case <-time.After(10 * time.Second):
		t.Fatal("the namespace of a killed process is still there")
	}
}

// TestKernelMachineIsAsItWas looks for what a run could leave outside of its
// namespaces: settings of the machine, names and open files.
func TestKernelMachineIsAsItWas(t *testing.T) {
	needKernel(t)
	look := func() (named []string, logAll string, files int) {
		entries, err := os.ReadDir("/run/netns")
		if !os.IsNotExist(err) {
			require.NoError(t, err)
		}
		for _, e := range entries {
			if strings.Contains(e.Name(), fmt.Sprint(os.Getpid())) {
				named = append(named, e.Name())
			}
		}
		value, err := os.ReadFile("/proc/sys/net/netfilter/nf_log_all_netns")
		require.NoError(t, err)
		open, err := os.ReadDir("/proc/self/fd")
		require.NoError(t, err)
		return named, string(value), len(open)
	}
	run := func() {
		s, err := scenarios.Read("in.yaml", strings.NewReader(hairpin))
		require.NoError(t, err)
		require.Len(t, scenarios.Run(t.Context(), s, Backend{}).Checks, 4)
	}
	run() // what the process opens once is open then
	named, logAll, files := look()
	run()
	namedAfter, logAllAfter, filesAfter := look()
	assert.Equal(t, named, namedAfter)
	assert.Equal(t, logAll, logAllAfter)
	assert.Equal(t, files, filesAfter, "open files")
}

// hairpin is a pod that calls itself by a service, with the rule that makes that work
// and without it.
const hairpin = `
name: hairpin without a masquerade rule
topology: {nodes: 1}
objects:
- {apiVersion: v1, kind: Service, metadata: {name: web}, spec: {clusterIP: 172.30.0.41, ports: [{port: 80, targetPort: 8080}]}}
- {apiVersion: discovery.k8s.io/v1, kind: EndpointSlice, metadata: {name: web-1, labels: {kubernetes.io/service-name: web}}, addressType: IPv4, ports: [{port: 8080}], endpoints: [{addresses: [10.244.1.2], nodeName: node1}]}
steps:
- connect: {from: 10.244.1.2, to: "tcp 172.30.0.41:80", expect: {endpoints: ["10.244.1.2:8080"], source: masqueraded}}
- fault: {node: node1, run: ["iptables -t nat -F KUBE-MARK-MASQ"]}
- connect: {from: 10.244.1.2, to: "tcp 172.30.0.41:80", expect: {endpoints: ["10.244.1.2:8080"], source: masqueraded}}
`

// TestKernelAMissingRuleIsSeen takes one rule away from under a scenario that holds.
func TestKernelAMissingRuleIsSeen(t *testing.T) {
	needKernel(t)
	s, err := scenarios.Read("in.yaml", strings.NewReader(hairpin))
	require.NoError(t, err)
	result := scenarios.Run(t.Context(), s, Backend{})
	require.Len(t, result.Checks, 4)
	for i, c := range result.Checks {
		assert.Equal(t, i%2 == 0, c.Passed, "check %d with %s: %s", i, c.Tool, c.Wrong)
	}
	var report strings.Builder
	require.NoError(t, scenarios.WriteText(&report, []*scenarios.Result{result}, scenarios.WaysNone))
	assert.Contains(t, report.String(), "nat:KUBE-MARK-MASQ:return:1")
	assert.Contains(t, report.String(), "lost at 10.244.1.2: martian source")
}
