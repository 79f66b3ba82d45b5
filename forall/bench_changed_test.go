//go:build unix

package forall_test

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/chainwalk/chainwalk/forall"
	"github.com/chainwalk/chainwalk/packetsim"
)

// BenchmarkOneChangedService works out the fates of a node when one service has changed, beside those before. Each round changes another
// service, and goes on from the fates of the round before: in turn a service is removed, an endpoint of another one gets another port, and
// the removed service is added again. commit: a commit has changed the rules as kube-proxy does, which is measured apart (commit-ms).
// text: an endpoint has got another port, and all rules were read from another text, which is not measured. Milliseconds are processor
// time. first-ms is the first round, which notes what later ones find again. Of the others, cpu-ms and those of each kind are a mean, and
// worst-ms is the slowest one.
func BenchmarkOneChangedService(b *testing.B) {
	for _, commit := range []bool{true, false} {
		b.Run(map[bool]string{true: "commit", false: "text"}[commit], func(b *testing.B) {
			perLanguage(b, []int{1000, 10000}, func(b *testing.B, s services) {
				c := newChurn(b, s)
				for b.Loop() {
					b.StopTimer()
					c.round(commit)
					b.StartTimer()
				}
				c.report()
			})
		})
	}
}

// churn changes the services of a node.
type churn struct {
	b       *testing.B
	s       services
	h       *packetsim.Host
	f       *forall.Fates
	r       *rand.Rand
	removed int
	rounds  int
	took    map[string][]time.Duration
}

func newChurn(b *testing.B, s services) *churn {
	b.Helper()
	s.ports, s.gone = map[int]int{}, map[int]bool{}
	c := &churn{b: b, s: s, h: s.host(b), r: rand.New(rand.NewPCG(1, 0)), took: map[string][]time.Duration{}}
	var err error
	c.f, err = forall.Of(c.h, forall.Options{Families: only4})
	require.NoError(b, err)
	return c
}

// round changes a service, and works the fates out again. The timer runs for these alone.
func (c *churn) round(commit bool) {
	kind, text := "endpoint", ""
	if !commit {
		c.movesEndpoint()
		c.h = c.s.host(c.b)
	} else {
		kind, text = c.change()
		start := processorTime(c.b)
		c.commit(text)
		c.took["commit"] = append(c.took["commit"], processorTime(c.b)-start)
	}
	c.rounds++
	start := processorTime(c.b)
	c.b.StartTimer()
	g, err := forall.Of(c.h, forall.Options{Families: only4, Against: c.f})
	c.b.StopTimer()
	took := processorTime(c.b) - start
	require.NoError(c.b, err)
	require.False(c.b, g.Equal(c.f))
	c.f = g
	if c.rounds == 1 {
		c.took["first"] = append(c.took["first"], took)
		return
	}
	c.took[kind], c.took["cpu"] = append(c.took[kind], took), append(c.took["cpu"], took)
}

// change changes the next service. It is what kind of a change that is, and the input of the tool that makes it.
func (c *churn) change() (kind, text string) {
	switch c.rounds % 3 {
	case 0:
		c.removed = c.r.IntN(c.s.count)
		c.s.gone[c.removed] = true
		return "removed", c.text(c.removed, nil, c.s.chainsOf(c.removed))
	case 1:
		was := c.s
		was.ports = map[int]int{}
		for i, port := range c.s.ports {
			was.ports[i] = port
		}
		i := c.movesEndpoint()
		if c.s.native {
			old, now := was.hairpinsOf(i)[0], c.s.hairpinsOf(i)[0]
			return "endpoint", fmt.Sprintf("flush chain ip kube-proxy service-%d\nadd rule ip kube-proxy service-%d %s\n"+
				"delete element ip kube-proxy hairpin-connections { %s }\nadd element ip kube-proxy hairpin-connections { %s }\n",
				i, i, c.s.drawOf(i), old, now)
		}
		chain, svc := c.s.endpointChain(i, 0), fmt.Sprintf("-A KUBE-SVC-%d ", i)
		for line := range strings.Lines(c.s.rulesOf(i)) {
			if strings.HasPrefix(line, svc) || strings.HasPrefix(line, "-A "+chain+" ") {
				text += line
			}
		}
		old := was.endpointChain(i, 0)
		return "endpoint", fmt.Sprintf("*nat\n:KUBE-SVC-%d - [0:0]\n:%s - [0:0]\n:%s - [0:0]\n%s-X %s\nCOMMIT\n", i, chain, old, text, old)
	}
	delete(c.s.gone, c.removed)
	return "added", c.text(c.removed, c.s.chainsOf(c.removed), nil)
}

