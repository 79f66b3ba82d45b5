package packetsim

import (
	"bytes"
	"fmt"
	"math"
	"net/netip"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	clocktesting "k8s.io/utils/clock/testing"
	"pgregory.net/rapid"

	"github.com/chainwalk/chainwalk/fakeipt"
	"github.com/chainwalk/chainwalk/internal/sample"
	"github.com/chainwalk/chainwalk/netfilter"
	"github.com/chainwalk/chainwalk/packetsim/conntrack"
	"github.com/chainwalk/chainwalk/packetsim/inet"
)

var (
	alwaysIndex = indexPolicy{rules: 1, walks: 1, least: 1}
	neverIndex  = indexPolicy{rules: math.MaxInt, plain: true} // and nothing is compiled
	onlyCompile = indexPolicy{rules: math.MaxInt}
)

// TestIndexedWalkIsLinearWalk walks the same packets through the same random rules, which commits change meanwhile, as they stand and with
// indexes or programs.
func TestIndexedWalkIsLinearWalk(t *testing.T) {
	sample.Checks(t, 25)
	rapid.Check(t, checkIndexedWalk)
}

// FuzzIndexedWalk is the same law, driven by the fuzzer.
func FuzzIndexedWalk(f *testing.F) { f.Fuzz(rapid.MakeFuzz(checkIndexedWalk)) }

func checkIndexedWalk(t *rapid.T) {
	six := rapid.Bool().Draw(t, "IPv6")
	rules := drawTables(t, six)
	policy := rapid.SampledFrom([]indexPolicy{alwaysIndex, onlyCompile, {rules: 4, walks: 2, least: 2}}).Draw(t, "policy")
	indexed, linear := indexHost(t, rules, six, policy), indexHost(t, rules, six, neverIndex)
	seed := rapid.Uint64().Draw(t, "seed")
	chanceA, chanceB := SeededChance(seed), SeededChance(seed)
	for range rapid.IntRange(1, 8).Draw(t, "packets") {
		if rapid.IntRange(0, 3).Draw(t, "commits") == 0 {
			change := drawChange(t, six)
			for _, h := range []*Host{indexed, linear} {
				restoreRules(t, fakeipt.First(h.Netfilter()), six, change, "--noflush")
			}
		}
		in := drawPacket(t, six)
		a, errA := indexed.Step(in, chanceA)
		b, errB := linear.Step(in, chanceB)
		require.Equal(t, errB, errA, "%s", in)
		require.Equal(t, b, a, "%s", in)
		if errA != nil {
			continue
		}
		quiet, err := indexed.Verdict(in, SeededChance(seed))
		require.NoError(t, err)
		traced, err := linear.outcomes(in, tellAll)
		require.NoError(t, err)
		require.True(t, containsOutcome(traced, quiet), "%s", in)
	}
	require.Equal(t, linear.Conntrack(), indexed.Conntrack())
	require.Equal(t, savedCounters(t, linear, six), savedCounters(t, indexed, six))
}

// containsOutcome says whether one of the outcomes is this one, but for its steps and probability.
func containsOutcome(outcomes []Outcome, quiet Outcome) bool {
	for _, o := range outcomes {
		if o.Final == quiet.Final && o.Verdict == quiet.Verdict && o.Reason == quiet.Reason && o.Out == quiet.Out {
			return true
		}
	}
	return false
}

func savedCounters(t require.TestingT, h *Host, six bool) string {
	var out, errOut bytes.Buffer
	tool := "iptables-save"
	if six {
		tool = "ip6tables-save"
	}
	require.Zero(t, fakeipt.First(h.Netfilter()).Run([]string{tool, "-c"}, nil, &out, &errOut), errOut.String())
	return out.String()
}

func indexHost(t require.TestingT, rules string, six bool, policy indexPolicy) *Host {
	clock := clocktesting.NewFakeClock(time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC))
	k := fakeipt.New(fakeipt.Options{Clock: clock})
	restoreRules(t, k, six, rules)
	h, err := NewHost(HostConfig{
		Name: "node", Devices: testDevices(), Routes: testRoutes(), Netfilter: k.Namespace(), Clock: clock,
		Sysctls: map[string]string{"net.ipv4.ip_forward": "1", "net.ipv6.conf.all.forwarding": "1"},
	})
	require.NoError(t, err)
	h.indexing = policy
	return h
}

