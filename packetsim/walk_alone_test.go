package packetsim

import (
	"bytes"
	"fmt"
	"io"
	"maps"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	clocktesting "k8s.io/utils/clock/testing"
	"pgregory.net/rapid"

	"github.com/chainwalk/chainwalk/fakeipt"
	_ "github.com/chainwalk/chainwalk/internal/garbage"
	"github.com/chainwalk/chainwalk/internal/race"
	"github.com/chainwalk/chainwalk/internal/sample"
	"github.com/chainwalk/chainwalk/netfilter"
	"github.com/chainwalk/chainwalk/packetsim/inet"
)

// memorySets are the sets of memoryRules. Set other is for tools that run beside.
const memorySets = `create seen hash:ip timeout 600
create pods hash:ip timeout 600 counters
add pods 10.244.0.11 timeout 0
add pods 10.244.0.12 timeout 30
create nets hash:net counters maxelem 3
add nets 10.244.0.0/24
create flows hash:ip,port
create all list:set counters
add all pods
add all nets
create other hash:ip
`

// memoryRules remember each packet somewhere, by its port, and what they do with the next one depends on it.
const memoryRules = `*nat
:PREROUTING ACCEPT [0:0]
-A PREROUTING -p udp -m udp --dport 10 -m statistic --mode random --probability 0.25 -j DNAT --to-destination 10.244.0.12:80
-A PREROUTING -p udp -m udp --dport 10 -j DNAT --to-destination 10.244.0.11:80
COMMIT
*filter
:FORWARD ACCEPT [0:0]
:RATE - [0:0]
-A FORWARD -p udp -m udp --dport 1 -m set --match-set seen src -j DROP
-A FORWARD -p udp -m udp --dport 1 -j SET --add-set seen src --exist --timeout 5
-A FORWARD -p udp -m udp --dport 1 -m set --match-set seen src -j SET --add-set flows src,dst --del-set pods src
-A FORWARD -p udp -m udp --dport 1 -m set ! --match-set pods src -m set --match-set flows src,dst -j ACCEPT
-A FORWARD -p udp -m udp --dport 1 -j DROP
-A FORWARD -p udp -m udp --dport 2 -m set --match-set pods src --packets-gt 1 -j DROP
-A FORWARD -p udp -m udp --dport 2 -m set --match-set all src --bytes-gt 100 -j DROP
-A FORWARD -p udp -m udp --dport 2 -m statistic --mode random --probability 0.5 -j SET --add-set nets dst --exist
-A FORWARD -p udp -m udp --dport 2 -m set --match-set nets dst --packets-lt 2 -j ACCEPT
-A FORWARD -p udp -m udp --dport 2 -j SET --del-set nets dst
-A FORWARD -p udp -m udp --dport 3 -m recent --rcheck --seconds 60 --hitcount 2 --name R --rsource -j DROP
-A FORWARD -p udp -m udp --dport 3 -m recent --set --name R --rsource
-A FORWARD -p udp -m udp --dport 3 -m recent --update --seconds 60 --reap --name R --rdest -j DROP
-A FORWARD -p udp -m udp --dport 4 -m recent --remove --name R --rsource -j DROP
-A FORWARD -p udp -m udp --dport 5 -m limit --limit 1/min --limit-burst 2 -j ACCEPT
-A FORWARD -p udp -m udp --dport 5 -j DROP
-A FORWARD -p udp -m udp --dport 6 -j RATE
-A RATE -m hashlimit --hashlimit-upto 1/min --hashlimit-burst 2 --hashlimit-mode srcip --hashlimit-name H --hashlimit-htable-max 2 -j ACCEPT
-A RATE -j DROP
-A FORWARD -p udp -m udp --dport 7 -m statistic --mode nth --every 3 --packet 1 -j DROP
COMMIT
*raw
:PREROUTING ACCEPT [0:0]
-A PREROUTING -p udp -m udp --dport 8 -j CT --zone 7
COMMIT
*mangle
COMMIT
`

// memoryPackets are packets for all of memoryRules, a route with two next hops among them.
func memoryPackets(t testing.TB) []inet.Input {
	var packets []inet.Input
	for _, source := range []string{
		"10.244.0.11:1000 > %s:%d in veth1", "10.244.0.12:1000 > %s:%d in veth2", "10.244.0.13:1000 > %s:%d in eth0",
	} {
		for port := 1; port <= 10; port++ {
			for _, to := range []string{"10.244.0.12", "172.16.0.1"} {
				packets = append(packets, parse(t, fmt.Sprintf("udp "+source, to, port)))
			}
		}
	}
	return packets
}

