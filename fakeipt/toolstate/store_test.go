package toolstate

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"k8s.io/utils/clock"
	clocktesting "k8s.io/utils/clock/testing"

	"github.com/chainwalk/chainwalk/fakeipt"
	"github.com/chainwalk/chainwalk/internal/statefolder"
	"github.com/chainwalk/chainwalk/netfilter"
)

// tool runs a tool on the store and returns all that it printed.
func tool(s *Store, stdin string, argv ...string) (string, int) {
	var out bytes.Buffer
	status := s.Run(argv, strings.NewReader(stdin), &out, &out)
	return out.String(), status
}

// must runs a tool that has to succeed.
func must(t *testing.T, s *Store, argv ...string) string {
	t.Helper()
	out, status := tool(s, "", argv...)
	require.Zero(t, status, "%v: %s", argv, out)
	return out
}

// file is a file as it was found.
type file struct {
	info fs.FileInfo
	text string
}

// files are the files in the folder by name.
func files(t *testing.T, dir string) map[string]file {
	found := map[string]file{}
	entries, err := os.ReadDir(dir)
	require.NoError(t, err)
	for _, entry := range entries {
		info, err := entry.Info()
		require.NoError(t, err)
		text, err := os.ReadFile(filepath.Join(dir, entry.Name()))
		require.NoError(t, err)
		found[entry.Name()] = file{info, string(text)}
	}
	return found
}

func TestReadsWriteNothing(t *testing.T) {
	for _, d := range []netfilter.Dialect{netfilter.Legacy, netfilter.NFT} {
		s := &Store{dir: t.TempDir(), dialect: d}
		must(t, s, "nfacct", "add", "seen")
		must(t, s, "iptables", "-A", "INPUT", "-m", "nfacct", "--nfacct-name", "seen")
		must(t, s, "iptables", "-t", "nat", "-A", "OUTPUT", "-j", "ACCEPT")
		before := files(t, s.dir)
		must(t, s, "iptables", "-S")
		must(t, s, "iptables", "-L", "-n", "-v")
		must(t, s, "iptables", "-C", "INPUT", "-m", "nfacct", "--nfacct-name", "seen")
		must(t, s, "iptables-save", "-c")
		must(t, s, "nfacct", "list")
		for _, argv := range [][]string{{"iptables", "-C", "INPUT", "-j", "DROP"}, {"iptables", "-D", "INPUT", "9"}, {"iptables", "-A"},
			{"nfacct", "add", "seen"}} {
			_, status := tool(s, "", argv...)
			assert.NotZero(t, status, argv)
		}
		after := files(t, s.dir)
		assert.Len(t, after, len(before))
		for name, old := range before {
			assert.Equal(t, old.text, after[name].text, name)
			assert.True(t, os.SameFile(old.info, after[name].info), "%s is another file", name)
			assert.Equal(t, old.info.ModTime(), after[name].info.ModTime(), name)
		}
	}
}

func TestNFTChainsMadeAreKept(t *testing.T) {
	s := &Store{dir: t.TempDir(), dialect: netfilter.NFT}
	must(t, s, "iptables", "-A", "INPUT", "-j", "ACCEPT")
	memory := fakeipt.New(fakeipt.Options{Dialect: netfilter.NFT})
	require.Zero(t, memory.Run([]string{"iptables", "-A", "INPUT", "-j", "ACCEPT"}, nil, io.Discard, io.Discard))
	for _, chain := range []string{"INPUT", "FORWARD"} {
		argv := []string{"iptables", "-A", "INPUT", "-j", chain}
		var want bytes.Buffer
		status := memory.Run(argv, nil, &want, &want)
		got, gotStatus := tool(s, "", argv...)
		assert.Equal(t, want.String(), got)
		assert.Equal(t, status, gotStatus)
	}
}

