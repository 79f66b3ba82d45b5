package ipset

import (
	"fmt"
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

func TestChangesAreSeenInTheOverlayOnly(t *testing.T) {
	const text = "create ip hash:ip timeout 10 counters\nadd ip 10.1.0.2 timeout 5 packets 1 bytes 60\n" +
		"create net hash:net\nadd net 10.0.0.0/24\nadd net 10.0.0.0/8\ncreate list list:set\nadd list ip\n"
	count := func(set string) func(*Overlay) {
		return func(o *Overlay) { assert.True(t, o.Match(&Query{Ref: setRef(set, "dst")}, tcpPacket())) }
	}
	apply := func(c Change) func(*Overlay) { return func(o *Overlay) { o.Apply(&c, tcpPacket()) } }
	const added = "add ip 10.0.0.1 timeout 10 packets 0 bytes 0\nadd ip 10.1.0.2 timeout 5 packets 1 bytes 60\n"
	const counted = "packets 2 bytes 120"
	for name, row := range map[string]struct {
		change func(*Overlay)
		with   string // what the saved sets hold once it is committed; "" if they are as they were
	}{
		"a new entry": {apply(Change{Add: setRef("ip", "src")}), added},
		"an entry with another timeout": {apply(Change{Add: setRef("ip", "dst"), Exist: true, HasTimeout: true, Timeout: 9}),
			"add ip 10.1.0.2 timeout 9 packets 0 bytes 0"},
		"an entry that is there":          {apply(Change{Add: setRef("ip", "dst"), HasTimeout: true, Timeout: 9}), ""},
		"a net that goes":                 {apply(Change{Del: setRef("net", "src")}), "initval 0x25999158\nadd net 10.0.0.0/8\ncreate list"},
		"a net that comes":                {apply(Change{Add: setRef("net", "dst")}), "add net 10.1.0.0/24"},
		"an entry that comes and goes":    {apply(Change{Add: setRef("ip", "src"), Del: setRef("ip", "src")}), ""},
		"an entry that is not there goes": {apply(Change{Del: setRef("ip", "src")}), ""},
		"counters":                        {count("ip"), counted},
		"counters in a set":               {count("list"), counted},
		"counters of a new entry": {func(o *Overlay) {
			o.Apply(&Change{Add: setRef("ip", "src")}, tcpPacket())
			assert.True(t, o.Match(&Query{Ref: setRef("ip", "src")}, tcpPacket()))
		}, "add ip 10.0.0.1 timeout 10 packets 1 bytes 60"},
	} {
		t.Run(name, func(t *testing.T) {
			sets, _ := setsOf(t, text)
			before := saved(t, sets)
			o := sets.Overlay()
			row.change(o)
			assert.Equal(t, before, saved(t, sets))
			over := o.Overlay()
			row.change(over)
			assert.Equal(t, before, saved(t, sets))
			o.Commit()
			if row.with == "" {
				assert.Equal(t, before, saved(t, sets))
				return
			}
			assert.NotEqual(t, before, saved(t, sets))
			assert.Contains(t, saved(t, sets), row.with)
		})
	}
}

func TestCommitKeepsWhatOthersDid(t *testing.T) {
	sets, _ := setsOf(t, "create s hash:ip counters\nadd s 10.0.0.1\nadd s 10.1.0.2\nadd s 10.9.0.1\n")
	o := sets.Overlay()
	assert.True(t, o.Match(&Query{Ref: setRef("s", "src")}, tcpPacket()))
	o.Apply(&Change{Del: setRef("s", "dst")}, tcpPacket())
	count(sets, &Query{Ref: setRef("s", "src")}, tcpPacket())
	require.NoError(t, testTool(sets, "add s 10.2.0.1\ndel s 10.1.0.2\ndel s 10.9.0.1\n").Load())
	o.Commit()
	assert.Contains(t, saved(t, sets), "\nadd s 10.2.0.1 packets 0 bytes 0\nadd s 10.0.0.1 packets 2 bytes 120\n")
	assert.Equal(t, 2, strings.Count(saved(t, sets), "\nadd "))
}

func TestFrozenSetsWait(t *testing.T) {
	sets, _ := setsOf(t, "create s hash:ip\n")
	frozen, thaw := sets.Freeze()
	added := make(chan error)
	go func() { added <- testTool(sets, "add s 10.0.0.1\n").Load() }()
	o := frozen.Overlay()
	for range 100 {
		assert.False(t, o.Match(&Query{Ref: setRef("s", "src")}, tcpPacket()))
		o.Overlay().Commit()
	}
	thaw()
	require.NoError(t, <-added)
	assert.True(t, holds(sets, setRef("s", "src"), tcpPacket()))
}

const lawSets = `create ip hash:ip timeout 4 counters maxelem 3
create net hash:net timeout 0 counters maxelem 4
add net 10.0.0.0/24 timeout 6
add net 10.0.1.0/26 nomatch
create pair hash:ip,port
create list list:set counters
add list net
add list ip
`

// TestOverlaysAreSnapshots: sets under overlays that are committed or dropped are what sets are that are copied before each overlay
// and changed in place, the copy taking their place where one is dropped; and every packet finds the same on its way.
func TestOverlaysAreSnapshots(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		sets, clock := setsOf(t, lawSets)
		plain := copyOf(sets)
		var overlays []*Overlay
		var before []*Table
		top := func() (o *Overlay, kept func()) {
			if len(overlays) > 0 {
				return overlays[len(overlays)-1], func() {}
			}
			o = sets.Overlay()
			return o, o.Commit
		}
		rt.Repeat(map[string]func(*rapid.T){
			"match": func(rt *rapid.T) {
				m := &Query{Ref: lawRef(rt), Packets: Counter{Op: rapid.SampledFrom([]CounterOp{CounterAny, CounterGT}).Draw(rt, "op"), Value: 2},
					KeepCounters: rapid.Bool().Draw(rt, "keep"), KeepSubcounters: rapid.Bool().Draw(rt, "keep below")}
				p := lawPacket(rt)
				o, kept := top()
				require.Equal(rt, count(plain, m, p), o.Match(m, p))
				kept()
			},
			"apply": func(rt *rapid.T) {
				c, p := &Change{Exist: rapid.Bool().Draw(rt, "exist")}, lawPacket(rt)
				if rapid.Bool().Draw(rt, "add") {
					c.Add = lawRef(rt)
				}
				if rapid.Bool().Draw(rt, "del") {
					c.Del = lawRef(rt)
				}
				o, kept := top()
				o.Apply(c, p)
				kept()
				apply(plain, c, p)
			},
			"begin": func(*rapid.T) {
				o := sets.Overlay()
				if n := len(overlays); n > 0 {
					o = overlays[n-1].Overlay()
				}
				overlays, before = append(overlays, o), append(before, copyOf(plain))
			},
			"end": func(rt *rapid.T) {
				last := len(overlays) - 1
				if last < 0 {
					rt.Skip("no overlay")
				}
				if rapid.Bool().Draw(rt, "commit") {
					overlays[last].Commit()
				} else {
					plain = before[last]
				}
				overlays, before = overlays[:last], before[:last]
			},
			"wait": func(rt *rapid.T) {
				clock.SetTime(clock.Now().Add(time.Duration(rapid.IntRange(1, 3).Draw(rt, "seconds")) * time.Second))
			},
			"": func(rt *rapid.T) {
				if len(overlays) == 0 {
					require.Equal(rt, saved(t, plain), saved(t, sets))
				} else {
					require.Equal(rt, saved(t, before[0]), saved(t, sets))
				}
			},
		})
	})
}

// copyOf is a copy, which is made as the state of the tools is kept.
func copyOf(sets *Table) *Table {
	c := NewTable(sets.clock)
	if err := c.ReadState(sets.AppendState(nil)); err != nil {
		panic(err)
	}
	return c
}

func lawRef(rt *rapid.T) Ref {
	set := rapid.SampledFrom([]string{"ip", "net", "pair", "list"}).Draw(rt, "set")
	return setRef(set, rapid.SampledFrom([]string{"src", "dst"}).Draw(rt, "side"), "dst")
}

func lawPacket(rt *rapid.T) *Packet {
	p := tcpPacket()
	p.Src = netip.MustParseAddr(fmt.Sprintf("10.0.0.%d", rapid.IntRange(1, 5).Draw(rt, "src")))
	p.Dst = netip.MustParseAddr(fmt.Sprintf("10.0.%d.%d", rapid.IntRange(0, 1).Draw(rt, "net"), rapid.IntRange(1, 80).Draw(rt, "dst")))
	return p
}