// memoryHosts are hosts with one Netfilter of memoryRules and memorySets.
func memoryHosts(t testing.TB, n int) ([]*Host, *clocktesting.FakeClock) {
	clock := clocktesting.NewFakeClock(time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC))
	k := fakeipt.New(fakeipt.Options{Clock: clock})
	require.NoError(t, k.LoadSets("sets", strings.NewReader(memorySets)))
	restoreInto(t, k, netfilter.IPv4, memoryRules)
	routes := append(testRoutes(), Route{Dst: netip.MustParsePrefix("172.16.0.0/16"), NextHops: []NextHop{
		{Via: netip.MustParseAddr("192.168.0.7"), Dev: "eth0", Weight: 1}, {Via: netip.MustParseAddr("192.168.0.8"), Dev: "eth0", Weight: 3}}})
	var hosts []*Host
	for i := range n {
		h, err := NewHost(HostConfig{Name: fmt.Sprint("node", i), Devices: testDevices(), Routes: routes,
			Sysctls: map[string]string{"net.ipv4.ip_forward": "1"}, Netfilter: k.Namespace(), Clock: clock})
		require.NoError(t, err)
		hosts = append(hosts, h)
	}
	return hosts, clock
}

// state is all that a host and its Netfilter keep of packets, but for what runTools changes.
func state(t testing.TB, h *Host) string {
	var b strings.Builder
	for _, argv := range [][]string{
		{"ipset", "save"}, {"iptables-save", "-c", "-t", "filter"}, {"iptables-save", "-c", "-t", "nat"}, {"iptables-save", "-c", "-t", "raw"},
	} {
		var out, errOut bytes.Buffer
		require.Zero(t, fakeipt.First(h.netfilter).Run(argv, nil, &out, &errOut), errOut.String())
		for line := range strings.Lines(out.String()) {
			if !strings.HasPrefix(line, "#") && !strings.Contains(line, " other ") {
				b.WriteString(line)
			}
		}
	}
	h.lock.Lock()
	defer h.lock.Unlock()
	m := h.memory
	lists := m.recent.all()
	for _, name := range slices.Sorted(maps.Keys(lists)) {
		list := lists[name]
		fmt.Fprintln(&b, "recent", name, list.mask, list.times, list.order)
		for _, key := range list.order {
			fmt.Fprintln(&b, key, *list.entries[key])
		}
	}
	fmt.Fprintln(&b, m.nth.all(), m.limits.all(), m.hashlimits.all(), m.buckets.all(), m.paths.all(), m.templates.all())
	fmt.Fprintln(&b, h.conns.Entries(), m.depth, m.layers, h.conns.Dump(), len(h.tally.pending))
	return b.String()
}

// withoutProbability is an outcome as Step gives it.
func withoutProbability(o Outcome) Outcome {
	o.setProbability(0)
	return o
}

// TestWalkLeavesNothingBehind: whatever went through a host before, a look changes nothing, and the packet itself then takes
// one of the ways that the look found.
func TestWalkLeavesNothingBehind(t *testing.T) {
	race.OneGoroutine(t)
	sample.Checks(t, 25)
	packets := memoryPackets(t)
	rapid.Check(t, func(rt *rapid.T) {
		hosts, clock := memoryHosts(t, 2)
		for range rapid.IntRange(1, 8).Draw(rt, "packets") {
			h := hosts[rapid.IntRange(0, len(hosts)-1).Draw(rt, "host")]
			in := packets[rapid.IntRange(0, len(packets)-1).Draw(rt, "packet")]
			before := state(t, h)
			outcomes, err := h.Walk(in)
			require.NoError(rt, err)
			require.Equal(rt, before, state(t, h), "%s", in)
			_, err = h.Verdict(in, SeededChance(1))
			require.NoError(rt, err)
			require.Equal(rt, before, state(t, h), "%s", in)
			taken, err := h.Step(in, struct{ Chance }{SeededChance(rapid.Uint64().Draw(rt, "seed"))}) // which is no numberChance, as that of Walk
			require.NoError(rt, err)
			sum := 0.0
			for i := range outcomes {
				sum += outcomes[i].Probability
				outcomes[i] = withoutProbability(outcomes[i])
			}
			require.InDelta(rt, 1, sum, 1e-9)
			require.Contains(rt, outcomes, taken)
			clock.Step(time.Duration(rapid.IntRange(0, 20).Draw(rt, "wait")) * time.Second)
		}
	})
}

// TestWalksAtTheSameTime: walks of several goroutines through rules that remember, on one host and on two with the same Netfilter,
// beside tools that change it. Each sees what it would see alone, and nothing is left. Run it with the race detector.
func TestWalksAtTheSameTime(t *testing.T) {
	for _, n := range []int{1, 2} {
		t.Run(fmt.Sprint("hosts=", n), func(t *testing.T) {
			hosts, _ := memoryHosts(t, n)
			packets := memoryPackets(t)
			for _, h := range hosts {
				for i, in := range packets[:len(packets)/3] {
					if i%3 == 0 {
						_, err := h.Step(in, SeededChance(uint64(i)))
						require.NoError(t, err)
					}
				}
			}
			besideOneAnother(t, hosts, packets)
		})
	}
}