func TestLegacyToolsWaitForTheirLock(t *testing.T) {
	s := &Store{dir: t.TempDir(), clock: clocktesting.NewFakeClock(time.Unix(0, 0))}
	must(t, s, "iptables", "-S")
	path := filepath.Join(s.dir, "xtables.lock")
	holder, err := os.OpenFile(path, os.O_RDWR, 0)
	require.NoError(t, err)
	require.NoError(t, statefolder.LockFile(holder))

	done := make(chan struct{})
	go stepUntil(s.clock.(*clocktesting.FakeClock), done)
	for _, argv := range [][]string{{"iptables", "-w", "2", "-S"}, {"iptables-restore", "-w", "2"}, {"ip6tables-legacy", "-w2", "-S"}} {
		out, status := tool(s, "*filter\nCOMMIT\n", argv...)
		assert.Equal(t, 4, status, argv)
		assert.Equal(t, "Can't lock "+path+": Resource temporarily unavailable\n"+
			"Another app is currently holding the xtables lock. Stopped waiting after 2s.\n", out)
	}
	close(done)

	// These do not take it.
	must(t, s, "iptables-save")
	must(t, s, "iptables-nft", "-S")
	must(t, s, "iptables", "-V")

	// Without -w a tool waits as long as it takes.
	waiting := make(chan int)
	go func() {
		_, status := tool(s, "", "iptables", "-N", "A")
		waiting <- status
	}()
	require.NoError(t, holder.Close())
	require.Zero(t, <-waiting)
	assert.Contains(t, must(t, s, "iptables", "-S"), "-N A\n")
}

// stepUntil lets the time go on for whoever waits.
func stepUntil(c *clocktesting.FakeClock, done chan struct{}) {
	for {
		select {
		case <-done:
			return
		default:
			if c.HasWaiters() {
				c.Step(lockPoll)
			}
		}
	}
}

func TestLockFileThatCannotBeMade(t *testing.T) {
	s := &Store{dir: t.TempDir(), lockFile: "/nonexistent/lock"}
	out, status := tool(s, "", "iptables", "-S")
	assert.Equal(t, 4, status)
	assert.Equal(t, "Fatal: can't open lock file /nonexistent/lock: No such file or directory\n", out)
}

func TestConcurrentToolsLoseNothing(t *testing.T) {
	s := &Store{dir: t.TempDir(), clock: clock.RealClock{}}
	var all sync.WaitGroup
	for i := range 16 {
		all.Go(func() {
			out, status := tool(s, "", "iptables", "-N", fmt.Sprintf("chain-%02d", i))
			assert.Zero(t, status, out)
		})
	}
	all.Wait()
	assert.Equal(t, 16, strings.Count(must(t, s, "iptables", "-S"), "-N chain-"))
}

func TestSetsKeepTheirTimeouts(t *testing.T) {
	now := clocktesting.NewFakeClock(time.Unix(1000, 0))
	s := &Store{dir: t.TempDir(), clock: now}
	must(t, s, "ipset", "create", "blocked", "hash:ip", "timeout", "60")
	must(t, s, "ipset", "add", "blocked", "10.0.0.1")
	must(t, s, "iptables", "-A", "INPUT", "-m", "set", "--match-set", "blocked", "src", "-j", "DROP")
	now.Step(20 * time.Second)
	must(t, s, "ipset", "add", "blocked", "10.0.0.2")
	assert.Contains(t, must(t, s, "ipset", "save"), "add blocked 10.0.0.1 timeout 40\n")
	now.Step(30*time.Second + 300*time.Millisecond)
	before := files(t, s.dir)
	saved := must(t, s, "ipset", "save")
	assert.Contains(t, saved, "add blocked 10.0.0.1 timeout 9\n")
	assert.Contains(t, saved, "add blocked 10.0.0.2 timeout 29\n")
	now.Step(10 * time.Second)
	assert.NotContains(t, must(t, s, "ipset", "save"), "10.0.0.1")
	assert.Equal(t, before["objects"].text, files(t, s.dir)["objects"].text)

	_, status := tool(s, "", "ipset", "destroy", "blocked")
	assert.NotZero(t, status, "a rule names the set")
	must(t, s, "iptables", "-F")
	must(t, s, "ipset", "destroy", "blocked")
}

