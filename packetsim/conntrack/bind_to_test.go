package conntrack

import (
	"fmt"
	"net/netip"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	clocktesting "k8s.io/utils/clock/testing"
	"pgregory.net/rapid"

	"github.com/chainwalk/chainwalk/netfilter"
	"github.com/chainwalk/chainwalk/packetsim/inet"
)

type fixedChance struct{}

func (fixedChance) Draw(uint32) bool { return true }

// TestBindTo holds that BindTo is Bind of a range that is one address and one port, and that BindNothing leaves alone what is free.
func TestBindTo(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		var trackers [2]Tracker
		for i := range trackers {
			trackers[i] = NewTracker(clocktesting.NewFakePassiveClock(time.Unix(1, 0)), func() bool { return false })
			trackers[i].Configure(nil, func(fallback int, _ ...string) int { return fallback })
		}
		addr := func(name string) netip.Addr {
			return netip.AddrFrom4([4]byte{10, 0, 0, byte(rapid.IntRange(1, 3).Draw(r, name))})
		}
		port := func(name string) uint16 { return uint16(rapid.IntRange(80, 81).Draw(r, name)) }
		for range 12 {
			p := inet.Packet{Proto: rapid.SampledFrom([]inet.Proto{inet.TCP, inet.UDP, inet.ICMP, GRE}).Draw(r, "proto"), Src: addr("src"),
				Dst: addr("dst"), TCPFlags: inet.SYN}
			switch {
			case p.Proto.HasPorts():
				p.SrcPort, p.DstPort = port("sport"), port("dport")
			case p.Proto == inet.ICMP:
				p.ICMPType, p.ICMPID = inet.ICMPEcho, port("id")
			}
			to, toPort := addr("to"), port("to port")
			if rapid.IntRange(0, 3).Draw(r, "port only") == 0 {
				to = netip.Addr{}
			}
			nothing := rapid.Bool().Draw(r, "nothing")
			var states [2]string
			for i := range trackers {
				k := &trackers[i]
				c, dir, verdict := k.Look(&p, Zone{}, "", fixedChance{})
				if verdict == Accept && dir == Original && !c.Confirmed {
					switch {
					case nothing && i == 0:
						k.BindNothing(c, Destination, fixedChance{})
					case nothing:
						same := c.Tuples[Reply].Inverse().Dst
						k.Bind(c, Destination, &Range{NATRange: netfilter.NATRange{MinAddr: same, MaxAddr: same}}, fixedChance{})
					case i == 0:
						k.BindTo(c, to, toPort, fixedChance{})
					default:
						only := netfilter.NATRange{MinAddr: to, MaxAddr: to, MinPort: toPort, MaxPort: toPort, HasPorts: true}
						k.Bind(c, Destination, &Range{NATRange: only}, fixedChance{})
					}
					if i == 0 {
						k.BindNothing(c, Source, fixedChance{})
					} else {
						same := c.Tuples[Reply].Inverse().Src
						k.Bind(c, Source, &Range{NATRange: netfilter.NATRange{MinAddr: same, MaxAddr: same}}, fixedChance{})
					}
					states[i] = fmt.Sprint(c.Tuples, c.SrcNAT, c.DstNAT, c.srcDone, c.dstDone, c.ChosenPort, k.Insert(c))
				}
				states[i] += fmt.Sprint(k.Entries())
			}
			require.Equal(t, states[1], states[0])
		}
	})
}
