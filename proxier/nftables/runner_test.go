package nftables

import (
	"context"
	"errors"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	testclock "k8s.io/utils/clock/testing"
	"k8s.io/utils/exec"
	testingexec "k8s.io/utils/exec/testing"
)

// answer is what a run of nft prints and ends with.
type answer struct {
	stdout, stderr string
	status         int
	// err is an error of running it at all.
	err error
}

// scripted is an executor that gives the answers in turn, the last one again and again, and writes the command lines down.
type scripted struct {
	answers []answer
	calls   []string
}

func (s *scripted) Command(name string, args ...string) exec.Cmd {
	return s.CommandContext(context.Background(), name, args...)
}

func (s *scripted) CommandContext(_ context.Context, name string, args ...string) exec.Cmd {
	s.calls = append(s.calls, strings.Join(append([]string{name}, args...), " "))
	next := s.answers[0]
	if len(s.answers) > 1 {
		s.answers = s.answers[1:]
	}
	cmd := &testingexec.FakeCmd{RunScript: []testingexec.FakeAction{func() ([]byte, []byte, error) {
		if next.status != 0 {
			next.err = testingexec.FakeExitError{Status: next.status}
		}
		return []byte(next.stdout), []byte(next.stderr), next.err
	}}}
	return testingexec.InitFakeCmd(cmd, name, args...)
}

func (s *scripted) LookPath(name string) (string, error) { return name, nil }

const known = "nftables v1.0.6 (Lester Gooch #5)\n"

// newRunner returns a Runner whose nft gives these answers once it is set up.
func newRunner(t *testing.T, answers ...answer) (*Runner, *scripted) {
	t.Helper()
	s := &scripted{answers: append([]answer{{stdout: known}, {}}, answers...)}
	r, err := New(s, v1.IPv4Protocol, Options{TimeLimit: -1})
	require.NoError(t, err)
	s.calls = nil
	return r, s
}

func TestNew(t *testing.T) {
	noTable := answer{stderr: "Error: Could not process rule: Operation not supported\nadd table ip kube-proxy\n^^^^\n", status: 1}
	for _, test := range []struct {
		name     string
		answers  []answer
		options  Options
		comments bool
		want     string // in the error; empty: there is none
	}{
		{"the usual", []answer{{stdout: known}, {}}, Options{}, true, ""},
		{"no comments", []answer{{stdout: known}, noTable, {}}, Options{}, false, ""},
		{"no tables", []answer{{stdout: known}, noTable}, Options{}, false,
			"nf_tables of IPv4 are not usable with this kernel: nft --check -f -: exit status 1: " +
				"Error: Could not process rule: Operation not supported"},
		{"the first that is new enough", []answer{{stdout: "nftables v1.0.1 (Fearless Fosdick #3)"}, {}}, Options{}, true, ""},
		{"one with four numbers", []answer{{stdout: "nftables v1.0.6.1 (x)"}, {}}, Options{}, true, ""},
		{"one of a checkout", []answer{{stdout: "nftables (git)"}, {}}, Options{}, true, ""},
		{"the last that is too old", []answer{{stdout: "nftables v1.0.0 (Fearless Fosdick #2)"}, {}}, Options{}, false,
			"nft 1.0.0 is too old: install nft 1.0.1 or later"},
		{"much too old", []answer{{stdout: "nftables v0.9.8 (E.D.S.)"}, {}}, Options{}, false, "nft 0.9.8 is too old"},
		{"no tool", []answer{{err: exec.ErrExecutableNotFound}}, Options{}, false, "install nft, or name it in Options.Tool"},
		{"no rights", []answer{{stdout: known}, {stderr: "Error: Could not process rule: Operation not permitted\n", status: 1}},
			Options{}, false,
			"run as root, or with CAP_NET_ADMIN"},
		{"a kernel that is new enough", []answer{{stdout: known}, {}}, Options{KernelRelease: "5.13.0-amd64"}, true, ""},
		{"a kernel that is too old", []answer{{stdout: known}, {}}, Options{KernelRelease: "5.10.0-35-amd64"}, false,
			"kernel 5.10.0-35-amd64 is too old for mode nftables: it takes Linux 5.13 or later"},
		{"an older kernel", []answer{{stdout: known}, {}}, Options{KernelRelease: "4.19.0"}, false, "too old"},
		{"no number of a kernel", []answer{{stdout: known}, {}}, Options{KernelRelease: "new"}, false,
			`kernel release "new": a number is missing`},
	} {
		t.Run(test.name, func(t *testing.T) {
			r, err := New(&scripted{answers: test.answers}, v1.IPv4Protocol, test.options)
			if test.want != "" {
				require.ErrorContains(t, err, test.want)
				return
			}
			require.NoError(t, err)
			assert.Equal(t, test.comments, r.Comments())
			assert.Equal(t, v1.IPv4Protocol, r.Family())
		})
	}
	_, err := New(&scripted{}, "IPv5", Options{})
	require.EqualError(t, err, `unknown IP family "IPv5": IPv4 and IPv6 are known`)
}