// TestOddThingsAreKept: whatever a tool has accepted is there for the next one, whatever its text.
func TestOddThingsAreKept(t *testing.T) {
	for _, argv := range [][]string{
		{"-A", "INPUT", "-i", "eth 0"}, {"-A", "OUTPUT", "-o", "a\nb"}, {"-A", "INPUT", "-m", "physdev", "--physdev-in", "eth 0"},
		{"-A", "INPUT", "-m", "comment", "--comment", "two\nlines"}, {"-A", "INPUT", "-m", "time", "--weekdays", ""},
		{"-A", "INPUT", "-m", "comment", "--comment", "\xff\"\\"},
	} {
		for _, d := range []netfilter.Dialect{netfilter.Legacy, netfilter.NFT} {
			s := &Store{dir: t.TempDir(), dialect: d}
			must(t, s, append([]string{"iptables"}, argv...)...)
			before := must(t, s, "iptables", "-S")
			must(t, s, append([]string{"iptables", "-C"}, argv[1:]...)...)
			must(t, s, "iptables", "-N", "A")
			assert.Contains(t, must(t, s, "iptables", "-S"), strings.TrimPrefix(before, "-P INPUT ACCEPT\n-P FORWARD ACCEPT\n-P OUTPUT ACCEPT\n"))
			must(t, s, append([]string{"iptables", "-D"}, argv[1:]...)...)
		}
	}
	s := &Store{dir: t.TempDir()}
	must(t, s, "nfacct", "add", "a b")
	assert.Contains(t, must(t, s, "nfacct", "list"), "} = a b;\n")
	must(t, s, "iptables", "-A", "INPUT", "-m", "nfacct", "--nfacct-name", "a b")
	assert.Contains(t, must(t, s, "nfacct", "list"), "} = a b;\n")
}

func TestQuotasAreKept(t *testing.T) {
	s := &Store{dir: t.TempDir()}
	must(t, s, "nfacct", "add", "limit", "byte", "1000")
	want := must(t, s, "nfacct", "list")
	assert.Contains(t, want, "quota = 00000000000000001000")
	must(t, s, "nfacct", "add", "other")
	assert.Contains(t, must(t, s, "nfacct", "list"), want)
}

func TestIsTool(t *testing.T) {
	for _, name := range []string{"iptables", "/usr/sbin/iptables-restore", "ip6tables-nft-save", "iptables-legacy", "nfacct", "ipset"} {
		assert.True(t, IsTool(name), name)
	}
	for _, name := range []string{"", "chainwalk", "iptables-other", "iptables-save-nft"} {
		assert.False(t, IsTool(name), name)
	}
}

// TestFolderThatIsNotOurs holds what the legacy tools say where the folder of the state may not be made: what they say on a machine to
// whoever is not root. The nft tools have it from fakeipt.
func TestFolderThatIsNotOurs(t *testing.T) {
	r := newRun(&Store{dir: "/closed/state"}, "iptables")
	denied := &fs.PathError{Op: "mkdir", Path: "/closed/state", Err: syscall.EACCES}
	var gate *fakeipt.GateError
	require.ErrorAs(t, r.noFolder(fakeipt.Visit{Locks: true}, denied), &gate)
	assert.Equal(t, fakeipt.GateError{Status: statusFailed,
		Text: "Fatal: can't open lock file /closed/state/xtables.lock: Permission denied\n"}, *gate)
	for _, err := range []error{r.noFolder(fakeipt.Visit{}, denied), r.noFolder(fakeipt.Visit{Locks: true}, syscall.ENOSPC)} {
		assert.False(t, errors.As(err, &gate), err)
		assert.ErrorContains(t, err, "making the folder of the state")
	}
}

// TestEstimatorsOfTheOtherFamily: -m rateest names what a rule of either family has made, be it in another file of the state.
func TestEstimatorsOfTheOtherFamily(t *testing.T) {
	for _, d := range []netfilter.Dialect{netfilter.Legacy, netfilter.NFT} {
		s := &Store{dir: t.TempDir(), dialect: d}
		match := []string{"ip6tables", "-A", "INPUT", "-m", "rateest", "--rateest", "A", "--rateest-lt", "--rateest-pps", "5"}
		_, status := tool(s, "", match...)
		require.NotZero(t, status)
		must(t, s, "iptables", "-A", "INPUT", "-j", "RATEEST", "--rateest-name", "A", "--rateest-interval", "1s", "--rateest-ewmalog", "2s")
		must(t, s, match...)
		assert.Contains(t, must(t, s, "iptables", "-S"), "RATEEST")
		assert.Contains(t, must(t, s, "ip6tables", "-S"), "-m rateest --rateest A")
	}
}
