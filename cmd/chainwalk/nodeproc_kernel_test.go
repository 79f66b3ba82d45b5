//go:build linux

package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/chainwalk/chainwalk/internal/kerneltest"
)

// kernelNode is a network namespace with the tools of one variant, in which "chainwalk proxy" runs as a process.
type kernelNode struct {
	ns      *kerneltest.Namespace
	variant string
	folder  string
	binary  string
	objects string

	log     lockedWriter
	process *exec.Cmd
	ended   chan error
}

// newKernelNode makes the namespace, and a folder where iptables is the tool of the variant.
func newKernelNode(t *testing.T, binary, variant string) *kernelNode {
	t.Helper()
	n := &kernelNode{ns: kerneltest.New(t), variant: variant, binary: binary, folder: t.TempDir()}
	n.objects = filepath.Join(n.folder, "objects.yaml")
	for _, family := range []string{"iptables", "ip6tables"} {
		for _, suffix := range []string{"", "-save", "-restore"} {
			tool, err := exec.LookPath(family + "-" + variant + suffix)
			require.NoError(t, err)
			require.NoError(t, os.Symlink(tool, filepath.Join(n.folder, family+suffix)))
		}
	}
	t.Cleanup(func() {
		n.kill()
		if t.Failed() {
			t.Log(n.log.String())
		}
	})
	n.run(t, "ip link set lo up", "ip addr add 10.244.1.2/32 dev lo", "ip addr add 10.244.1.9/32 dev lo", "ip route add 172.30.0.0/16 dev lo")
	return n
}

// command is a program for the namespace; env finds it in the folder.
func (n *kernelNode) command(argv ...string) *exec.Cmd {
	cmd := exec.Command("env", argv...)
	cmd.Env = append(n.ns.Environment(), "PATH="+n.folder+":"+os.Getenv("PATH"))
	return cmd
}

// output runs a command and returns both of its outputs.
func (n *kernelNode) output(cmd *exec.Cmd) (string, error) {
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	err := n.ns.Namespace.Do(cmd.Run)
	return out.String(), err
}

// run runs commands that must not fail, and returns what the last one prints.
func (n *kernelNode) run(t *testing.T, commands ...string) (output string) {
	t.Helper()
	for _, command := range commands {
		out, err := n.output(n.command(strings.Fields(command)...))
		require.NoError(t, err, "%s: %s", command, out)
		output = out
	}
	return output
}

// restore gives both families' restore tool an input.
func (n *kernelNode) restore(t *testing.T, input string) {
	t.Helper()
	for _, tool := range []string{"iptables-restore", "ip6tables-restore"} {
		cmd := n.command(tool, "--noflush")
		cmd.Stdin = strings.NewReader(input)
		out, err := n.output(cmd)
		require.NoError(t, err, "%s", out)
	}
}

// proxyArguments let the proxy notice in a moment what it looks for in half a minute by default, and leave alone what belongs to
// the whole machine.
var proxyArguments = strings.Fields(`--hostname-override worker1 --cluster-cidr 10.244.0.0/16,fd00:10:244::/56 --oom-score-adj 0
	--conntrack-max-per-core 0 --iptables-sync-period 500ms --iptables-min-sync-period 10ms`)

// start starts the proxy, and waits until it has written all rules of both families.
func (n *kernelNode) start(t *testing.T) {
	t.Helper()
	n.process = n.command(append([]string{n.binary, "proxy", "-f", n.objects}, proxyArguments...)...)
	n.process.Stderr = &n.log
	n.ns.In(t).Do(func() { require.NoError(t, n.process.Start()) })
	n.ended = make(chan error, 1)
	go func(process *exec.Cmd, ended chan<- error) {
		ended <- process.Wait()
		close(ended)
	}(n.process, n.ended)
	for _, family := range []string{"IPv4", "IPv6"} {
		n.awaitMetric(t, fullSyncs(family), 1)
	}
	n.await(t, "canaries", func() string {
		for _, tool := range []string{"iptables-save", "ip6tables-save"} {
			if got := strings.Count(n.run(t, tool), ":KUBE-PROXY-CANARY"); got != 3 {
				return fmt.Sprintf("%s shows %d of 3", tool, got)
			}
		}
		return ""
	})
}

// stop sends a signal and returns how the proxy ended.
func (n *kernelNode) stop(t *testing.T, signal os.Signal) error {
	t.Helper()
	require.NoError(t, n.process.Process.Signal(signal))
	n.process = nil
	select {
	case err := <-n.ended:
		return err
	case <-time.After(patience):
		require.Fail(t, "the proxy has not ended")
		return nil
	}
}

func (n *kernelNode) kill() {
	if n.process != nil {
		_ = n.process.Process.Kill()
		for range n.ended { // until it has ended
		}
	}
}

