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
	"time"

	"github.com/cockroachdb/datadriven"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/chainwalk/chainwalk/netfilter"
	"github.com/chainwalk/chainwalk/packetsim"
	"github.com/chainwalk/chainwalk/scenarios/manifest"
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

// canned is a Backend whose packets go where the port that they are sent to says.
type canned struct {
	cluster *Cluster
	calls   []string
	watch   func(context.Context, Point)
}

func (c *canned) Name() string { return BackendSim }

func (c *canned) Start(_ context.Context, cluster *Cluster) (Session, error) {
	c.call("start %s", cluster.Dialect)
	c.cluster = cluster
	if cluster.Node("broken") != nil {
		return nil, errors.New("no such luck")
	}
	return c, nil
}

func (c *canned) call(format string, args ...any) {
	c.calls = append(c.calls, fmt.Sprintf(format, args...))
}

func (c *canned) Apply(_ context.Context, objects []manifest.Object) error {
	for _, o := range objects {
		c.call("apply %s %v", o.Ref(), o.Meta().GetLabels())
	}
	return nil
}

func (c *canned) Delete(_ context.Context, refs []manifest.Ref) error {
	c.call("delete %v", refs)
	if refs[0].Name == "nothing" {
		return errors.New("services \"nothing\" not found")
	}
	return nil
}

func (c *canned) Sync(ctx context.Context, nodes []string) error {
	c.call("sync %v", nodes)
	for _, node := range nodes {
		for _, after := range []bool{false, true} {
			if c.watch != nil {
				c.watch(ctx, Point{Node: node, After: after, Command: CommandIPTablesRestore, Nth: 1})
				c.watch(ctx, Point{Node: node, After: after, Command: CommandIPTablesRestore, Table: "nat", Nth: 1})
			}
		}
	}
	if len(nodes) == 1 && nodes[0] == "node2" {
		return errors.New("node2: iptables-restore: exit status 4")
	}
	return nil
}

func (c *canned) Restart(_ context.Context, nodes []string) error {
	c.call("restart %v with masqueradeAll %v", nodes, c.cluster.Configs[nodes[0]].IPTables.MasqueradeAll)
	return nil
}

func (c *canned) Advance(_ context.Context, d time.Duration) error {
	c.call("advance %s", d)
	return nil
}

func (c *canned) Save(_ context.Context, node string, family IPFamily) (string, error) {
	c.call("save %s %s", node, family)
	return "*filter\n:INPUT ACCEPT [0:0]\n:KUBE-FORWARD - [0:0]\n[7:420] -A KUBE-FORWARD -j DROP\nCOMMIT\n" +
		"*nat\n:KUBE-SVC-X - [0:0]\n[0:0] -A KUBE-SVC-X -j KUBE-SEP-Y\nCOMMIT\n", nil
}

func (c *canned) Accounting(context.Context, string) (map[string]int, error) {
	return map[string]int{"dropped": 3}, nil
}

func (c *canned) Health(context.Context, string) (map[string]int, error) {
	return map[string]int{"default/web": 1}, nil
}

func (c *canned) Fault(_ context.Context, f Fault) error {
	c.call("fault %s flush %v run %q restoreFails %d", f.Node, f.Flush, f.Run, f.RestoreFails)
	return nil
}

func (c *canned) Hold(_ context.Context, nodes []string) error {
	c.call("hold %v", nodes)
	return nil
}

func (c *canned) Deliver(_ context.Context, d Delivery) error {
	c.call("deliver %v kinds %v count %d twice %v relist %v", d.Nodes, d.Kinds, d.Count, d.Twice, d.Relist)
	return nil
}

func (c *canned) StartPods(_ context.Context, pods []Pod) error {
	err := c.cluster.StartPods(pods)
	c.call("start %v", c.cluster.podNames())
	return err
}

func (c *canned) StopPods(_ context.Context, names []string) error {
	err := c.cluster.StopPods(names)
	c.call("stop %v: %v", names, c.cluster.podNames())
	return err
}

func (c *canned) SetAddresses(_ context.Context, node string, addresses []netip.Addr) error {
	c.call("addresses %s %v", node, addresses)
	return c.cluster.SetAddresses(node, addresses)
}