func TestNewDualStack(t *testing.T) {
	refused := answer{stderr: "Error: no\n", status: 1}
	tools, err := NewDualStack(&scripted{answers: []answer{{stdout: known}, {}, {stdout: known}, refused}}, Options{Tool: "/sbin/nft"})
	require.ErrorContains(t, err, "nf_tables of IPv6 are not usable with this kernel: /sbin/nft --check -f -")
	require.Len(t, tools, 1)
	assert.Equal(t, v1.IPv4Protocol, tools[v1.IPv4Protocol].Family())
}

func TestSetsAndChains(t *testing.T) {
	const head = `{"nftables": [{"metainfo": {"version": "1.0.6", "json_schema_version": 1}}`
	r, s := newRunner(t, answer{stdout: head + `,
		{"set": {"family": "ip", "name": "a", "table": "t", "type": "ipv4_addr", "handle": 3, "flags": ["timeout", "dynamic"], "timeout": 60}},
		{"set": {"family": "ip", "name": "b", "table": "t", "type": ["ipv4_addr", "inet_proto"], "handle": 4, "flags": "timeout"}},
		{"set": {"family": "ip", "name": "c", "table": "t", "type": {"typeof": {"meta": {"key": "mark"}}}}},
		{"set": {"family": "ip", "name": "d", "table": "other", "type": "ipv4_addr"}}, {"table": {"name": "t"}}]}`})
	sets, err := r.Sets("t")
	require.NoError(t, err)
	assert.Equal(t, map[string]Set{
		"a": {Type: "ipv4_addr", Timeout: 60, Timeouts: true}, "b": {Type: "ipv4_addr . inet_proto", Timeouts: true}, "c": {},
	}, sets)

	s.answers = []answer{{stdout: head + `,
		{"chain": {"family": "ip", "table": "t", "name": "base", "handle": 1, "type": "nat", "hook": "output", "prio": -100, "policy": "accept"}},
		{"chain": {"family": "ip", "table": "t", "name": "a/b", "handle": 2}},
		{"chain": {"family": "ip", "table": "other", "name": "c", "handle": 2}}]}`}}
	chains, err := r.Chains("t")
	require.NoError(t, err)
	assert.Equal(t, map[string]Chain{"base": {"nat", "output", -100}, "a/b": {}}, chains)
	assert.Equal(t, []string{"nft --json --terse list sets table ip t", "nft --json list chains ip"}, s.calls)

	s.answers = []answer{{stderr: "Error: No such file or directory\nlist sets table ip t\n", status: 1}}
	_, err = r.Sets("t")
	require.ErrorIs(t, err, ErrNotFound)
}

func TestListingsThatAreNotUnderstood(t *testing.T) {
	for text, want := range map[string]string{
		"":                  "nft list chains ip: JSON: unexpected end of JSON input",
		`{"nftables": []}`:  "the listing does not begin with metainfo",
		`{"nftables": [1]}`: "JSON: json: cannot unmarshal number",
		`{"nftables": [{"metainfo": {"json_schema_version": 2}}]}`: "schema 2 is not known: 1 is",
	} {
		r, _ := newRunner(t, answer{stdout: text})
		_, err := r.Chains("t")
		require.ErrorContains(t, err, want, text)
		require.NotErrorIs(t, err, ErrNotFound)
	}
}

