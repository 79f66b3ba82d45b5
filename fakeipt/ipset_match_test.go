package fakeipt

import (
	"bytes"
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/chainwalk/chainwalk/fakeipt/internal/libc"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	clocktesting "k8s.io/utils/clock/testing"
)

// setsOf is a kernel with sets, and its clock.
func setsOf(t testing.TB, text string) (*Kernel, *clocktesting.FakePassiveClock) {
	clock := clocktesting.NewFakePassiveClock(time.Unix(1000, 0))
	k := New(Options{Clock: clock})
	require.NoError(t, k.LoadSets("sets", strings.NewReader(text)))
	return k, clock
}

// setRef is a set with its sides, "src" or "dst".
func setRef(set string, sides ...string) SetRef {
	r := SetRef{Set: set, Dim: uint8(len(sides))}
	for i, side := range sides {
		if side == "src" {
			r.SrcSides |= 1 << i
		}
	}
	return r
}

// tcpPacket is a TCP packet from 10.0.0.1:1000 to 10.1.0.2:80 of 60 bytes.
func tcpPacket() *SetPacket {
	return &SetPacket{Src: netip.MustParseAddr("10.0.0.1"), Dst: netip.MustParseAddr("10.1.0.2"), Proto: libc.ProtoTCP, SrcPort: 1000, DstPort: 80, Length: 60}
}

func TestSetMembership(t *testing.T) {
	for name, row := range map[string]struct {
		sets string
		ref  SetRef
		want bool
	}{
		"an address by its source":           {"create s hash:ip\nadd s 10.0.0.1\n", setRef("s", "src"), true},
		"an address by its destination":      {"create s hash:ip\nadd s 10.0.0.1\n", setRef("s", "dst"), false},
		"a set that is not there":            {"", setRef("s", "src"), false},
		"an address under a netmask":         {"create s hash:ip netmask 24\nadd s 10.0.0.77\n", setRef("s", "src"), true},
		"a net":                              {"create s hash:net\nadd s 10.0.0.0/8\n", setRef("s", "dst"), true},
		"a longer net with nomatch":          {"create s hash:net\nadd s 10.0.0.0/8\nadd s 10.1.0.0/16 nomatch\n", setRef("s", "dst"), false},
		"a longer net within nomatch":        {"create s hash:net\nadd s 10.0.0.0/8 nomatch\nadd s 10.1.0.0/16\n", setRef("s", "dst"), true},
		"an address and a port":              {"create s hash:ip,port\nadd s 10.1.0.2,80\n", setRef("s", "dst", "dst"), true},
		"a port of another protocol":         {"create s hash:ip,port\nadd s 10.1.0.2,udp:80\n", setRef("s", "dst", "dst"), false},
		"fewer sides than the type has":      {"create s hash:ip,port\nadd s 10.1.0.2,80\n", setRef("s", "dst"), false},
		"more sides than the type has":       {"create s hash:ip\nadd s 10.1.0.2\n", setRef("s", "dst", "src"), true},
		"two addresses and a port":           {"create s hash:ip,port,ip\nadd s 10.0.0.1,80,10.1.0.2\n", setRef("s", "src", "dst", "dst"), true},
		"an address, a port and a net":       {"create s hash:ip,port,net\nadd s 10.0.0.1,80,10.0.0.0/8\n", setRef("s", "src", "dst", "dst"), true},
		"an address, a port and nomatch":     {"create s hash:ip,port,net\nadd s 10.0.0.1,80,10.0.0.0/8\nadd s 10.0.0.1,80,10.1.0.0/16 nomatch\n", setRef("s", "src", "dst", "dst"), false},
		"a net and a port":                   {"create s hash:net,port\nadd s 10.1.0.0/16,80\n", setRef("s", "dst", "dst"), true},
		"a port":                             {"create s bitmap:port range 0-100\nadd s 80\n", setRef("s", "dst"), true},
		"a port beyond the range":            {"create s bitmap:port range 0-100\nadd s 80\n", setRef("s", "src"), false},
		"another family":                     {"create s hash:net family inet6\nadd s ::/1\n", setRef("s", "src"), false},
		"a set of sets":                      {"create a hash:ip\nadd a 1.1.1.1\ncreate b hash:net\nadd b 10.0.0.0/8\ncreate s list:set\nadd s a\nadd s b\n", setRef("s", "src"), true},
		"a set of sets with too few sides":   {"create b hash:ip,port\nadd b 10.0.0.1,1000\ncreate s list:set\nadd s b\n", setRef("s", "src"), false},
		"a set of sets without a way":        {"create s list:set\n", setRef("s", "src"), false},
		"an address in a range that was cut": {"create s hash:net\nadd s 10.0.255.250-10.1.0.3\n", setRef("s", "dst"), true},
	} {
		t.Run(name, func(t *testing.T) {
			k, _ := setsOf(t, row.sets)
			assert.Equal(t, row.want, k.Sets().Test(row.ref, tcpPacket()))
			assert.Equal(t, row.want, k.Sets().Match(&MatchSet{SetRef: row.ref}, tcpPacket()))
			assert.Equal(t, !row.want, k.Sets().Match(&MatchSet{SetRef: row.ref, Invert: true}, tcpPacket()))
		})
	}
}