// restoreRules is restoreInto for a property.
func restoreRules(t require.TestingT, k *fakeipt.Kernel, six bool, rules string, options ...string) {
	tool := "iptables-restore"
	if six {
		tool = "ip6tables-restore"
	}
	var out, errOut bytes.Buffer
	require.Zerof(t, k.Run(append([]string{tool}, options...), strings.NewReader(rules), &out, &errOut), "%s\n%s", errOut.String(), rules)
}

// The addresses that rules and packets are made of, by family.
var indexAddresses = map[bool][]string{
	false: {"10.244.0.11", "10.244.0.12", "10.96.0.1", "10.96.0.2", "192.168.0.3", "8.8.8.8"},
	true:  {"fd00:2::11", "fd00:2::12", "fd00:3::1", "fd00:3::2", "fd00:1::3", "2001:db8::1"},
}

var indexPorts = []int{53, 80, 443, 1000}

func drawPacket(t *rapid.T, six bool) inet.Input {
	addresses := indexAddresses[six]
	in := inet.Input{In: rapid.SampledFrom([]string{"veth1", "veth2", "eth0"}).Draw(t, "in")}
	in.Src = netip.MustParseAddr(addresses[rapid.IntRange(0, 1).Draw(t, "src")])
	in.Dst = netip.MustParseAddr(rapid.SampledFrom(addresses).Draw(t, "dst"))
	in.Proto = rapid.SampledFrom([]inet.Proto{inet.TCP, inet.UDP, inet.SCTP, 47}).Draw(t, "proto")
	if in.Proto.HasPorts() {
		in.SrcPort = uint16(rapid.SampledFrom(indexPorts).Draw(t, "sport"))
		in.DstPort = uint16(rapid.SampledFrom(indexPorts).Draw(t, "dport"))
	}
	if in.Proto == inet.TCP {
		in.TCPFlags = rapid.SampledFrom([]inet.TCPFlags{inet.SYN, inet.SYN | inet.ACK, inet.ACK, inet.RST}).Draw(t, "flags")
	}
	in.Mark = rapid.Uint32Range(0, 3).Draw(t, "mark")
	in.MAC = inet.MAC{2, 0, 0, 0, 0, 1}
	in.LinkType = inet.LinkUnicast
	if rapid.Bool().Draw(t, "socket is known") {
		in.Socket = &inet.Socket{None: true}
	}
	return in
}

// drawTables is a filter and a nat table. Chains jump only to later ones.
func drawTables(t *rapid.T, six bool) string {
	chains := []string{"FORWARD", "AAA", "BBB", "CCC"}
	var text strings.Builder
	text.WriteString("*filter\n:FORWARD ACCEPT [0:0]\n:INPUT ACCEPT [0:0]\n:AAA - [0:0]\n:BBB - [0:0]\n:CCC - [0:0]\n-A INPUT -j AAA\n")
	for i, chain := range chains {
		for range rapid.IntRange(0, 14).Draw(t, "rules") {
			fmt.Fprintf(&text, "-A %s%s%s\n", chain, drawConditions(t, six, chain == "FORWARD"), drawTarget(t, chains[i+1:]))
		}
	}
	text.WriteString("COMMIT\n*nat\n:PREROUTING ACCEPT [0:0]\n:SEP - [0:0]\n")
	to := indexAddresses[six][1]
	if six {
		to = "[" + to + "]"
	}
	for range rapid.IntRange(0, 10).Draw(t, "nat rules") {
		fmt.Fprintf(&text, "-A PREROUTING%s -j SEP\n", drawConditions(t, six, false))
	}
	for port := range rapid.IntRange(0, 2).Draw(t, "other endpoints") {
		fmt.Fprintf(&text, "-A SEP -s %s -p tcp -j DNAT --to-destination %s:%d\n", drawPrefix(t, six), to, 8000+port)
	}
	last := rapid.SampledFrom([]string{to + ":80", to + ":80-90", indexAddresses[six][1]}).Draw(t, "endpoint")
	fmt.Fprintf(&text, "-A SEP -p tcp -j DNAT --to-destination %s\nCOMMIT\n", last)
	return text.String()
}