// write puts other objects in the place of the file's.
func (n *kernelNode) write(t *testing.T, text string) {
	t.Helper()
	next := filepath.Join(n.folder, "next")
	require.NoError(t, os.WriteFile(next, []byte(text), 0o600))
	require.NoError(t, os.Rename(next, n.objects))
}

// await waits until missing returns "", and tells its last answer if that takes too long.
func (n *kernelNode) await(t *testing.T, what string, missing func() string) {
	t.Helper()
	last := ""
	for end := time.Now().Add(patience); time.Now().Before(end); {
		if last = missing(); last == "" {
			return
		}
		runtime.Gosched()
		poll := time.NewTimer(20 * time.Millisecond)
		<-poll.C
	}
	require.Fail(t, "waited for "+what+" in vain", "%s", last)
}

func fullSyncs(family string) string {
	return fmt.Sprintf(`kubeproxy_sync_full_proxy_rules_duration_seconds_count{ip_family=%q}`, family)
}

// awaitMetric waits until a metric has at least the value, and returns its value.
func (n *kernelNode) awaitMetric(t *testing.T, name string, least float64) (value float64) {
	t.Helper()
	n.await(t, name, func() string {
		var ok bool
		if value, ok = n.metric(t, name); !ok || value < least {
			return fmt.Sprintf("it is %v, want at least %v", value, least)
		}
		return ""
	})
	return value
}

// metric asks the proxy for a metric, by its name with labels.
func (n *kernelNode) metric(t *testing.T, name string) (value float64, ok bool) {
	t.Helper()
	client := http.Client{Transport: &http.Transport{DisableKeepAlives: true, DialContext: n.dial}, Timeout: patience}
	response, err := client.Get("http://127.0.0.1:10249/metrics")
	if err != nil {
		return 0, false
	}
	defer func() { _ = response.Body.Close() }()
	body, err := io.ReadAll(response.Body)
	require.NoError(t, err)
	for line := range strings.Lines(string(body)) {
		if text, found := strings.CutPrefix(line, name+" "); found {
			value, err = strconv.ParseFloat(strings.TrimSpace(text), 64)
			require.NoError(t, err)
			return value, true
		}
	}
	return 0, false
}

func (n *kernelNode) dial(ctx context.Context, network, address string) (conn net.Conn, err error) {
	err = n.ns.Namespace.Do(func() (err error) {
		conn, err = new(net.Dialer).DialContext(ctx, network, address)
		return err
	})
	return conn, err
}

// holdLock takes the lock of the legacy tools until the returned function is called.
func (n *kernelNode) holdLock(t *testing.T) (release func()) {
	t.Helper()
	file, err := os.OpenFile(n.ns.LockFile(), os.O_RDWR, 0)
	require.NoError(t, err)
	require.NoError(t, unix.Flock(int(file.Fd()), unix.LOCK_EX))
	return func() { require.NoError(t, file.Close()) }
}

// child returns the command line of a child of the proxy that runs the tool, "" if there is none.
func (n *kernelNode) child(t *testing.T, tool string) string {
	t.Helper()
	lists, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/children", n.process.Process.Pid))
	require.NoError(t, err)
	for _, list := range lists {
		pids, _ := os.ReadFile(list) // a thread may have ended
		for _, pid := range strings.Fields(string(pids)) {
			line, _ := os.ReadFile("/proc/" + pid + "/cmdline")
			if words := bytes.Split(line, []byte{0}); len(words) > 0 && filepath.Base(string(words[0])) == tool {
				return string(bytes.ReplaceAll(line, []byte{0}, []byte{' '}))
			}
		}
	}
	return ""
}

// rules are all chains and rules of both families that somebody made, sorted, without counters.
func (n *kernelNode) rules(t *testing.T) []string {
	t.Helper()
	counters := regexp.MustCompile(` \[\d+:\d+\]$`)
	var lines []string
	for _, tool := range []string{"iptables-save", "ip6tables-save"} {
		table := ""
		for line := range strings.Lines(n.run(t, tool)) {
			line = counters.ReplaceAllString(strings.TrimSpace(line), "")
			switch {
			case strings.HasPrefix(line, "*"):
				table = line
			case strings.HasPrefix(line, "-A "), strings.HasSuffix(line, " -"):
				lines = append(lines, tool+table+" "+line)
			}
		}
	}
	slices.Sort(lines)
	return lines
}

// awaitRules waits until the rules are these.
func (n *kernelNode) awaitRules(t *testing.T, want []string) {
	t.Helper()
	n.await(t, "the same rules", func() string {
		got := n.rules(t)
		if slices.Equal(got, want) {
			return ""
		}
		missing := slices.DeleteFunc(slices.Clone(want), func(line string) bool { return slices.Contains(got, line) })
		extra := slices.DeleteFunc(slices.Clone(got), func(line string) bool { return slices.Contains(want, line) })
		return fmt.Sprintf("missing:\n%s\ntoo many:\n%s", strings.Join(missing, "\n"), strings.Join(extra, "\n"))
	})
}
