package main

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/chainwalk/chainwalk/internal/race"
	"github.com/chainwalk/chainwalk/scenarios/users/live"
)

func TestWhyAnswersByItsExitStatus(t *testing.T) {
	race.OneGoroutine(t)
	for _, row := range []struct {
		args   []string
		nodes  []string
		status int
		out    string // or on stderr, where the status is 2
	}{
		{[]string{"pod/one-78b79d6f88-h7zhv", "svc/web:http"}, dumpNodes, exitHeld,
			"yes: pod/one-78b79d6f88-h7zhv reaches svc/web:http (3 servers)"},
		{[]string{"node/demo-worker", "svc/empty"}, dumpNodes, exitNotHeld, "no (CW503): The selector of shop/empty"},
		{[]string{"node/demo-worker", "svc/web:http"}, dumpNodes[2:], exitNotHeld,
			"unknown: from demo-worker and its pods: there is no snapshot of it"},
		{[]string{"svc/web", "svc/empty"}, dumpNodes, exitUsage, "svc/web: a service opens no connections"},
		{[]string{"pod/one-78b79d6f88-h7zhv"}, dumpNodes, exitUsage, "why takes two ends"},
		{[]string{"--matrix", "svc/web"}, dumpNodes, exitUsage, "--matrix asks about all ends"},
		{[]string{"-o", "csv", "node/demo-worker", "svc/empty"}, dumpNodes, exitUsage, "csv and html are for --matrix"},
	} {
		status, out, errOut := call("", append(append([]string{"why"}, row.args...), recorded(clusterDump, row.nodes...)...)...)
		assert.Equal(t, row.status, status, "%v: %s%s", row.args, out, errOut)
		if status == exitUsage {
			out = errOut
		}
		assert.Contains(t, out, row.out, row.args)
	}
}

func TestWhyIsAPageAndData(t *testing.T) {
	race.OneGoroutine(t)
	_, out, _ := call("", append([]string{"why", "node/demo-worker", "svc/empty", "-o", "json"}, recorded(clusterDump, dumpNodes...)...)...)
	var why live.Why
	require.NoError(t, json.Unmarshal([]byte(out), &why))
	assert.Equal(t, live.WhyNo, why.Answer)
	require.Len(t, why.Causes, 1)

	status, out, errOut := call("", append([]string{"why", "--matrix", "-o", "html"}, recorded(clusterDump, dumpNodes...)...)...)
	assert.Equal(t, exitNotHeld, status, errOut)
	assert.Contains(t, out, "<h2>node/demo-worker <span class=\"tools\">reaches ")
	assert.Equal(t, 1, strings.Count(out, "<main"))
}
