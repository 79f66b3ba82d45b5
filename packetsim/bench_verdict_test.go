package packetsim

import (
	"fmt"
	"testing"

	"github.com/chainwalk/chainwalk/fakeipt"
	"github.com/stretchr/testify/require"
)

// BenchmarkVerdict is a first packet to the last of so many services, of five endpoints each.
func BenchmarkVerdict(b *testing.B) {
	for _, services := range []int{100, 1000, 10000, 50000} {
		b.Run(fmt.Sprintf("services=%d", services), func(b *testing.B) {
			h, _ := testNode{rules4: manyServices(services)}.build(b)
			in, chance := parse(b, lastService(services)), SeededChance(1)
			for range usualIndexPolicy.walks {
				_, err := h.Verdict(in, chance)
				require.NoError(b, err)
			}
			b.ReportAllocs()
			for b.Loop() {
				if _, err := h.Verdict(in, chance); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// BenchmarkVerdictAfterCommit is the first packet after a commit of one rule to a chain of so many, which has no index any more.
func BenchmarkVerdictAfterCommit(b *testing.B) {
	for _, services := range []int{1000, 10000} {
		b.Run(fmt.Sprintf("services=%d", services), func(b *testing.B) {
			h, _ := testNode{rules4: manyServices(services)}.build(b)
			in, chance := parse(b, lastService(services)), SeededChance(1)
			for b.Loop() {
				b.StopTimer()
				restoreInto(b, h.Netfilter(), fakeipt.IPv4, "*nat\n-A SERVICES -d 10.1.1.1/32 -j MASQ\nCOMMIT\n", "--noflush")
				b.StartTimer()
				if _, err := h.Verdict(in, chance); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
