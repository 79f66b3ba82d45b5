package forall_test

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/chainwalk/chainwalk/forall"
	"github.com/chainwalk/chainwalk/forall/walked"
	"github.com/chainwalk/chainwalk/internal/sample"
)

// drawnEndpoints are services of kube-proxy's mode iptables that share endpoints, and whose chains do not quite ask for what they translate
// to.
func drawnEndpoints(t *rapid.T) string {
	one := func(name string, of ...string) string { return rapid.SampledFrom(of).Draw(t, name) }
	pod := func() string {
		return one("pod", "10.244.0.2", "10.244.0.3", "10.244.0.4", "10.244.1.2", "172.18.0.3", "10.96.0.1")
	}
	heads, jumps, chains := "", "", ""
	endpoint := func(name, pod string) {
		heads += ":" + name + " - [0:0]\n"
		asks := one("asks", "-s "+pod, "-s "+pod, "! -s "+pod, "-s 10.244.0.3", "-s 10.244.0.2/31", "")
		chains += fmt.Sprintf("-A %s %s -j MASQ\n-A %s -p %s -j DNAT --to-destination %s:%s\n", name, asks, name,
			one("protocol", "tcp", "udp"), pod, one("port", "80", "8080"))
		if rapid.Bool().Draw(t, "second") {
			chains += fmt.Sprintf("-A %s -s 10.244.0.3 -j DNAT --to-destination 10.244.0.3\n", name)
		}
	}
	for e := range 4 {
		endpoint(fmt.Sprintf("SEP-%d", e), pod())
	}
	if rapid.Bool().Draw(t, "many") { // more than are looked for one by one
		for e := range 20 {
			endpoint(fmt.Sprintf("MANY-%d", e), fmt.Sprintf("10.244.2.%d", 40-e))
		}
		heads += ":SVC-many - [0:0]\n"
		jumps += "-A SERVICES -d 10.96.0.9/32 -p tcp -m tcp --dport 80 -j SVC-many\n"
		for e := range 20 {
			chains += fmt.Sprintf("-A SVC-many -m statistic --mode random --probability 0.25 -j MANY-%d\n", e)
		}
	}
	for i := range 3 {
		heads += fmt.Sprintf(":SVC-%d - [0:0]\n", i)
		jumps += fmt.Sprintf("-A SERVICES -d 10.96.0.%d/32 -p tcp -m tcp --dport 80 -j SVC-%d\n", i+1, i)
		for range rapid.IntRange(1, 4).Draw(t, "endpoints") {
			chains += fmt.Sprintf("-A SVC-%d -m statistic --mode random --probability 0.5 -j SEP-%d\n", i, rapid.IntRange(0, 3).Draw(t, "of"))
		}
	}
	return "*nat\n:PREROUTING ACCEPT [0:0]\n:INPUT ACCEPT [0:0]\n:OUTPUT ACCEPT [0:0]\n:POSTROUTING ACCEPT [0:0]\n" +
		":SERVICES - [0:0]\n:MASQ - [0:0]\n" + heads + "-A PREROUTING -j SERVICES\n-A OUTPUT -j SERVICES\n" +
		"-A MASQ -j MARK --set-xmark 0x4000/0x4000\n" +
		one("late", "", "-A POSTROUTING -s 10.244.0.2/32 -j RETURN\n", "-A POSTROUTING -m conntrack --ctorigdst 10.96.0.2 -j RETURN\n") +
		"-A POSTROUTING -m mark --mark 0x4000/0x4000 -j MASQUERADE\n" + jumps +
		"-A SERVICES -p tcp -m tcp --dport 30000 -j SVC-0\n" + chains + "COMMIT\n"
}

// TestLawOfNames compares the fates of services with walks, also where all is forgotten behind each destination, and the fates beside
// others.
func TestLawOfNames(t *testing.T) {
	sample.Checks(t, 15)
	rapid.Check(t, func(t *rapid.T) {
		text := drawnEndpoints(t)
		h, f := lawFates(t, text, nil)
		r := walked.Compare(f, rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 0)), 60)
		require.Empty(t, r.Wrong, r.Text()+text)
		g, err := forall.Of(h, forall.Options{Families: only4, Chance: forall.Exact}.ForgettingAfter(1))
		require.NoError(t, err)
		require.True(t, f.Equal(g), text)
		other := strings.Replace(text, "10.244.0.4:80", "10.244.0.4:81", 1)
		_, from := lawFates(t, other, nil)
		_, beside := lawFates(t, text, from)
		require.True(t, f.Equal(beside), text)
		replies, err := forall.Of(h, forall.Options{Families: only4, Chance: forall.Exact, Replies: true})
		require.NoError(t, err)
		r = walked.Compare(replies, rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 0)), 20)
		require.Empty(t, r.Wrong, r.Text()+text)
	})
}
