package scenarios

import (
	"context"
	"errors"
	"fmt"
	"math/big"
	"net/netip"
	"slices"
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/chainwalk/chainwalk/netfilter"
)

// TestRunning runs testdata/running: a scenario on the backend below, and the
// report of it. The commands are text, verbose, json, junit, ways with which ways to
// show in a text, and calls for what the backend was asked to do.
func TestRunning(t *testing.T) {
	datadriven.Walk(t, "testdata/running", func(t *testing.T, path string) {
		datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string {
			s, err := Read("in.yaml", strings.NewReader(d.Input))
			require.NoError(t, err)
			b := &canned{}
			result := Run(t.Context(), s, b)
			var out strings.Builder
			switch d.Cmd {
			case "text":
				err = WriteText(&out, []*Result{result}, WaysFailed)
			case "verbose":
				report := NewTextReport(&out, WaysFailed, Verbose)
				err = errors.Join(report.Add(result), report.End())
			case "ways":
				ways, wrong := ParseWays(d.CmdArgs[0].Key)
				require.NoError(t, wrong)
				err = WriteText(&out, []*Result{result}, ways)
			case "json":
				err = WriteJSON(&out, []*Result{result}, WaysFailed)
			case "junit":
				err = WriteJUnit(&out, []*Result{result})
			case "calls":
				return strings.Join(b.calls, "\n")
			default:
				d.Fatalf(t, "unknown command %q", d.Cmd)
			}
			require.NoError(t, err)
			return out.String()
		})
	})
}

var (
	cannedClient = netip.MustParseAddrPort("10.244.1.100:40000")
	cannedFirst  = netip.MustParseAddrPort("10.244.1.2:8080")
	cannedSecond = netip.MustParseAddrPort("10.244.2.2:8080")
)

func TestTheShareOfACountMayBeOffByChanceOnly(t *testing.T) {
	expect := Expect{Endpoints: Shares{{cannedFirst, mustChance(t, "1/2")}, {cannedSecond, mustChance(t, "1/2")}}}
	counted := func(first, samples int) string {
		share := float64(first) / float64(samples)
		j := judge{expect: &expect, seen: &Observed{Samples: samples, Ways: []Way{
			{End: Delivered, Heard: true, Server: cannedFirst, Probability: share},
			{End: Delivered, Heard: true, Server: cannedSecond, Probability: 1 - share},
		}}}
		return j.wrong()
	}
	assert.Empty(t, counted(480, 1000))
	assert.Contains(t, counted(400, 1000), "10.244.1.2:8080 has the chance 0.4, not 0.5")
	assert.Contains(t, counted(1000, 1000), "has the chance 1, not 0.5")
}

func TestUnknownMasqueradeIsJudgedByTheAddress(t *testing.T) {
	node := netip.MustParseAddr("192.168.0.2")
	j := judge{nodes: func(a netip.Addr) bool { return a == node }, expect: &Expect{
		Endpoints: Shares{{cannedFirst, mustChance(t, "1")}}, Source: Source{Masqueraded: true},
	}}
	seenFrom := func(client string) string {
		j.seen = &Observed{NoRules: true, Ways: []Way{{Probability: 1, End: Delivered, Heard: true, Server: cannedFirst,
			Sender: cannedClient, Client: netip.MustParseAddrPort(client)}}}
		return j.wrong()
	}
	assert.Empty(t, seenFrom("192.168.0.2:1024"))
	assert.Contains(t, seenFrom("10.244.1.100:40000"), "which is no node's address")
}

// limited is a backend with one of the tools.
type limited struct {
	*canned
	why string
}

func (l limited) Unsupported(s *Scenario) string {
	if s.Name == "hopeless" {
		return l.why
	}
	return ""
}

func (limited) Dialects() []netfilter.Dialect { return []netfilter.Dialect{netfilter.NFT} }

func TestALimitedBackendRunsWhatItCan(t *testing.T) {
	for _, row := range []struct{ name, head, skipped string }{
		{"both tools", "{name: a", ""},
		{"its own tool", "{name: a, iptables: {tools: [nft]}", ""},
		{"the other tool", "{name: a, iptables: {tools: [legacy]}", "runs with the tools legacy only, and the nodes have nft"},
		{"what it cannot", "{name: hopeless", "no clock can be moved"},
	} {
		t.Run(row.name, func(t *testing.T) {
			s, err := Read("in.yaml", strings.NewReader(row.head+", steps: [{sync: true}]}"))
			require.NoError(t, err)
			b := &canned{}
			result := Run(t.Context(), s, limited{b, "no clock can be moved"})
			assert.Equal(t, row.skipped, result.Skipped)
			if row.skipped != "" {
				assert.Empty(t, b.calls)
				return
			}
			assert.Equal(t, []string{"start nft", "sync [node1 node2]", "sync [node1 node2]", "close"}, b.calls)
		})
	}
}

