package packetsim

import (
	"fmt"
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/chainwalk/chainwalk/internal/race"
)

// manyServices is a nat table of so many services with five endpoints each.
func manyServices(services int) string {
	const endpoints = 5
	var chains, rules strings.Builder
	for s := range services {
		fmt.Fprintf(&chains, ":SVC-%d - [0:0]\n", s)
		fmt.Fprintf(&rules, "-A SERVICES -d %s/32 -p tcp -m comment --comment \"ns/svc%d cluster IP\" -m tcp --dport 80 -j SVC-%d\n",
			serviceAddr(s), s, s)
		fmt.Fprintf(&rules, "-A SVC-%d ! -s 10.244.0.0/16 -j MASQ\n", s)
		for e := range endpoints {
			fmt.Fprintf(&chains, ":SEP-%d-%d - [0:0]\n", s, e)
			if left := endpoints - e; left > 1 {
				fmt.Fprintf(&rules, "-A SVC-%d -m statistic --mode random --probability %.11f -j SEP-%d-%d\n", s, 1/float64(left), s, e)
			} else {
				fmt.Fprintf(&rules, "-A SVC-%d -j SEP-%d-%d\n", s, s, e)
			}
			fmt.Fprintf(&rules, "-A SEP-%d-%d -p tcp -m tcp -j DNAT --to-destination 10.244.0.%d:8080\n", s, e, 11+e%2)
		}
	}
	return "*nat\n:PREROUTING ACCEPT [0:0]\n:SERVICES - [0:0]\n:MASQ - [0:0]\n" + chains.String() +
		"-A PREROUTING -j SERVICES\n-A MASQ -j MARK --set-xmark 0x4000/0x4000\n" + rules.String() + "COMMIT\n"
}

// lastService is a packet to the last of so many services.
func lastService(services int) string {
	return fmt.Sprintf("tcp 10.244.0.11:1000 > %s:80 in veth1", serviceAddr(services-1))
}

// serviceAddr is the cluster IP of a service of manyServices.
func serviceAddr(s int) netip.Addr {
	return netip.AddrFrom4([4]byte{10, byte(100 + s>>16), byte(s >> 8), byte(s)})
}

func TestWalkOfManyServices(t *testing.T) {
	race.OneGoroutine(t)
	const services = 2000
	h, _ := testNode{rules4: manyServices(services)}.build(t)
	outcomes, err := h.Walk(parse(t, lastService(services)))
	require.NoError(t, err)
	require.Len(t, outcomes, 5)
	for _, o := range outcomes {
		require.Equal(t, fmt.Sprintf("nat:PREROUTING:rule:1 nat:SERVICES:rule:%d", services), way(Outcome{Steps: o.Steps[:2]}))
		require.InDelta(t, 0.2, o.Probability, 1e-8)
	}
}

func BenchmarkStep(b *testing.B) {
	for _, services := range []int{100, 10000} {
		b.Run(fmt.Sprintf("services=%d", services), func(b *testing.B) {
			h, clock := testNode{rules4: manyServices(services)}.build(b)
			in, chance := parse(b, lastService(services)), SeededChance(1)
			b.ReportAllocs()
			for b.Loop() {
				clock.Step(time.Hour)
				if _, err := h.Step(in, chance); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