func TestReturnNomatchTakesOnlyThoseEntries(t *testing.T) {
	k, _ := setsOf(t, "create s hash:net\nadd s 10.0.0.0/8\nadd s 10.1.0.0/16 nomatch\n")
	assert.True(t, k.Sets().Match(&MatchSet{SetRef: setRef("s", "dst"), ReturnNomatch: true}, tcpPacket()))
	assert.False(t, k.Sets().Match(&MatchSet{SetRef: setRef("s", "src"), ReturnNomatch: true}, tcpPacket()))
}

func TestSetTimeoutsExpire(t *testing.T) {
	k, clock := setsOf(t, "create s hash:ip timeout 10\nadd s 10.0.0.1\nadd s 10.1.0.2 timeout 0\n")
	clock.SetTime(time.Unix(1009, 0))
	assert.True(t, k.Sets().Test(setRef("s", "src"), tcpPacket()))
	clock.SetTime(time.Unix(1010, 0))
	assert.False(t, k.Sets().Test(setRef("s", "src"), tcpPacket()))
	assert.True(t, k.Sets().Test(setRef("s", "dst"), tcpPacket()), "without a timeout of its own")
}

func TestSetCountersCountAndCompare(t *testing.T) {
	k, _ := setsOf(t, "create s hash:ip counters\nadd s 10.0.0.1 packets 4 bytes 100\n")
	above := &MatchSet{SetRef: setRef("s", "src"), Packets: SetCounter{Op: SetCounterGT, Value: 5}}
	assert.False(t, k.Sets().Match(above, tcpPacket()), "the fifth packet")
	assert.False(t, k.Sets().Match(above, tcpPacket()), "looking does not count")
	k.Sets().Count(above, tcpPacket())
	assert.True(t, k.Sets().Match(above, tcpPacket()), "the sixth packet")
	k.Sets().Count(&MatchSet{SetRef: setRef("s", "src"), KeepCounters: true}, tcpPacket())
	var saved bytes.Buffer
	require.NoError(t, k.SaveSets(&saved))
	assert.Contains(t, saved.String(), "add s 10.0.0.1 packets 5 bytes 160\n")
}

func TestSetTargetAddsAndDeletes(t *testing.T) {
	k, clock := setsOf(t, "create s hash:ip,port timeout 10\n")
	ref := setRef("s", "src", "dst")
	k.Sets().Apply(&TargetSet{Add: ref, HasTimeout: true, Timeout: 3}, tcpPacket())
	assert.True(t, k.Sets().Test(ref, tcpPacket()))
	clock.SetTime(time.Unix(1002, 0))
	k.Sets().Apply(&TargetSet{Add: ref, HasTimeout: true, Timeout: 3}, tcpPacket())
	clock.SetTime(time.Unix(1003, 0))
	assert.False(t, k.Sets().Test(ref, tcpPacket()), "added again without --exist")
	k.Sets().Apply(&TargetSet{Add: ref}, tcpPacket())
	k.Sets().Apply(&TargetSet{Add: ref, Exist: true, HasTimeout: true, Timeout: 100}, tcpPacket())
	clock.SetTime(time.Unix(1050, 0))
	assert.True(t, k.Sets().Test(ref, tcpPacket()), "added again with --exist")
	k.Sets().Apply(&TargetSet{Del: ref}, tcpPacket())
	assert.False(t, k.Sets().Test(ref, tcpPacket()))
}