// drawChange is a commit that gives one of the chains that drawTables makes other rules, or adds one to it.
func drawChange(t *rapid.T, six bool) string {
	chains := []string{"FORWARD", "AAA", "BBB", "CCC"}
	i := rapid.IntRange(0, len(chains)-1).Draw(t, "changed")
	chain, text := chains[i], "*filter\n"
	if rapid.Bool().Draw(t, "flushes") {
		text += "-F " + chain + "\n"
	}
	return text + "-A " + chain + drawConditions(t, six, chain == "FORWARD") + drawTarget(t, chains[i+1:]) + "\nCOMMIT\n"
}

func drawConditions(t *rapid.T, six, withOut bool) string {
	not := func() string { return rapid.SampledFrom([]string{"", "", "", " !"}).Draw(t, "not") }
	var text strings.Builder
	if rapid.Bool().Draw(t, "-s") {
		fmt.Fprintf(&text, "%s -s %s", not(), drawPrefix(t, six))
	}
	if rapid.Bool().Draw(t, "-d") {
		fmt.Fprintf(&text, "%s -d %s", not(), drawPrefix(t, six))
	}
	if rapid.IntRange(0, 3).Draw(t, "-i") == 0 {
		fmt.Fprintf(&text, "%s -i %s", not(), rapid.SampledFrom([]string{"veth1", "eth0", "veth+"}).Draw(t, "device"))
	}
	if withOut && rapid.IntRange(0, 3).Draw(t, "-o") == 0 {
		fmt.Fprintf(&text, "%s -o %s", not(), rapid.SampledFrom([]string{"veth2", "eth0", "eth+"}).Draw(t, "device"))
	}
	proto := rapid.SampledFrom([]string{"", "tcp", "udp", "sctp", "47"}).Draw(t, "-p")
	inverted := ""
	if proto != "" {
		inverted = not()
		fmt.Fprintf(&text, "%s -p %s", inverted, proto)
	}
	ported := inverted == "" && (proto == "tcp" || proto == "udp" || proto == "sctp")
	for range rapid.IntRange(0, 2).Draw(t, "matches") {
		text.WriteString(drawMatch(t, six, proto, ported))
	}
	return text.String()
}

func drawPrefix(t *rapid.T, six bool) string {
	addr := rapid.SampledFrom(indexAddresses[six]).Draw(t, "address")
	bits := rapid.SampledFrom([]int{32, 32, 32, 24, 16, 8}).Draw(t, "bits")
	if six {
		bits *= 4
	}
	if rapid.IntRange(0, 5).Draw(t, "mask is no prefix") == 0 {
		return addr + map[bool]string{false: "/255.0.0.255", true: "/ffff::ff"}[six]
	}
	return fmt.Sprintf("%s/%d", addr, bits)
}

func drawMatch(t *rapid.T, six bool, proto string, ported bool) string {
	addresses := indexAddresses[six]
	port := rapid.SampledFrom(indexPorts).Draw(t, "port")
	matches := []string{
		" -m comment --comment words",
		" -m mark --mark 0x1/0x1", " -m connmark ! --mark 0x2",
		" -m statistic --mode random --probability 0.50000000000", " -m statistic --mode random ! --probability 0.25000000000",
		" -m statistic --mode nth --every 2 --packet 0",
		" -m conntrack --ctstate NEW", " -m state --state INVALID", " -m addrtype --dst-type LOCAL",
		" -m recent --set --name one --rsource", " -m recent ! --rcheck --seconds 60 --name one --rsource",
		" -m limit --limit 1/sec --limit-burst 2",
		" -m hashlimit --hashlimit-upto 1/sec --hashlimit-burst 2 --hashlimit-mode srcip --hashlimit-name h",
		" -m length --length 20:60", " -m mac --mac-source 02:00:00:00:00:01", " -m pkttype --pkt-type unicast",
		fmt.Sprintf(" -m iprange --src-range %s-%s", addresses[0], addresses[1]),
	}
	if ported {
		matches = append(matches, fmt.Sprintf(" -m %s --dport %d", proto, port), fmt.Sprintf(" -m %s --dport %d", proto, port),
			fmt.Sprintf(" -m %s ! --dport %d", proto, port), fmt.Sprintf(" -m %s --dport %d:500", proto, min(port, 500)),
			fmt.Sprintf(" -m %s --sport %d", proto, port), fmt.Sprintf(" -m %s ! --sport %d", proto, port), " -m "+proto,
			fmt.Sprintf(" -m multiport --dports 53,%d", port), fmt.Sprintf(" -m multiport ! --dports %d,443", port), " -m multiport --dports 50:100")
	}
	if ported && proto == "tcp" {
		matches = append(matches, " -m tcp --syn", " -m tcp ! --syn --dport 80")
	}
	return rapid.SampledFrom(matches).Draw(t, "match")
}