// together makes the connections of tables together.
type together struct{ *canned }

func (b together) Start(ctx context.Context, c *Cluster) (Session, error) {
	_, err := b.canned.Start(ctx, c)
	return b, err
}

func (b together) ConnectAll(_ context.Context, attempts []Attempt) ([]*Observed, error) {
	var out []*Observed
	var ports []string
	for _, a := range attempts {
		ports = append(ports, fmt.Sprint(a.To.Port()))
		seen, err := b.ways(a.To.AddrPort)
		if err != nil {
			return nil, err
		}
		out = append(out, seen)
	}
	b.call("connect all %s", strings.Join(ports, " "))
	return out, nil
}

func TestTheConnectionsOfATableAreMadeTogether(t *testing.T) {
	s, err := Read("in.yaml", strings.NewReader(`{name: a, iptables: {tools: [legacy]}, steps: [
		{cases: [{from: node1, to: "tcp 172.30.0.1:81", expect: reject}, {from: node1, to: "tcp 172.30.0.1:82", expect: reject}]},
		{connect: {from: node1, to: "tcp 172.30.0.1:81", expect: reject}}]}`))
	require.NoError(t, err)
	b := &canned{}
	result := Run(t.Context(), s, together{b})
	require.Len(t, result.Checks, 3)
	assert.Equal(t, []bool{true, false, true}, []bool{result.Checks[0].Passed, result.Checks[1].Passed, result.Checks[2].Passed})
	assert.Contains(t, b.calls, "connect all 81 82")
	assert.Contains(t, b.calls, "connect node1 bind invalid IP 0 to tcp 172.30.0.1:81 via node1 keep \"\"")
}

// blind says why it has no rules to look at.
type blind struct {
	*canned
	why string
}

func (r blind) Start(ctx context.Context, c *Cluster) (Session, error) {
	_, err := r.canned.Start(ctx, c)
	return r, err
}

func (r blind) Unseen(s *Step) string {
	if s.Rules == nil {
		return ""
	}
	return r.why
}

func TestWhatASessionDoesNotSeeIsPassedOver(t *testing.T) {
	s, err := Read("in.yaml", strings.NewReader(`{name: a, iptables: {tools: [legacy]}, steps: [
		{rules: {contains: [nowhere]}}, {connect: {from: node1, to: "tcp 172.30.0.1:81", expect: reject}}]}`))
	require.NoError(t, err)
	result := Run(t.Context(), s, blind{canned: &canned{}})
	assert.True(t, result.Failed(), "it has some")

	result = Run(t.Context(), s, blind{&canned{}, "it writes none"})
	require.Len(t, result.Checks, 2)
	assert.False(t, result.Failed())
	assert.Equal(t, "it writes none", result.Checks[0].Skipped)
	assert.Empty(t, result.Checks[1].Skipped)
	var text, junit strings.Builder
	require.NoError(t, WriteText(&text, []*Result{result}, WaysFailed))
	assert.Contains(t, text.String(), "1 check, 1 skipped)\n")
	assert.Contains(t, text.String(), "1 scenario, 0 failed, 0 skipped; 1 check, 0 failed, 1 skipped\n")
	require.NoError(t, WriteJUnit(&junit, []*Result{result}))
	assert.Contains(t, junit.String(), `<skipped message="it writes none">`)
}

// prompt is a session on proxies that sync by themselves.
type prompt struct{ *canned }

func (p prompt) Start(ctx context.Context, c *Cluster) (Session, error) {
	_, err := p.canned.Start(ctx, c)
	return p, err
}

func (p prompt) NotYet(_ context.Context, nodes []string) error {
	p.call("not yet %s", nodes)
	return nil
}