func (c *canned) Conntrack(_ context.Context, node string) ([]Tracked, error) {
	c.call("conntrack %s", node)
	return []Tracked{{
		Proto: "udp", Src: cannedClient, Dst: netip.MustParseAddrPort("172.30.0.10:53"),
		To: netip.MustParseAddrPort("10.244.1.2:53"), From: cannedClient,
	}}, nil
}

func (c *canned) Writes(_ context.Context, node string) (Written, error) {
	c.call("writes %s", node)
	return Written{Restores: 1, Bytes: 1234}, nil
}

func (c *canned) Healthz(_ context.Context, node string) (bool, error) {
	c.call("healthz %s", node)
	return node == "node1", nil
}

func (c *canned) During(_ context.Context, watch func(context.Context, Point)) error {
	c.call("during %v", watch != nil)
	c.watch = watch
	return nil
}

func (c *canned) Close() error {
	c.call("close")
	return nil
}

func (c *canned) Connect(_ context.Context, a Attempt) (*Observed, error) {
	c.call("connect %s bind %s %d to %s via %s keep %q", a.From, a.Bind.Addr, a.Bind.Port, a.To, a.Via, a.Keep)
	return c.ways(a.To.AddrPort)
}

func (c *canned) Follow(_ context.Context, p FlowPacket) (*Observed, error) {
	c.call("follow %s from %s send %s", p.Of, p.From, p.Send)
	seen, err := c.ways(netip.MustParseAddrPort("172.30.0.1:80"))
	seen.Ways = seen.Ways[:1]
	return seen, err
}

func (c *canned) Send(_ context.Context, node string, in packetsim.Input) (*Observed, error) {
	c.call("send %s %s", node, in)
	return c.ways(netip.AddrPortFrom(in.Dst, in.DstPort))
}

var (
	cannedClient = netip.MustParseAddrPort("10.244.1.100:40000")
	cannedFirst  = netip.MustParseAddrPort("10.244.1.2:8080")
	cannedSecond = netip.MustParseAddrPort("10.244.2.2:8080")
)

func (c *canned) ways(to netip.AddrPort) (*Observed, error) {
	hops := []Hop{{Host: "node1", Packet: "tcp 10.244.1.100:40000 > " + to.String() + " in veth1", Result: "forwarded by veth2",
		Steps: []TraceStep{{At: "nat:KUBE-SERVICES:rule:1", Rule: "-A KUBE-SERVICES -j KUBE-SVC-X"}, {At: "filter:FORWARD:policy:1"}}}}
	way := Way{Probability: 1, End: Delivered, Host: "node1", Sender: cannedClient, Client: cannedClient, Server: to, Heard: true,
		Masqueraded: No, Rule: "-A KUBE-SVC-X -j KUBE-SEP-Y", Forward: hops, Out: "veth2"}
	switch to.Port() {
	case 80:
		second := way
		way.Server, second.Server = cannedFirst, cannedSecond
		way.Probability, second.Probability = 0.5+1e-10, 0.5-1e-10
		return &Observed{Ways: []Way{way, second}}, nil
	case 81:
		way.End, way.With = Rejected, "icmp-port-unreachable"
	case 82:
		way.End, way.Heard = Dropped, false
	case 83:
		way.End, way.Heard, way.Rule, way.Reason = Lost, false, "", "martian source"
	case 84:
		way.End = Refused
	case 85:
		way.Heard, way.Why = false, "the reply came from 10.244.1.2:8080, the client called 172.30.0.1:85"
		way.Back = []Hop{{Host: "node1", Packet: "tcp 10.244.1.2:8080 > 10.244.1.100:40000 in veth2 flags SYN,ACK", Result: "forwarded by veth1"}}
	case 86:
		way.Server, way.Masqueraded, way.Client = cannedFirst, Yes, netip.MustParseAddrPort("192.168.0.2:1024")
	case 87:
		panic("the walk has no end")
	case 88:
		return nil, errors.New("not supported: a target")
	case 90:
		return &Observed{}, nil
	}
	return &Observed{Ways: []Way{way}}, nil
}

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