func drawTarget(t *rapid.T, later []string) string {
	targets := []string{"", " -j ACCEPT", " -j DROP", " -j RETURN", " -j MARK --set-xmark 0x1/0x3", " -j CONNMARK --save-mark",
		" -j REJECT", " -j LOG"}
	for _, chain := range later {
		targets = append(targets, " -j "+chain, " -j "+chain, " -g "+chain)
	}
	if rapid.Bool().Draw(t, "goes on") {
		targets = append([]string{"", " -j LOG"}, targets[8:]...)
	}
	return rapid.SampledFrom(targets).Draw(t, "target")
}

func TestIndexIsUsed(t *testing.T) {
	h, _ := testNode{rules4: manyServices(100)}.build(t)
	services := fakeipt.First(h.Netfilter()).Ruleset(netfilter.IPv4).Table("nat").Chain("SERVICES")
	for range usualIndexPolicy.walks - 1 {
		walkOne(t, h, "tcp 10.244.0.11:1 > 8.8.8.8:80 in veth1")
		require.Nil(t, services.Memo.Load().(*program).long.index.Load())
	}
	walkOne(t, h, "tcp 10.244.0.11:1 > 8.8.8.8:80 in veth1")
	index := services.Memo.Load().(*program).long.index.Load()
	require.NotNil(t, index)
	assert.Empty(t, index.rest)
	require.Len(t, index.shapes, 1)
	assert.Equal(t, shape{field: byDst, bits: 32, ports: true}, index.shapes[0].shape)

	restoreInto(t, fakeipt.First(h.Netfilter()), netfilter.IPv4, "*nat\n-A SERVICES -p tcp -j MASQ\nCOMMIT\n", "--noflush")
	changed := fakeipt.First(h.Netfilter()).Ruleset(netfilter.IPv4).Table("nat").Chain("SERVICES")
	assert.Nil(t, changed.Memo.Load(), "a chain that changed has no index")
}

// TestVerdictAllocatesForManyTexts holds that a walk through compiled chains takes no memory, but that of Outcome.DNAT for many at once.
func TestVerdictAllocatesForManyTexts(t *testing.T) {
	h, _ := testNode{rules4: manyServices(1)}.build(t)
	in, chance := parse(t, lastService(1)), SeededChance(1)
	verdict := func() {
		if _, err := h.Verdict(in, chance); err != nil {
			t.Fatal(err)
		}
	}
	for range 100 { // all endpoints are chosen
		verdict()
	}
	const walks = textRoom / len("10.244.0.12:8080") // or fewer, with a longer text
	assert.LessOrEqual(t, testing.AllocsPerRun(10, func() {
		for range walks {
			verdict()
		}
	}), 2.0)
}

// TestWalksWhileCommitting has hosts on one kernel walk while rules are committed: every walk is of one commit as a whole. Run it with the
// race detector.
func TestWalksWhileCommitting(t *testing.T) {
	const services = 200
	first, _ := testNode{rules4: manyServices(services)}.build(t)
	second, err := NewHost(first.Config())
	require.NoError(t, err)
	restoreInto(t, fakeipt.First(first.Netfilter()), netfilter.IPv4,
		"*mangle\n:SET - [0:0]\n:CHECK - [0:0]\n-A PREROUTING -j SET\n-A FORWARD -j CHECK\nCOMMIT\n")
	stop := make(chan struct{})
	var walkers sync.WaitGroup
	for h, walk := range map[*Host]func(inet.Input, Chance) (Outcome, error){first: first.Verdict, second: second.Step} {
		in := parse(t, lastService(services))
		walkers.Go(func() {
			for walks := 0; ; walks++ {
				select {
				case <-stop:
					return
				default:
				}
				o, err := walk(in, SeededChance(1))
				h.DeleteConntrack(func(conntrack.Entry) bool { return true })
				if !assert.NoError(t, err) || !assert.Equal(t, Accept, o.Verdict, "walk %d met the rules of two commits", walks) {
					return
				}
			}
		})
	}
	for i := range 100 {
		restoreInto(t, fakeipt.First(first.Netfilter()), netfilter.IPv4, marksAndChecks(i), "--noflush")
	}
	close(stop)
	walkers.Wait()
}

