package main

import (
	"encoding/json"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

const twoServices = `{apiVersion: v1, kind: Service, metadata: {name: web}, spec: {clusterIP: 172.30.0.41, ports: [{port: 80}]}}
---
{apiVersion: v1, kind: Service, metadata: {name: other}, spec: {clusterIP: 172.30.0.41, ports: [{port: 80}]}}
`

func TestCheckSaysMistakes(t *testing.T) {
	dir := folder(t, map[string]string{
		"included.yaml": `{apiVersion: v1, kind: Service, metadata: {name: odd}, spec: {type: NodePort, ` +
			`clusterIP: 172.30.0.9, ports: [{port: 80}]}}`,
		"objects.yaml":  twoServices,
		"scenario.yaml": strings.Replace(small, "steps:", "- file: included.yaml\nsteps:", 1),
	})
	status, out, errOut := call("", "check", dir)
	assert.Equal(t, exitNotHeld, status)
	assert.Empty(t, errOut)
	assert.Equal(t, filepath.Join(dir, "included.yaml")+":1:110: service default/odd: port 80 has no nodePort, so nothing listens on nodes "+
		"(an API server gives one out) [node-port-missing]\n"+
		filepath.Join(dir, "objects.yaml")+":3:76: service default/other: the cluster IP 172.30.0.41 is that of service default/web as well "+
		"(give each service one of its own) [cluster-ip-taken]\n2 files, 2 mistakes, 0 could not be read\n", out)

	status, out, _ = call(twoServices, "check", "-", "-o", "json")
	assert.Equal(t, exitNotHeld, status)
	var report struct {
		Version  int
		Files    int
		Mistakes []foundMistake
	}
	require.NoError(t, json.Unmarshal([]byte(out), &report))
	assert.Equal(t, 1, report.Version)
	require.Len(t, report.Mistakes, 1)
	assert.Equal(t, foundMistake{File: "<stdin>", Line: 3, Column: 76, Kind: "cluster-ip-taken", Object: "service default/other",
		Message: "the cluster IP 172.30.0.41 is that of service default/web as well (give each service one of its own)"}, report.Mistakes[0])
}

func TestCheckStatus(t *testing.T) {
	status, out, _ := call(small, "check", "-")
	assert.Equal(t, exitHeld, status)
	assert.Equal(t, "1 files, 0 mistakes, 0 could not be read\n", out)
	status, out, errOut := call(twoServices+"---\n{apiVersion: v1, kind: Gadget}\n", "check", "-")
	assert.Equal(t, exitUsage, status)
	assert.Equal(t, "<stdin>:3:76: service default/other: the cluster IP 172.30.0.41 is that of service default/web as well "+
		"(give each service one of its own) [cluster-ip-taken]\n1 files, 1 mistakes, 1 could not be read\n", out,
		"check looks at what it could read")
	assert.Contains(t, errOut, "1 of 1 files could not be read:\n<stdin>:5:1: unknown kind \"Gadget\"")
	status, _, errOut = call("", "check", "-", "-o", "junit")
	assert.Equal(t, exitUsage, status)
	assert.Contains(t, errOut, "-o junit: want text or json")
}

func TestMistakesAreWarnedOf(t *testing.T) {
	status, out, errOut := call(node+"\n---\n"+twoServices, "rules", "-f", "-")
	assert.Equal(t, exitHeld, status)
	assert.Contains(t, out, "KUBE-SERVICES")
	assert.Contains(t, errOut,
		"chainwalk: warning: <stdin>:5:76: service default/other: the cluster IP 172.30.0.41 is that of service default/web")

	scenario := strings.Replace(small, "ports: [{port: 8080}]", "ports: [{name: http, port: 8080}]", 1)
	_, _, errOut = call(scenario, "run", "-", "-q", "-o", "json")
	assert.Contains(t, errOut, "chainwalk: warning: <stdin>:12:11: endpointslice default/web-1: the service has no port \"http\", TCP")
	_, _, errOut = call(strings.Replace(scenario, "topology:", "mistakes: [slice-port, service-port-unserved]\ntopology:", 1), "run", "-",
		"-q")
	assert.NotContains(t, errOut, "warning", "it is the point of the scenario")
}

// TestIgnoreUnknown: what kubectl get all prints, and fields of newer clusters.
func TestIgnoreUnknown(t *testing.T) {
	const all = `apiVersion: v1
kind: List
items:
- {apiVersion: apps/v1, kind: Deployment, metadata: {name: web}, spec: {replicas: 2}}
- {apiVersion: apps/v1, kind: Deployment, metadata: {name: db}}
- {apiVersion: example.com/v1, kind: Service, metadata: {name: another kind of service}}
- {apiVersion: v1, kind: Service, metadata: {name: web}, spec: {clusterIP: 172.30.0.41, ports: [{port: 80}], newField: {a: 1}}}
- ` + node
	status, _, errOut := call(all, "rules", "-f", "-")
	assert.Equal(t, exitUsage, status)
	assert.Contains(t, errOut, `<stdin>:4:3: unknown kind "Deployment"`)
	assert.Contains(t, errOut, "\n--ignore-unknown passes over what is not known")
	_, _, errOut = call(all+", kind: Node}", "rules", "-f", "-")
	assert.NotContains(t, errOut, "--ignore-unknown", "something else is wrong too")
	rulesFile, packet := write(t, "rules.txt", "*filter\n:FORWARD DROP [0:0]\nCOMMIT\n"), "tcp 10.244.1.2:40000 > svc/web:80"
	status, _, errOut = call(all, "trace", "--objects", "-", "--rules", rulesFile, packet)
	assert.Equal(t, exitUsage, status)
	assert.Contains(t, errOut, "\n--ignore-unknown passes over")
	status, _, errOut = call(all, "trace", "--objects", "-", "--ignore-unknown", "--rules", rulesFile, packet)
	assert.Equal(t, exitHeld, status, errOut)
	status, out, errOut := call(all, "rules", "-f", "-", "--ignore-unknown")
	assert.Equal(t, exitHeld, status, errOut)
	assert.Contains(t, out, "172.30.0.41")
	assert.Contains(t, errOut, "chainwalk: warning: <stdin>: ignored: 2 of kind Deployment, newField of items[3].spec, 1 of kind Service\n")

	status, _, errOut = call(all, "check", "-", "--ignore-unknown")
	assert.Equal(t, exitHeld, status, errOut)
	path := write(t, "scenario.yaml", strings.Replace(small, "spec: {clusterIP", "spec: {newField: 1, clusterIP", 1))
	status, _, errOut = call("", "run", path)
	assert.Equal(t, exitUsage, status)
	assert.Contains(t, errOut, `unknown field "objects.spec.newField"`)
	status, _, errOut = call("", "run", path, "--ignore-unknown")
	assert.Equal(t, exitHeld, status, errOut)
	status, _, errOut = call(strings.Replace(small, "expect:", "expects:", 1), "run", "-", "--ignore-unknown")
	assert.Equal(t, exitUsage, status)
	assert.Contains(t, errOut, `unknown field "steps[0].connect.expects"`, "scenarios are read strictly")
}