// TestProxiesThatSyncByThemselvesAreToldWhichChangesAreNotForThemYet: before the change, and of no other one.
func TestProxiesThatSyncByThemselvesAreToldWhichChangesAreNotForThemYet(t *testing.T) {
	s, err := Read("in.yaml", strings.NewReader(`{name: a, iptables: {tools: [legacy]}, topology: {nodes: 2}, steps: [
		{delete: [service one], sync: false}, {node: {name: node1, labels: {a: b}}, sync: [node1]}, {delete: [service two]}, {sync: true},
		{connect: {from: node1, to: "tcp 172.30.0.1:81", expect: reject}}], objects: [
		{apiVersion: v1, kind: Service, metadata: {name: one}, spec: {clusterIP: 172.30.0.2, ports: [{port: 80}]}},
		{apiVersion: v1, kind: Service, metadata: {name: two}, spec: {clusterIP: 172.30.0.3, ports: [{port: 80}]}}]}`))
	require.NoError(t, err)
	b := &canned{}
	Run(t.Context(), s, prompt{b})
	told := slices.DeleteFunc(b.calls, func(call string) bool {
		word, _, _ := strings.Cut(call, " ")
		return !slices.Contains([]string{"not", "delete", "sync"}, word)
	})
	assert.Equal(t, []string{"sync [node1 node2]", "not yet [node1 node2]", "delete [service default/one]", "not yet [node2]", "sync [node1]",
		"delete [service default/two]", "sync [node1 node2]", "sync [node1 node2]"}, told)
}

func TestADropWithoutRulesIsJudgedWithoutItsText(t *testing.T) {
	j := judge{expect: &Expect{Drop: Matched{Wanted: true, Text: "--ctstate INVALID"}}}
	j.seen = &Observed{Ways: []Way{{Probability: 1, End: Dropped, Host: "node1"}}}
	assert.NotEmpty(t, j.wrong())
	j.seen.NoRules = true
	assert.Empty(t, j.wrong())
	j.seen.Ways[0].End = Rejected
	assert.NotEmpty(t, j.wrong())
}

func mustChance(t *testing.T, s string) *big.Rat {
	t.Helper()
	r, err := parseChance(s)
	require.NoError(t, err)
	return r
}

func TestParseWaysRefusesOtherWords(t *testing.T) {
	_, err := ParseWays("some")
	require.EqualError(t, err, `unknown word "some" (want none, failed, one or all)`)
}

func TestACancelledRunSaysSo(t *testing.T) {
	s, err := Read("in.yaml", strings.NewReader("{name: a, iptables: {tools: [legacy]}, steps: [{advance: 1s}, {advance: 1s}]}"))
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	result := Run(ctx, s, &canned{})
	require.Len(t, result.Checks, 1)
	assert.Equal(t, "context canceled; it was in step 1 of 2", result.Checks[0].Wrong)
}

func TestAPanicIsAFailureOfItsScenario(t *testing.T) {
	s, err := Read("in.yaml", strings.NewReader("{name: a, iptables: {tools: [legacy]}, "+
		"steps: [{connect: {from: node1, to: 'tcp 172.30.0.1:87', expect: drop}}, {sync: true}]}"))
	require.NoError(t, err)
	b := &canned{}
	result := Run(t.Context(), s, b)
	require.Len(t, result.Checks, 1)
	assert.Equal(t, "panic", result.Checks[0].Name)
	assert.Equal(t, "in.yaml:1:48", result.Checks[0].At)
	assert.Contains(t, result.Checks[0].Wrong, "the walk has no end")
	assert.Contains(t, result.Checks[0].Wrong, "canned).Connect")
	assert.Equal(t, "close", b.calls[len(b.calls)-1])
}

func (j *judge) wrong() string {
	wrong, _ := j.verdict()
	return wrong
}

func TestAFailureOfManyWaysShowsTheOneAtFault(t *testing.T) {
	seen := &Observed{}
	for i := range 50 {
		server := netip.AddrPortFrom(netip.AddrFrom4([4]byte{10, 0, 0, byte(i + 1)}), 80)
		w := Way{End: Delivered, Heard: true, Server: server, Client: cannedClient, Sender: cannedClient, Probability: 0.02}
		if i == 41 {
			w = Way{End: Lost, Host: "node2", Reason: "no route", Probability: 0.02}
		}
		seen.Ways = append(seen.Ways, w)
	}
	j := judge{expect: &Expect{NoReply: false, Endpoints: Shares{{seen.Ways[0].Server, mustChance(t, "1")}}}, seen: seen}
	c := Check{Name: "many", Ways: seen.Ways}
	c.Wrong, c.faulty = j.verdict()
	assert.Equal(t, 41, c.faulty)
	var report strings.Builder
	require.NoError(t, WriteText(&report, []*Result{{Name: "s", Checks: []Check{c}}}, WaysOne))
	assert.Contains(t, report.String(), "way 42 of 50, with the chance 0.02: lost at node2: no route")
	assert.Contains(t, report.String(), "and 49 ways more (--ways all)")
	assert.NotContains(t, report.String(), "way 1 of 50")
}