func TestSetChangesAreUndone(t *testing.T) {
	const sets = "create ip hash:ip timeout 10 counters\nadd ip 10.1.0.2 timeout 5 packets 1 bytes 60\n" +
		"create net hash:net\nadd net 10.0.0.0/24\nadd net 10.0.0.0/8\ncreate list list:set\nadd list ip\n"
	saved := func(k *Kernel) string {
		var b bytes.Buffer
		require.NoError(t, k.SaveSets(&b))
		return b.String()
	}
	for name, change := range map[string]func(s *IPSetTable) func(){
		"a new entry": func(s *IPSetTable) func() { return s.Apply(&TargetSet{Add: setRef("ip", "src")}, tcpPacket()) },
		"an entry with another timeout": func(s *IPSetTable) func() {
			return s.Apply(&TargetSet{Add: setRef("ip", "dst"), Exist: true, HasTimeout: true, Timeout: 9}, tcpPacket())
		},
		"a net that goes":  func(s *IPSetTable) func() { return s.Apply(&TargetSet{Del: setRef("net", "src")}, tcpPacket()) },
		"a net that comes": func(s *IPSetTable) func() { return s.Apply(&TargetSet{Add: setRef("net", "dst")}, tcpPacket()) },
		"both": func(s *IPSetTable) func() {
			return s.Apply(&TargetSet{Add: setRef("ip", "src"), Del: setRef("ip", "src")}, tcpPacket())
		},
		"counters":          func(s *IPSetTable) func() { return s.Count(&MatchSet{SetRef: setRef("ip", "dst")}, tcpPacket()) },
		"counters in a set": func(s *IPSetTable) func() { return s.Count(&MatchSet{SetRef: setRef("list", "dst")}, tcpPacket()) },
	} {
		t.Run(name, func(t *testing.T) {
			k, _ := setsOf(t, sets)
			before := saved(k)
			undo := change(k.Sets())
			require.NotNil(t, undo)
			if name != "both" {
				assert.NotEqual(t, before, saved(k))
			}
			undo()
			assert.Equal(t, before, saved(k))
			assert.True(t, k.Sets().Test(setRef("net", "src"), tcpPacket()), "found by the length of its net")
		})
	}
	k, _ := setsOf(t, sets)
	assert.Nil(t, k.Sets().Apply(&TargetSet{Del: setRef("ip", "src")}, tcpPacket()), "nothing is deleted")
	assert.Nil(t, k.Sets().Count(&MatchSet{SetRef: setRef("ip", "src")}, tcpPacket()), "nothing is counted")
}

func TestLoadSetsSaysWhere(t *testing.T) {
	k := New(Options{})
	err := k.LoadSets("node.yaml", strings.NewReader("create s hash:ip\n# a comment\nadd s 10.0.0.1\nadd s 10.0.0.300\n"))
	var parse *ParseError
	require.ErrorAs(t, err, &parse)
	assert.Equal(t, 4, parse.Line)
	assert.Equal(t, "node.yaml", parse.File)
	assert.Contains(t, parse.Msg, "10.0.0.300")
}

func FuzzIPSetRestore(f *testing.F) {
	f.Add("create s hash:ip,port,net family inet6 timeout 5 counters comment\nadd s fd00::1,tcp:80,fd00::/8 nomatch comment \"x\"\nswap s s\n")
	f.Add("create s bitmap:port range 1-9\nadd s 5-7\ncreate l list:set\nadd l s\ndel s 6\nlist\nrename l m\ndestroy")
	f.Add("create s hash:ip,port,net family inet6\nadd s ::0,0,/0")
	f.Add("create s hash:net\nadd s 0.0.0.0-10.255.255.255\ntest s 1.1.1.1\n")
	f.Fuzz(func(t *testing.T, input string) {
		k := New(Options{Clock: clocktesting.NewFakePassiveClock(time.Unix(1000, 0))})
		var stdout, stderr bytes.Buffer
		k.Run([]string{"ipset", "restore", "-exist"}, strings.NewReader(input), &stdout, &stderr)
		var text, again bytes.Buffer
		require.NoError(t, k.SaveSets(&text))
		other := New(Options{Clock: clocktesting.NewFakePassiveClock(time.Unix(1000, 0))})
		require.NoError(t, other.LoadSets("saved", bytes.NewReader(text.Bytes())), text.String())
		require.NoError(t, other.SaveSets(&again))
		require.Equal(t, text.String(), again.String())
	})
}

func BenchmarkSetMatch(b *testing.B) {
	var text strings.Builder
	text.WriteString("create s hash:ip,port\n")
	for i := range 10000 {
		text.WriteString("add s 10.1." + netip.AddrFrom4([4]byte{0, 0, byte(i >> 8), byte(i)}).String()[4:] + ",80\n")
	}
	k, _ := setsOf(b, text.String())
	m, p := &MatchSet{SetRef: setRef("s", "dst", "dst")}, tcpPacket()
	b.ReportAllocs()
	for b.Loop() {
		if !k.Sets().Match(m, p) {
			b.Fatal("not in the set")
		}
	}
}
