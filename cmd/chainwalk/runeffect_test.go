package main

import (
	"encoding/json"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/chainwalk/chainwalk/internal/race"
	"github.com/chainwalk/chainwalk/scenarios/users/live"
)

// TestOnlyTheChangedServiceChanges has the recorded cluster, of both families and many kinds of services, with one service's policy
// changed.
func TestOnlyTheChangedServiceChanges(t *testing.T) {
	race.OneGoroutine(t)
	const recorded = "../../internal/dumps/kind-v1.34/objects.yaml"
	text, err := os.ReadFile(recorded)
	require.NoError(t, err)
	const policy = "internalTrafficPolicy: Local"
	require.Equal(t, 1, strings.Count(string(text), "\n    "+policy+"\n"))
	changed := write(t, "changed.yaml", strings.Replace(string(text), "    "+policy, "    internalTrafficPolicy: Cluster", 1))
	status, out, errOut := call("", "run", "--diff", recorded, changed, "-o", "json")
	require.Equal(t, exitNotHeld, status, errOut)
	var effect live.Effect
	require.NoError(t, json.Unmarshal([]byte(out), &effect))
	assert.Greater(t, effect.Packets, 1000)
	require.NotEmpty(t, effect.Changes)
	for _, c := range effect.Changes {
		assert.Equal(t, "shop/itp-local:http", c.Service, c.To)
		assert.Equal(t, "tcp 10.96.233.187:80", c.To)
		assert.Equal(t, "dropped", c.Before, "no endpoint is on the client's node")
		assert.Contains(t, c.After, "to 10.244.2.2:8080, source ")
		assert.NotContains(t, c.Nodes, "demo-worker", "its own endpoint serves it before, too")
	}
}

const clusterOfOne = `{apiVersion: v1, kind: Node, metadata: {name: n}, status: {addresses: [{type: InternalIP, address: 192.0.2.1}]}}
---
{apiVersion: v1, kind: Service, metadata: {name: web}, spec: {type: NodePort, ports: [{port: 80}]}}
`

// TestDiffOfModes has kube-proxy's mode alone change. In mode nftables it serves no node ports at 127.0.0.1.
func TestDiffOfModes(t *testing.T) {
	const slice = "---\n{apiVersion: discovery.k8s.io/v1, kind: EndpointSlice, " +
		"metadata: {name: web-1, labels: {kubernetes.io/service-name: web}}, addressType: IPv4, ports: [{port: 80}], " +
		"endpoints: [{addresses: [10.244.1.2], nodeName: n}]}\n"
	folder := func(mode string) string {
		dir := t.TempDir()
		require.NoError(t, os.WriteFile(dir+"/objects.yaml", []byte(clusterOfOne+slice), 0o600))
		config := "apiVersion: kubeproxy.config.k8s.io/v1alpha1\nkind: KubeProxyConfiguration\nmode: " + mode + "\nclusterCIDR: 10.244.0.0/16\n"
		require.NoError(t, os.WriteFile(dir+"/config.yaml", []byte(config), 0o600))
		return dir
	}
	status, out, errOut := call("", "run", "--diff", folder("iptables"), folder("nftables"))
	require.Equal(t, exitNotHeld, status, out+errOut)
	assert.Regexp(t, `(?m)^tcp 127\.0\.0\.1:\d+ \(default/web\) from node n$\n  before: to 10\.244\.1\.2:80,.*\n  after:  .*refused`, out)
}

func TestDiffOfObjects(t *testing.T) {
	same := write(t, "same.yaml", clusterOfOne)
	wrong := write(t, "wrong.yaml", clusterOfOne+"---\n"+
		"{apiVersion: v1, kind: Service, metadata: {name: other}, spec: {clusterIP: 10.96.0.1, ports: [{port: 80}]}}\n---\n"+
		"{apiVersion: v1, kind: Service, metadata: {name: third}, spec: {clusterIP: 10.96.0.1, ports: [{port: 80}]}}\n")
	config := "apiVersion: kubeproxy.config.k8s.io/v1alpha1\nkind: KubeProxyConfiguration\n"
	two := t.TempDir()
	for name, text := range map[string]string{"a.yaml": config, "b.yaml": config} {
		require.NoError(t, os.WriteFile(two+"/"+name, []byte(text), 0o600))
	}
	none := write(t, "none.yaml", "{apiVersion: v1, kind: Namespace, metadata: {name: n}}")
	for name, row := range map[string]struct {
		args   []string
		status int
		want   string
	}{
		"nothing has changed": {[]string{same, same}, exitHeld, "No packet changes: "},
		"what is wrong":       {[]string{same, wrong}, exitNotHeld, "mistake: "},
		"a form for neither":  {[]string{same, same, "-o", "junit"}, exitUsage, "-o junit: with --diff of objects want text, json or markdown"},
		"a backend":           {[]string{same, same, "--on", "netns"}, exitUsage, "--diff of objects runs in the simulation"},
		"one side alone":      {[]string{same}, exitUsage, "no PATH is given"},
		"a scenario too":      {[]string{same, same, same}, exitUsage, "give two folders or files in YAML and nothing else"},
		"a build and objects": {[]string{same, "/bin/true"}, exitUsage, "give two folders or files in YAML and nothing else"},
		"two configurations":  {[]string{two, same}, exitUsage, "b.yaml: a second KubeProxyConfiguration"},
		"no node":             {[]string{none, same, "--ignore-unknown"}, exitUsage, "the objects have no Node"},
	} {
		t.Run(name, func(t *testing.T) {
			status, out, errOut := call("", append([]string{"run", "--diff"}, row.args...)...)
			assert.Equal(t, row.status, status, out+errOut)
			assert.Contains(t, out+errOut, row.want)
		})
	}
}