// marksAndChecks changes a chain of an early and one of a late hook in one commit: a packet that meets one of them as it was before the
// commit is dropped.
func marksAndChecks(mark int) string {
	return fmt.Sprintf("*mangle\n:SET - [0:0]\n:CHECK - [0:0]\n-A SET -j MARK --set-mark %d\n-A CHECK -m mark ! --mark %d -j DROP\nCOMMIT\n"+
		"*nat\n-A SERVICES -d 10.1.1.1/32 -j MASQ\nCOMMIT\n", mark, mark)
}

// TestCompiledPortsHoldAsTheRule asks rules for ports, of which a compiled rule has a place for some, about packets of all kinds.
func TestCompiledPortsHoldAsTheRule(t *testing.T) {
	dropped := 0
	for _, conditions := range []string{
		"-p tcp -m tcp", "-p tcp -m tcp --dport 80", "-p tcp -m tcp ! --dport 80", "-p tcp -m tcp --dport 80:443", "-p tcp -m tcp --sport 80",
		"-p tcp -m tcp ! --sport 80", "-p tcp -m tcp ! --sport 0:65535", "-p tcp -m tcp --sport 53:80 --dport 80", "-p tcp -m tcp --syn",
		"-p tcp -m tcp ! --syn", "-p tcp -m tcp --tcp-flags ALL SYN", "-p tcp -m tcp --dport 80 -m tcp --dport 53:443",
		"-p tcp -m tcp --dport 53:443 -m tcp ! --dport 80", "-p tcp -m tcp -m tcp --dport 80", "-p udp -m udp --dport 53",
		"-p udp -m udp --sport 53", "-p udp -m udp ! --sport 53", "-p udp -m udp --dport 53 -m udp --dport 80",
		"-p tcp -m multiport --dports 53,80 -m tcp --dport 80",
	} {
		rules := "*filter\n:FORWARD ACCEPT [0:0]\n-A FORWARD " + conditions + " -j DROP\nCOMMIT\n"
		compiled, plain := indexHost(t, rules, false, onlyCompile), indexHost(t, rules, false, neverIndex)
		for _, proto := range []string{"tcp", "udp"} {
			for _, from := range []int{53, 80, 1000} {
				for _, to := range []int{53, 80, 443, 1000} {
					packet := fmt.Sprintf("%s 10.244.0.11:%d > 10.244.0.12:%d in veth1", proto, from, to)
					want := walkOne(t, plain, packet).Verdict
					assert.Equal(t, want, walkOne(t, compiled, packet).Verdict, "%s: %s", conditions, packet)
					if want == Drop {
						dropped++
					}
				}
			}
		}
	}
	assert.NotZero(t, dropped)
}

// TestIndexShapeFindsEachHash looks rules up by hashes of which many are equal or begin at the same place.
func TestIndexShapeFindsEachHash(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		hashes := rapid.SliceOfN(rapid.SampledFrom([]uint32{0, 1, 2, 64, 128, 129, 1 << 31, math.MaxUint32}), 1, 40).Draw(t, "hashes")
		found, want := make([]hashedRule, len(hashes)), map[uint32][]int32{}
		for i, hash := range hashes {
			found[i] = hashedRule{hash, int32(i)}
			want[hash] = append(want[hash], int32(i))
		}
		x := newIndexShape(shape{}, found)
		for hash, rules := range want {
			require.Equal(t, rules, x.of(hash))
		}
		require.Empty(t, x.of(77))
	})
}

// TestMaskLength compares with the prefix that the standard library makes of so many bits.
func TestMaskLength(t *testing.T) {
	for _, ones := range []string{"255.255.255.255", "ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff"} {
		all := netip.MustParseAddr(ones)
		for n := range all.BitLen() + 1 {
			assert.Equal(t, n, maskLength(netip.PrefixFrom(all, n).Masked().Addr()))
		}
	}
	for _, mask := range []string{"0.0.0.255", "255.0.255.0", "127.0.0.0", "::1", "ffff::1", "0:ffff::", "::ffff:ffff:ffff:ffff"} {
		assert.Zero(t, maskLength(netip.MustParseAddr(mask)), mask)
	}
}
