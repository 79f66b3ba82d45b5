package main

import (
	"context"
	"encoding/json"
	"net"
	"net/netip"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	clocktesting "k8s.io/utils/clock/testing"

	"github.com/chainwalk/chainwalk/kindtest/probe"
	"github.com/chainwalk/chainwalk/packetsim/inet"
)

func TestProbeUsage(t *testing.T) {
	for _, tc := range []struct {
		args []string
		want string
	}{
		{[]string{"dial", "tcp"}, "accepts 2 arg"},
		{[]string{"dial", "http", "10.0.0.1:80"}, `unknown protocol "http"`},
		{[]string{"dial", "tcp", "10.0.0.1"}, "10.0.0.1"},
		{[]string{"dial", "icmp", "10.0.0.1:80"}, "10.0.0.1:80"},
		{[]string{"dial", "tcp", "10.0.0.1:80", "--from", "here"}, "--from"},
		{[]string{"dial", "tcp", "10.0.0.1:80", "--from", "fd00::1"}, "two families"},
		{[]string{"dial", "tcp", "10.0.0.1:80", "--times", "-1"}, "-1 times"},
		{[]string{"dial", "tcp", "10.0.0.1:80", "-o", "xml"}, "-o xml: want text or json"},
		{[]string{"serve"}, "give --control, --listen or both"},
		{[]string{"serve", "--name", "Not A Name", "--control", "unix:/x"}, "a-z"},
		{[]string{"serve", "--name", "a", "--control", "tcp:1"}, "want unix:PATH"},
		{[]string{"serve", "--name", "a", "--listen", "tcp"}, "want PROTO ADDRESS:PORT"},
	} {
		status, out, errOut := call("", append([]string{"probe"}, tc.args...)...)
		assert.Equal(t, exitUsage, status, tc.args)
		assert.Empty(t, out)
		assert.Contains(t, errOut, tc.want)
	}
}

// TestProbeDialIsServed goes through the command line at both ends.
func TestProbeDialIsServed(t *testing.T) {
	at := freeTCP(t)
	control := "unix:" + filepath.Join(t.TempDir(), "web-1.sock")
	ctx, cancel := context.WithCancel(t.Context())
	served := make(chan error)
	ready := &lineWriter{lines: make(chan string, 1)}
	options := probeServeOptions{name: "web-1", control: control, listen: []string{"tcp " + at}}
	go func() { served <- probeServe(ctx, streams{errOut: ready}, options) }()
	require.Equal(t, "chainwalk: serving\n", <-ready.lines)

	status, out, errOut := call("", "probe", "dial", "tcp", at)
	require.Equal(t, exitHeld, status, errOut)
	assert.Equal(t, "answered by web-1 at "+at+", which saw 127.0.0.1\n", out)
	status, out, _ = call("", "probe", "dial", "tcp", at, "--times", "20")
	require.Equal(t, exitHeld, status)
	assert.Equal(t, "20 of 20 answered by web-1 at "+at+", which saw 127.0.0.1\n", out)
	status, out, _ = call("", "probe", "dial", "tcp", at, "-o", "json", "--from", "127.0.0.1")
	require.Equal(t, exitHeld, status)
	var told struct {
		Version int
		Results []probe.Result
	}
	require.NoError(t, json.Unmarshal([]byte(out), &told))
	require.Len(t, told.Results, 1)
	assert.Equal(t, "web-1", told.Results[0].Server)

	second := probeServe(ctx, streams{errOut: ready}, options)
	require.ErrorContains(t, second, "another agent takes requests there")
	cancel()
	require.NoError(t, <-served)
	status, out, _ = call("", "probe", "dial", "tcp", at)
	assert.Equal(t, exitNotHeld, status)
	assert.Equal(t, "refused with tcp-reset\n", out)
}

// freeTCP is an address that nothing listens on.
func freeTCP(t *testing.T) string {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer func() { require.NoError(t, l.Close()) }()
	return l.Addr().String()
}

// lineWriter hands over what is written.
type lineWriter struct{ lines chan string }

func (w *lineWriter) Write(p []byte) (int, error) {
	w.lines <- string(p)
	return len(p), nil
}

// TestProbeServeGoesOnForItsGrace after it is told to end.
func TestProbeServeGoesOnForItsGrace(t *testing.T) {
	fake := clocktesting.NewFakeClock(time.Unix(0, 0))
	told, tell := context.WithCancel(t.Context())
	serving, cancel := afterGrace(told, fake, 20*time.Second)
	defer cancel()
	tell()
	require.Eventually(t, fake.HasWaiters, patience, time.Millisecond)
	fake.Step(19 * time.Second)
	require.NoError(t, serving.Err())
	fake.Step(time.Second)
	<-serving.Done()
	assert.NoError(t, t.Context().Err())
}

func TestProbeAddresses(t *testing.T) {
	four, six := netip.MustParseAddrPort("10.0.0.1:80"), netip.MustParseAddrPort("[fd00::1]:80")
	for text, want := range map[string]string{":40000": "0.0.0.0:40000", "10.0.0.9": "10.0.0.9:0", "10.0.0.9:7": "10.0.0.9:7"} {
		from, err := probeFrom(text, four)
		require.NoError(t, err)
		assert.Equal(t, want, from.String())
	}
	from, err := probeFrom(":40000", six)
	require.NoError(t, err)
	assert.Equal(t, "[::]:40000", from.String())
	proto, _, err := probeTarget([]string{"icmp", "fd00::1"})
	require.NoError(t, err)
	assert.Equal(t, inet.ICMPv6, proto)
}
