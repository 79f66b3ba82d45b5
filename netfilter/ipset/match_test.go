package ipset

import (
	"bytes"
	"io"
	"io/fs"
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/chainwalk/chainwalk/internal/libc"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	clocktesting "k8s.io/utils/clock/testing"
)

// setsOf are sets, and their clock.
func setsOf(t testing.TB, text string) (*Table, *clocktesting.FakePassiveClock) {
	clock := clocktesting.NewFakePassiveClock(time.Unix(1000, 0))
	sets := NewTable(clock)
	require.NoError(t, testTool(sets, text).Load())
	return sets, clock
}

// testTool is ipset with an input, on sets that no rule names and without files.
func testTool(sets *Table, input string) *Tool {
	return &Tool{Sets: sets, Named: func() map[string]int { return map[string]int{} },
		Stdin: strings.NewReader(input), Stdout: io.Discard, Stderr: io.Discard,
		ReadFile:  func(string) ([]byte, error) { return nil, fs.ErrPermission },
		WriteFile: func(string, []byte, fs.FileMode) error { return fs.ErrPermission }}
}

func saved(t testing.TB, sets *Table) string {
	var b bytes.Buffer
	require.NoError(t, sets.Save(&b))
	return b.String()
}

// holds says that the sides of the packet are in the set.
func holds(sets *Table, r Ref, p *Packet) bool { return sets.Overlay().Match(&Query{Ref: r}, p) }

// apply makes a change and keeps it.
func apply(sets *Table, c *Change, p *Packet) {
	o := sets.Overlay()
	o.Apply(c, p)
	o.Commit()
}

// count matches a packet and keeps what is counted.
func count(sets *Table, m *Query, p *Packet) bool {
	o := sets.Overlay()
	defer o.Commit()
	return o.Match(m, p)
}

// setRef is a set with its sides, "src" or "dst".
func setRef(set string, sides ...string) Ref {
	r := Ref{Set: set, Dim: uint8(len(sides))}
	for i, side := range sides {
		if side == "src" {
			r.SrcSides |= 1 << i
		}
	}
	return r
}

// tcpPacket is a TCP packet from 10.0.0.1:1000 to 10.1.0.2:80 of 60 bytes.
func tcpPacket() *Packet {
	return &Packet{Src: netip.MustParseAddr("10.0.0.1"), Dst: netip.MustParseAddr("10.1.0.2"),
		Proto: libc.ProtoTCP, SrcPort: 1000, DstPort: 80, Length: 60}
}

func TestMembership(t *testing.T) {
	for name, row := range map[string]struct {
		sets  string
		sides string
		want  bool
	}{
		"an address by its source":      {"create s hash:ip\nadd s 10.0.0.1\n", "src", true},
		"an address by its destination": {"create s hash:ip\nadd s 10.0.0.1\n", "dst", false},
		"a set that is not there":       {"", "src", false},
		"an address under a netmask":    {"create s hash:ip netmask 24\nadd s 10.0.0.77\n", "src", true},
		"a net":                         {"create s hash:net\nadd s 10.0.0.0/8\n", "dst", true},
		"a longer net with nomatch":     {"create s hash:net\nadd s 10.0.0.0/8\nadd s 10.1.0.0/16 nomatch\n", "dst", false},
		"a longer net within nomatch":   {"create s hash:net\nadd s 10.0.0.0/8 nomatch\nadd s 10.1.0.0/16\n", "dst", true},
		"an address and a port":         {"create s hash:ip,port\nadd s 10.1.0.2,80\n", "dst dst", true},
		"a port of another protocol":    {"create s hash:ip,port\nadd s 10.1.0.2,udp:80\n", "dst dst", false},
		"fewer sides than the type has": {"create s hash:ip,port\nadd s 10.1.0.2,80\n", "dst", false},
		"more sides than the type has":  {"create s hash:ip\nadd s 10.1.0.2\n", "dst src", true},
		"two addresses and a port":      {"create s hash:ip,port,ip\nadd s 10.0.0.1,80,10.1.0.2\n", "src dst dst", true},
		"an address, a port and a net":  {"create s hash:ip,port,net\nadd s 10.0.0.1,80,10.0.0.0/8\n", "src dst dst", true},
		"an address, a port and nomatch": {"create s hash:ip,port,net\nadd s 10.0.0.1,80,10.0.0.0/8\n" +
			"add s 10.0.0.1,80,10.1.0.0/16 nomatch\n", "src dst dst", false},
		"a net and a port":        {"create s hash:net,port\nadd s 10.1.0.0/16,80\n", "dst dst", true},
		"a port":                  {"create s bitmap:port range 0-100\nadd s 80\n", "dst", true},
		"a port beyond the range": {"create s bitmap:port range 0-100\nadd s 80\n", "src", false},
		"another family":          {"create s hash:net family inet6\nadd s ::/1\n", "src", false},
		"a set of sets": {"create a hash:ip\nadd a 1.1.1.1\ncreate b hash:net\nadd b 10.0.0.0/8\n" +
			"create s list:set\nadd s a\nadd s b\n", "src", true},
		"a set of sets with too few sides":   {"create b hash:ip,port\nadd b 10.0.0.1,1000\ncreate s list:set\nadd s b\n", "src", false},
		"a set of sets without a way":        {"create s list:set\n", "src", false},
		"an address in a range that was cut": {"create s hash:net\nadd s 10.0.255.250-10.1.0.3\n", "dst", true},
	} {
		t.Run(name, func(t *testing.T) {
			sets, _ := setsOf(t, row.sets)
			ref := setRef("s", strings.Fields(row.sides)...)
			assert.Equal(t, row.want, holds(sets, ref, tcpPacket()))
			assert.Equal(t, !row.want, sets.Overlay().Match(&Query{Ref: ref, Invert: true}, tcpPacket()))
		})
	}
}