// movesEndpoint gives the first endpoint of a service that is there another port.
func (c *churn) movesEndpoint() (service int) {
	for service = c.r.IntN(c.s.count); c.s.gone[service]; service = c.r.IntN(c.s.count) {
	}
	c.s.ports[service] = 9000 + c.rounds
	return service
}

// text is the input that adds or removes a service. As kube-proxy does, that of iptables has the whole chains that lead to services.
func (c *churn) text(i int, added, removed []string) string {
	if c.s.native {
		return c.textNFT(i, len(added) > 0)
	}
	var b strings.Builder
	b.WriteString("*nat\n:KUBE-SERVICES - [0:0]\n")
	if c.s.hasNodePort(i) {
		b.WriteString(":KUBE-NODEPORTS - [0:0]\n")
	}
	for _, list := range [][]string{added, removed} {
		for _, chain := range list {
			b.WriteString(":" + chain + " - [0:0]\n")
		}
	}
	for k := range c.s.count {
		if c.s.gone[k] {
			continue
		}
		b.WriteString(c.s.jumpTo(k))
		if c.s.hasNodePort(i) {
			b.WriteString(c.s.portJumpTo(k))
		}
	}
	b.WriteString("-A KUBE-SERVICES -m addrtype --dst-type LOCAL -j KUBE-NODEPORTS\n")
	if len(added) > 0 {
		b.WriteString(c.s.rulesOf(i))
	}
	for _, chain := range removed {
		b.WriteString("-X " + chain + "\n")
	}
	return b.String() + "COMMIT\n"
}

// textNFT is the input of nft that adds or removes a service.
func (c *churn) textNFT(i int, adds bool) string {
	var b strings.Builder
	verb := "delete"
	if adds {
		verb = "add"
		fmt.Fprintf(&b, "add chain ip kube-proxy service-%d\nadd rule ip kube-proxy service-%d %s\n", i, i, c.s.drawOf(i))
		if c.s.hasNodePort(i) {
			fmt.Fprintf(&b, "add chain ip kube-proxy external-%d\n", i)
			for _, rule := range c.s.externalOf(i) {
				fmt.Fprintf(&b, "add rule ip kube-proxy external-%d %s\n", i, rule)
			}
		}
	}
	ip, _ := c.s.addrOf(i)
	fmt.Fprintf(&b, "%s element ip kube-proxy cluster-ips { %s }\n", verb, ip)
	fmt.Fprintf(&b, "%s element ip kube-proxy service-ips { %s }\n", verb, c.s.elementOf(i))
	fmt.Fprintf(&b, "%s element ip kube-proxy hairpin-connections { %s }\n", verb, strings.Join(c.s.hairpinsOf(i), ", "))
	if c.s.hasNodePort(i) {
		fmt.Fprintf(&b, "%s element ip kube-proxy service-nodeports { %s }\n", verb, c.s.portElementOf(i))
	}
	if !adds {
		if c.s.hasNodePort(i) {
			fmt.Fprintf(&b, "delete chain ip kube-proxy external-%d\n", i)
		}
		fmt.Fprintf(&b, "delete chain ip kube-proxy service-%d\n", i)
	}
	return b.String()
}

func (c *churn) commit(text string) {
	if c.s.native {
		transacts(c.b, c.h, text)
	} else {
		restores(c.b, c.h, text)
	}
}

// report prints the times, and compares the last fates with a build from nothing.
func (c *churn) report() {
	c.b.StopTimer()
	ms := func(d time.Duration) float64 { return float64(d.Microseconds()) / 1e3 }
	for kind, took := range c.took {
		var sum, worst time.Duration
		for _, d := range took {
			sum, worst = sum+d, max(worst, d)
		}
		if kind == "cpu" {
			c.b.ReportMetric(ms(worst), "worst-ms")
		}
		c.b.ReportMetric(ms(sum)/float64(len(took)), kind+"-ms")
	}
	for commit := c.took["commit"] != nil; commit && c.rounds%3 != 1; { // so that a service is missing
		c.round(commit)
	}
	alone, err := forall.Of(c.h, forall.Options{Families: only4})
	require.NoError(c.b, err)
	require.True(c.b, alone.Equal(c.f))
}