func TestInUse(t *testing.T) {
	for _, test := range []struct {
		answer answer
		used   bool
		want   string
	}{
		{answer{stderr: "Error: Could not process rule: Device or resource busy\n", status: 1}, true, ""},
		{answer{}, false, ""},
		{answer{stderr: "Error: Could not process rule: No such file or directory\n", status: 1}, false, ""},
		{answer{stderr: "Error: No such file or directory; did you mean table ‘x’ in family ip?\n", status: 1}, false, ""},
		{answer{stderr: "Error: Could not process rule: Cannot allocate memory\n", status: 1}, false, "Cannot allocate memory"},
		{answer{err: errors.New("Device or resource busy")}, false, "Device or resource busy"},
	} {
		r, s := newRunner(t, test.answer)
		used, err := r.InUse("t", "c")
		if test.want != "" {
			require.ErrorContains(t, err, test.want)
			continue
		}
		require.NoError(t, err)
		assert.Equal(t, test.used, used, test.answer.stderr)
		assert.Equal(t, []string{"nft --check delete chain ip t c"}, s.calls)
	}
}

// An error shows the first of nft's complaints, of which there may be very many, and not a line of a megabyte.
func TestApplyTellsTheFirstComplaint(t *testing.T) {
	r, s := newRunner(t, answer{status: 1, stderr: "/dev/stdin:1:11-13: Error: Could not process rule: File exists\nadd chain ip t c " +
		strings.Repeat("x", 1000) + "\n          ^^^\n/dev/stdin:2:1-1: Error: another\n"})
	err := r.Apply([]byte("add chain ip t c\n"))
	require.EqualError(t, err, "nft -f -: exit status 1: /dev/stdin:1:11-13: Error: Could not process rule: File exists\nadd chain ip t c "+
		strings.Repeat("x", 283)+"...\n          ^^^\n(and 1 more lines)")
	assert.Equal(t, []string{"nft -f -"}, s.calls)
}

func TestMonitor(t *testing.T) {
	missing := answer{stderr: "Error: No such file or directory\n", status: 1}
	busy := answer{stderr: "Error: Could not process rule: Device or resource busy\n", status: 1}
	unknown := answer{stderr: "Error: Could not process rule: Cannot allocate memory\n", status: 1}
	s := &scripted{answers: []answer{{stdout: known}, {}, busy, missing, unknown, {}, busy}}
	clock := testclock.NewFakeClock(time.Unix(0, 0))
	r, err := New(s, v1.IPv4Protocol, Options{Clock: clock, TimeLimit: -1})
	require.NoError(t, err)
	s.calls = nil
	lost, stop, done := make(chan int, 10), make(chan struct{}), make(chan struct{})
	go func() {
		defer close(done)
		r.Monitor("t", "c", func() { lost <- len(s.calls) }, time.Minute, stop)
	}()
	step := func() {
		for !clock.HasWaiters() {
			runtime.Gosched() // until it waits
		}
		clock.Step(time.Minute)
	}
	for range 5 {
		step()
	}
	assert.Equal(t, 2, <-lost, "the second look")
	assert.Equal(t, 4, <-lost, "the fourth")
	close(stop)
	<-done
	assert.Empty(t, lost)
	close(lost)
	r.Monitor("t", "c", func() { t.Error("it has ended") }, time.Minute, stop)
}

// A listing never makes the reader panic, and what it takes it takes the same again.
func FuzzListing(f *testing.F) {
	const head = `{"nftables": [{"metainfo": {"json_schema_version": 1}}, `
	f.Add([]byte(head + `{"set": {"name": "a", "table": "t", "type": ["x", "y"], "flags": "timeout"}}]}`))
	f.Add([]byte(head + `{"chain": {"name": "a", "table": "t", "prio": -100}}, null, {"rule": 1}]}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		var names []string
		read := func() error {
			return eachObject(text, func(o *object) {
				if o.Set != nil {
					names = append(names, o.Set.Name+" "+o.Set.set().Type)
				}
			})
		}
		first := read()
		once := len(names)
		assert.Equal(t, first == nil, read() == nil)
		assert.Equal(t, names[:once], names[once:])
	})
}