func TestReturnNomatchTakesOnlyThoseEntries(t *testing.T) {
	sets, _ := setsOf(t, "create s hash:net\nadd s 10.0.0.0/8\nadd s 10.1.0.0/16 nomatch\n")
	assert.True(t, sets.Overlay().Match(&Query{Ref: setRef("s", "dst"), ReturnNomatch: true}, tcpPacket()))
	assert.False(t, sets.Overlay().Match(&Query{Ref: setRef("s", "src"), ReturnNomatch: true}, tcpPacket()))
}

func TestSetTimeoutsExpire(t *testing.T) {
	sets, clock := setsOf(t, "create s hash:ip timeout 10\nadd s 10.0.0.1\nadd s 10.1.0.2 timeout 0\n")
	clock.SetTime(time.Unix(1009, 0))
	assert.True(t, holds(sets, setRef("s", "src"), tcpPacket()))
	clock.SetTime(time.Unix(1010, 0))
	assert.False(t, holds(sets, setRef("s", "src"), tcpPacket()))
	assert.True(t, holds(sets, setRef("s", "dst"), tcpPacket()), "without a timeout of its own")
}

func TestSetCountersCountAndCompare(t *testing.T) {
	sets, _ := setsOf(t, "create s hash:ip counters\nadd s 10.0.0.1 packets 4 bytes 100\n")
	above := &Query{Ref: setRef("s", "src"), Packets: Counter{Op: CounterGT, Value: 5}}
	assert.False(t, sets.Overlay().Match(above, tcpPacket()), "the fifth packet")
	assert.False(t, sets.Overlay().Match(above, tcpPacket()), "looking does not count")
	count(sets, above, tcpPacket())
	assert.True(t, sets.Overlay().Match(above, tcpPacket()), "the sixth packet")
	count(sets, &Query{Ref: setRef("s", "src"), KeepCounters: true}, tcpPacket())
	assert.Contains(t, saved(t, sets), "add s 10.0.0.1 packets 5 bytes 160\n")
}

func TestSetTargetAddsAndDeletes(t *testing.T) {
	sets, clock := setsOf(t, "create s hash:ip,port timeout 10\n")
	ref := setRef("s", "src", "dst")
	apply(sets, &Change{Add: ref, HasTimeout: true, Timeout: 3}, tcpPacket())
	assert.True(t, holds(sets, ref, tcpPacket()))
	clock.SetTime(time.Unix(1002, 0))
	apply(sets, &Change{Add: ref, HasTimeout: true, Timeout: 3}, tcpPacket())
	clock.SetTime(time.Unix(1003, 0))
	assert.False(t, holds(sets, ref, tcpPacket()), "added again without --exist")
	apply(sets, &Change{Add: ref}, tcpPacket())
	apply(sets, &Change{Add: ref, Exist: true, HasTimeout: true, Timeout: 100}, tcpPacket())
	clock.SetTime(time.Unix(1050, 0))
	assert.True(t, holds(sets, ref, tcpPacket()), "added again with --exist")
	apply(sets, &Change{Del: ref}, tcpPacket())
	assert.False(t, holds(sets, ref, tcpPacket()))
}

func BenchmarkMatch(b *testing.B) {
	var text strings.Builder
	text.WriteString("create s hash:ip,port\n")
	for i := range 10000 {
		text.WriteString("add s 10.1." + netip.AddrFrom4([4]byte{0, 0, byte(i >> 8), byte(i)}).String()[4:] + ",80\n")
	}
	sets, _ := setsOf(b, text.String())
	m, p, o := &Query{Ref: setRef("s", "dst", "dst")}, tcpPacket(), sets.Overlay()
	b.ReportAllocs()
	for b.Loop() {
		if !o.Match(m, p) {
			b.Fatal("not in the set")
		}
	}
}