func besideOneAnother(t *testing.T, hosts []*Host, packets []inet.Input) {
	const walkers, rounds = 2, 3 // on each host
	var before []string
	var done atomic.Bool
	var all, tools sync.WaitGroup
	for _, h := range hosts {
		before = append(before, state(t, h))
		alone := make([][]Outcome, len(packets))
		for i, in := range packets {
			var err error
			alone[i], err = h.Walk(in)
			require.NoError(t, err)
		}
		for range walkers {
			all.Go(func() {
				for range rounds {
					for i, in := range packets {
						if !assertWalk(t, h, in, alone[i]) {
							return
						}
					}
				}
			})
		}
	}
	tools.Go(func() {
		for i := 0; !done.Load() || i == 0; i++ {
			runTools(t, fakeipt.First(hosts[0].Netfilter()), i)
		}
	})
	all.Wait()
	done.Store(true)
	tools.Wait()
	for i, h := range hosts {
		assert.Equal(t, before[i], state(t, h))
	}
}

// assertWalk asks in all ways for a packet's outcomes.
func assertWalk(t *testing.T, h *Host, in inet.Input, want []Outcome) bool {
	walked, err := h.Walk(in)
	if !assert.NoError(t, err) || !assert.Equal(t, want, walked, "%s", in) {
		return false
	}
	quiet, err := h.Verdicts(in)
	if !assert.NoError(t, err) || !assert.Len(t, quiet, len(want)) {
		return false
	}
	for i := range quiet {
		quiet[i].Steps, quiet[i].Events = want[i].Steps, want[i].Events
	}
	if !assert.Equal(t, want, quiet, "%s", in) {
		return false
	}
	verdict, err := h.Verdict(in, &replayChance{})
	verdict.Steps, verdict.Events = want[0].Steps, want[0].Events
	return assert.NoError(t, err) && assert.Equal(t, withoutProbability(want[0]), verdict, "%s", in)
}

// runTools changes what no rule of memoryRules asks for.
func runTools(t *testing.T, k *fakeipt.Kernel, i int) {
	const rules = "*mangle\n:BESIDE - [0:0]\n-A BESIDE -m mark --mark %d -j ACCEPT\nCOMMIT\n"
	address := fmt.Sprintf("10.1.0.%d", i%200+1)
	for _, run := range []struct {
		argv  []string
		stdin string
	}{
		{[]string{"ipset", "add", "other", address, "-exist"}, ""},
		{[]string{"ipset", "list"}, ""},
		{[]string{"ipset", "create", "passing", "hash:ip"}, ""},
		{[]string{"iptables-restore", "--noflush"}, fmt.Sprintf(rules, i)},
		{[]string{"ipset", "del", "other", address}, ""},
		{[]string{"ipset", "destroy", "passing"}, ""},
		{[]string{"ipset", "save"}, ""},
		{[]string{"iptables-restore", "--noflush"}, "*mangle\n:BESIDE - [0:0]\n-X BESIDE\nCOMMIT\n"},
	} {
		var errOut bytes.Buffer
		assert.Zero(t, k.Run(run.argv, strings.NewReader(run.stdin), io.Discard, &errOut), "%v: %s", run.argv, errOut.String())
	}
}

// TestWalkSeesOneState: while tools change the very rules and sets that walks go through, the outcomes of each walk are of one
// ruleset and of one state of the sets, so that their probabilities add up to 1.
func TestWalkSeesOneState(t *testing.T) {
	hosts, _ := memoryHosts(t, 1)
	k := fakeipt.First(hosts[0].Netfilter())
	const rules = "*filter\n:FORWARD ACCEPT [0:0]\n%s" +
		"-A FORWARD -m statistic --mode random --probability 0.5 -m set --match-set seen src -j ACCEPT\n" +
		"-A FORWARD -m set ! --match-set seen src -m statistic --mode random --probability 0.25 -j DROP\nCOMMIT\n"
	const another = "-A FORWARD -m statistic --mode random --probability 0.125 -j RETURN\n"
	var done atomic.Bool
	var tools sync.WaitGroup
	tools.Go(func() {
		for i := 0; !done.Load(); i++ {
			restoreInto(t, k, netfilter.IPv4, fmt.Sprintf(rules, [...]string{"", another}[i%2]))
			argv := []string{"ipset", [...]string{"add", "del"}[i/2%2], "seen", "10.244.0.11", "-exist"}
			assert.Zero(t, k.Run(argv, nil, io.Discard, io.Discard))
		}
	})
	in := parse(t, "udp 10.244.0.11:1000 > 10.244.0.12:20 in veth1")
	for range 2000 {
		outcomes, err := hosts[0].Verdicts(in)
		assert.NoError(t, err)
		sum := 0.0
		for _, o := range outcomes {
			sum += o.Probability
		}
		if !assert.InDelta(t, 1, sum, 1e-9) {
			break
		}
	}
	done.Store(true)
	tools.Wait()
}
