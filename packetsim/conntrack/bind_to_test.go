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

// countingChance draws numbers one after the other.
type countingChance struct {
	fixedChance
	drawn *uint32
}

func (c countingChance) Number(n uint32) uint32 {
	*c.drawn++
	return *c.drawn * 7919 % n
}

// TestBindTo holds that BindTo is Bind of a range that is one address and one port, that BindFrom is Bind of the source to any port at
// random, and that BindNothing leaves alone what is free.
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
		numbers, drawn := rapid.Bool().Draw(r, "numbers"), [2]uint32{}
		chance := func(i int) Chance {
			if numbers {
				return countingChance{drawn: &drawn[i]}
			}
			return fixedChance{}
		}
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
			nothing, from := rapid.Bool().Draw(r, "nothing"), rapid.Bool().Draw(r, "from")
			if p.Proto.HasPorts() && rapid.IntRange(0, 3).Draw(r, "low") == 0 {
				p.SrcPort = uint16(rapid.SampledFrom([]int{1, 511, 512, 1023, 1024}).Draw(r, "low sport"))
			}
			masqueraded := addr("masqueraded")
			var states [2]string
			for i := range trackers {
				k := &trackers[i]
				c, dir, verdict := k.Look(&p, Zone{}, "", chance(i))
				if verdict == Accept && dir == Original && !c.Confirmed {
					switch {
					case nothing && i == 0:
						k.BindNothing(c, Destination, chance(i))
					case nothing:
						same := c.Tuples[Reply].Inverse().Dst
						k.Bind(c, Destination, &Range{NATRange: netfilter.NATRange{MinAddr: same, MaxAddr: same}}, chance(i))
					case i == 0:
						k.BindTo(c, to, toPort, chance(i))
					default:
						only := netfilter.NATRange{MinAddr: to, MaxAddr: to, MinPort: toPort, MaxPort: toPort, HasPorts: true}
						k.Bind(c, Destination, &Range{NATRange: only}, chance(i))
					}
					same := c.Tuples[Reply].Inverse().Src
					switch {
					case from && i == 0:
						k.BindFrom(c, masqueraded, chance(i))
					case from:
						k.Bind(c, Source, &Range{NATRange: netfilter.NATRange{MinAddr: masqueraded, MaxAddr: masqueraded, RandomFully: true}},
							chance(i))
					case i == 0:
						k.BindNothing(c, Source, chance(i))
					default:
						k.Bind(c, Source, &Range{NATRange: netfilter.NATRange{MinAddr: same, MaxAddr: same}}, chance(i))
					}
					states[i] = fmt.Sprint(c.Tuples, c.SrcNAT, c.DstNAT, c.srcDone, c.dstDone, c.ChosenPort, k.Insert(c))
				}
				states[i] += fmt.Sprint(k.Entries())
			}
			require.Equal(t, states[1], states[0])
			require.Equal(t, drawn[1], drawn[0])
		}
	})
}

// TestBindToEndsWhatIsOver: a SYN with a later number gets the place of a translated connection that is over, but one that keeps its port
// looks for no place. Bind does the same.
func TestBindToEndsWhatIsOver(t *testing.T) {
	for _, row := range []struct {
		name      string
		seq       uint32
		open      bool // the earlier connection is not over
		plain     bool // it is not translated
		unknown   bool // of the SYN no numbers are known
		keepsPort bool
		ends      bool
	}{
		{name: "later", seq: 5001, ends: true},
		{name: "the same number", seq: 5000},
		{name: "earlier", seq: 4999},
		{name: "later round the end of the numbers", seq: 5000 + 1<<31 - 1, ends: true},
		{name: "earlier round the end of the numbers", seq: 5000 + 1<<31 + 1},
		{name: "not over", seq: 5001, open: true},
		{name: "not translated", seq: 5001, plain: true},
		{name: "unknown", unknown: true},
		{name: "the port stays", seq: 5001, keepsPort: true},
	} {
		for _, to := range []string{"BindTo", "Bind"} {
			t.Run(row.name+" "+to, func(t *testing.T) {
				k := NewTracker(clocktesting.NewFakePassiveClock(time.Unix(1, 0)), func() bool { return false })
				k.Configure(nil, func(fallback int, _ ...string) int { return fallback })
				server, node := netip.MustParseAddr("10.0.0.3"), netip.MustParseAddr("10.0.0.2")
				syn := func(p inet.Packet) *Conn {
					p.Proto, p.TCPFlags = inet.TCP, inet.SYN
					c, _, verdict := k.Look(&p, Zone{}, "", fixedChance{})
					require.Equal(t, Accept, verdict)
					require.False(t, c.Confirmed)
					return c
				}
				earlier := inet.Packet{Src: netip.MustParseAddr("10.0.0.1"), SrcPort: 2000, Dst: server, DstPort: 80,
					Numbers: &inet.TCPNumbers{Seq: 5000}}
				if row.plain {
					earlier.Src = node
				}
				over := syn(earlier)
				k.BindNothing(over, Destination, fixedChance{})
				k.Bind(over, Source, &Range{NATRange: netfilter.NATRange{MinAddr: node, MaxAddr: node}}, fixedChance{})
				require.Equal(t, !row.plain, over.SrcNAT)
				require.True(t, k.Insert(over))
				if !row.open {
					k.CloseTCP(over)
				}
				next := inet.Packet{Src: node, SrcPort: 2000, Dst: netip.MustParseAddr("10.0.0.9"), DstPort: 90,
					Numbers: &inet.TCPNumbers{Seq: row.seq}}
				if row.unknown {
					next.Numbers = nil
				}
				if row.keepsPort {
					next.DstPort = 80
				}
				c := syn(next)
				if to == "BindTo" {
					k.BindTo(c, server, 80, fixedChance{})
				} else {
					only := netfilter.NATRange{MinAddr: server, MaxAddr: server, MinPort: 80, MaxPort: 80, HasPorts: true}
					k.Bind(c, Destination, &Range{NATRange: only}, fixedChance{})
				}
				require.Equal(t, over.Tuples[Reply], c.Tuples[Reply])
				require.Equal(t, row.ends, k.Size() == 0)
				require.NoError(t, k.Check())
				require.Equal(t, row.ends, k.Insert(c), "in the place of the other one")
			})
		}
	}
}
