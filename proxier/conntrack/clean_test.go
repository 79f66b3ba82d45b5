package conntrack

import (
	"errors"
	"fmt"
	"maps"
	"net/netip"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	"pgregory.net/rapid"
)

// memory is a Table in memory.
type memory struct {
	entries []Entry
	// walks and deletes are how often the methods were called.
	walks, deletes int
	// interrupted are how many walks are interrupted after half of the entries.
	interrupted int
	walkError   error
	// keeps are entries that cannot be deleted.
	keeps map[Entry]bool
}

func (m *memory) Walk(family v1.IPFamily, visit func(Entry)) error {
	m.walks++
	for i, e := range m.entries {
		if m.walks <= m.interrupted && i >= (len(m.entries)+1)/2 {
			visit(m.entries[0]) // seen twice
			return fmt.Errorf("walk %d: %w", m.walks, errInterrupted)
		}
		if e.Original.Dst.Addr().Is6() == (family == v1.IPv6Protocol) {
			visit(e)
		}
	}
	return m.walkError
}

func (m *memory) Delete(_ v1.IPFamily, entries []Entry) (deleted int, err error) {
	m.deletes++
	for _, e := range entries {
		at := slices.Index(m.entries, e)
		switch {
		case m.keeps[e]:
			err = errors.New("fault")
		case at >= 0:
			m.entries = slices.Delete(m.entries, at, at+1)
			deleted++
		default:
			err = errors.New("an entry that is not there, or was given twice")
		}
	}
	return deleted, err
}

func addrPort(text string) netip.AddrPort { return netip.MustParseAddrPort(text) }

func backends(texts ...string) Backends {
	set := Backends{}
	for _, text := range texts {
		set[addrPort(text)] = struct{}{}
	}
	return set
}

const (
	tcp  = 6
	udp  = 17
	sctp = 132
)

// entryOf is the entry of a connection whose replies come from another address than it was made to.
func entryOf(protocol uint8, client, dst, replySrc netip.AddrPort) Entry {
	return Entry{Protocol: protocol, Original: Tuple{client, dst}, Reply: Tuple{replySrc, client}}
}

// Every kind of flow to a service: to each of its addresses and its node port, by each protocol, on its port and another one,
// translated to an endpoint that serves, to one that does not, to one that is gone, or not at all.
func TestCleanFlows(t *testing.T) {
	const (
		servicePort, otherPort, nodePort = 8000, 8001, 32000
		client                           = "10.0.9.9:40000"
		serving                          = "10.0.0.1:5000"
	)
	names := map[string]string{"cluster IP": "172.30.0.41", "load balancer IP": "1.2.3.4", "external IP": "192.168.99.11"}
	var f Frontends
	for _, address := range names {
		f.AddService(netip.AddrPortFrom(netip.MustParseAddr(address), servicePort), backends(serving))
	}
	f.AddNodePort(nodePort, backends(serving))

	table := &memory{}
	var want []Entry
	flows := 0
	flow := func(protocol uint8, dst, replySrc string, stale bool) {
		flows++
		e := entryOf(protocol, addrPort(client), addrPort(dst), addrPort(replySrc))
		e.id = uint32(flows)
		table.entries = append(table.entries, e)
		if !stale {
			want = append(want, e)
		}
	}
	for _, protocol := range []uint8{tcp, udp, sctp} {
		for _, endpoint := range []string{serving, "10.0.0.2:5000", "10.0.0.3:5000"} {
			stale := protocol == udp && endpoint != serving
			for _, name := range slices.Sorted(maps.Keys(names)) {
				flow(protocol, fmt.Sprintf("%s:%d", names[name], servicePort), endpoint, stale)
				flow(protocol, fmt.Sprintf("%s:%d", names[name], otherPort), endpoint, false)
			}
			flow(protocol, fmt.Sprintf("192.168.0.2:%d", nodePort), endpoint, stale)
		}
	}
	require.Equal(t, 63, flows)
	for _, name := range slices.Sorted(maps.Keys(names)) {
		for _, port := range []int{servicePort, otherPort} {
			dst := fmt.Sprintf("%s:%d", names[name], port)
			flow(udp, dst, dst, port == servicePort)
		}
	}
	require.Equal(t, 69, flows)

	deleted, err := Clean(table, v1.IPv4Protocol, &f)
	require.NoError(t, err)
	assert.Equal(t, want, table.entries)
	assert.Equal(t, flows-len(want), deleted)
	assert.Equal(t, 2*4+3, deleted)

	deleted, err = Clean(table, v1.IPv4Protocol, &f)
	require.NoError(t, err)
	assert.Zero(t, deleted, "nothing has changed")
	assert.Equal(t, 1, table.deletes)
}

func TestStale(t *testing.T) {
	own := func(a netip.Addr) bool { return a == netip.MustParseAddr("192.168.0.2") }
	tests := []struct {
		name          string
		frontends     func(f *Frontends)
		dst, replySrc string
		stale         bool
	}{
		{"the last endpoint is gone", func(f *Frontends) { f.AddService(addrPort("172.30.0.41:53"), nil) },
			"172.30.0.41:53", "10.0.0.1:53", true},
		{"the last endpoint of a node port is gone", func(f *Frontends) { f.AddNodePort(30053, nil) },
			"192.168.0.2:30053", "10.0.0.1:53", true},
		{"the endpoint's address serves on another port", func(f *Frontends) {
			f.AddService(addrPort("172.30.0.41:53"), backends("10.0.0.1:54"))
		},
			"172.30.0.41:53", "10.0.0.1:53", true},
		{"the same port of another address", func(f *Frontends) { f.AddService(addrPort("172.30.0.41:53"), nil) },
			"172.30.0.42:53", "10.0.0.1:53", false},
		{"the port of another machine that is a node port here", func(f *Frontends) { f.AddNodePort(30053, nil); f.ServesNodePorts = own },
			"203.0.113.9:30053", "203.0.113.9:30053", false},
		{"a node port at an address that serves node ports", func(f *Frontends) { f.AddNodePort(30053, nil); f.ServesNodePorts = own },
			"192.168.0.2:30053", "192.168.0.2:30053", true},
		{"an external IP whose port is another service's node port", func(f *Frontends) {
			f.AddService(addrPort("192.168.99.11:30053"), backends("10.0.0.1:53"))
			f.AddNodePort(30053, backends("10.0.0.2:53"))
		}, "192.168.99.11:30053", "10.0.0.1:53", false},
		{"two services at one address and port", func(f *Frontends) {
			f.AddService(addrPort("192.168.99.11:53"), backends("10.0.0.1:53"))
			f.AddService(addrPort("192.168.99.11:53"), backends("10.0.0.2:53"))
		}, "192.168.99.11:53", "10.0.0.1:53", false},
		{"a deleted service whose address another one has", func(f *Frontends) {
			f.AddService(addrPort("192.168.99.11:53"), backends("10.0.0.1:53"))
			f.AddService(addrPort("192.168.99.11:53"), nil)
		}, "192.168.99.11:53", "10.0.0.1:53", false},
		{"IPv6", func(f *Frontends) { f.AddService(addrPort("[fd00::41]:53"), backends("[fd00:10::1]:53")) },
			"[fd00::41]:53", "[fd00:10::2]:53", true},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			var f Frontends
			test.frontends(&f)
			e := entryOf(udp, addrPort("10.0.9.9:40000"), addrPort(test.dst), addrPort(test.replySrc))
			assert.Equal(t, test.stale, f.stale(&e))
			e.Protocol = tcp
			assert.False(t, f.stale(&e), "TCP")
		})
	}
}

// The given sets stay as they are.
func TestAddServiceCopies(t *testing.T) {
	var f Frontends
	first := backends("10.0.0.1:53")
	f.AddService(addrPort("192.168.99.11:53"), first)
	f.AddService(addrPort("192.168.99.11:53"), backends("10.0.0.2:53"))
	assert.Equal(t, backends("10.0.0.1:53"), first)
	assert.Equal(t, backends("10.0.0.1:53", "10.0.0.2:53"), f.services[addrPort("192.168.99.11:53")])
	f.AddNodePort(30053, backends("10.0.0.2:53"))
	f.AddNodePort(30053, first)
	assert.Equal(t, backends("10.0.0.1:53", "10.0.0.2:53"), f.nodePorts[30053])
}

func staleEntries(n int) []Entry {
	entries := make([]Entry, n)
	for i := range entries {
		client := netip.AddrPortFrom(netip.MustParseAddr("10.0.9.9"), uint16(i+1))
		entries[i] = entryOf(udp, client, addrPort("172.30.0.41:53"), addrPort("10.0.0.1:53"))
	}
	return entries
}

func gone() *Frontends {
	return &Frontends{services: map[netip.AddrPort]Backends{addrPort("172.30.0.41:53"): nil}}
}

func TestCleanTriesAgainWhenInterrupted(t *testing.T) {
	table := &memory{entries: staleEntries(10), interrupted: 4}
	deleted, err := Clean(table, v1.IPv4Protocol, gone())
	require.NoError(t, err)
	assert.Equal(t, 10, deleted)
	assert.Equal(t, 5, table.walks)
}

// A table that never holds still is cleaned as far as it is seen.
func TestCleanTakesWhatItSees(t *testing.T) {
	table := &memory{entries: staleEntries(10), interrupted: 1000}
	deleted, err := Clean(table, v1.IPv4Protocol, gone())
	require.NoError(t, err)
	assert.Equal(t, 5, deleted)
	assert.Equal(t, 5, table.walks)
	assert.Len(t, table.entries, 5)
}

func TestCleanErrors(t *testing.T) {
	table := &memory{entries: staleEntries(3), walkError: errors.New("fault")}
	deleted, err := Clean(table, v1.IPv4Protocol, gone())
	require.EqualError(t, err, "listing IPv4 conntrack entries: fault")
	assert.Zero(t, deleted)
	assert.Zero(t, table.deletes, "a list with an error is no list")

	table = &memory{entries: staleEntries(3)}
	table.keeps = map[Entry]bool{table.entries[1]: true}
	deleted, err = Clean(table, v1.IPv4Protocol, gone())
	require.EqualError(t, err, "deleting 3 stale IPv4 conntrack entries, of which 2 are deleted: fault")
	assert.Equal(t, 2, deleted)
}

func TestCleanWithoutUDPServicesDoesNotList(t *testing.T) {
	table := &memory{entries: staleEntries(3)}
	deleted, err := Clean(table, v1.IPv4Protocol, &Frontends{})
	require.NoError(t, err)
	assert.Zero(t, deleted)
	assert.Zero(t, table.walks)
}

// Exactly those entries are deleted that a service or node port of UDP owns and whose replies come from none of its endpoints.
func TestCleanLaw(t *testing.T) {
	address := rapid.SampledFrom([]netip.Addr{netip.MustParseAddr("172.30.0.1"), netip.MustParseAddr("172.30.0.2"),
		netip.MustParseAddr("192.168.0.2"), netip.MustParseAddr("10.0.0.1"), netip.MustParseAddr("10.0.0.2")})
	at := rapid.Custom(func(t *rapid.T) netip.AddrPort {
		return netip.AddrPortFrom(address.Draw(t, "address"), rapid.Uint16Range(1, 3).Draw(t, "port"))
	})
	set := rapid.MapOfN(at, rapid.Just(struct{}{}), 0, 3)
	rapid.Check(t, func(t *rapid.T) {
		f := Frontends{
			services:  map[netip.AddrPort]Backends{},
			nodePorts: map[uint16]Backends{},
			ServesNodePorts: func(a netip.Addr) bool {
				return a == netip.MustParseAddr("192.168.0.2")
			},
		}
		for range rapid.IntRange(0, 4).Draw(t, "services") {
			f.AddService(at.Draw(t, "service"), set.Draw(t, "endpoints"))
		}
		for range rapid.IntRange(0, 2).Draw(t, "node ports") {
			f.AddNodePort(rapid.Uint16Range(1, 3).Draw(t, "node port"), set.Draw(t, "endpoints"))
		}
		table := &memory{interrupted: rapid.IntRange(0, 4).Draw(t, "interrupted")}
		var want []Entry
		for i := range rapid.IntRange(0, 30).Draw(t, "entries") {
			e := entryOf(rapid.SampledFrom([]uint8{tcp, udp, sctp}).Draw(t, "protocol"), addrPort("10.0.9.9:40000"),
				at.Draw(t, "destination"), at.Draw(t, "reply source"))
			e.id = uint32(i + 1)
			table.entries = append(table.entries, e)
			owner, owned := f.services[e.Original.Dst]
			if !owned && e.Original.Dst.Addr().String() == "192.168.0.2" {
				owner, owned = f.nodePorts[e.Original.Dst.Port()]
			}
			if _, serves := owner[e.Reply.Src]; e.Protocol != udp || !owned || serves {
				want = append(want, e)
			}
		}
		before := len(table.entries)
		deleted, err := Clean(table, v1.IPv4Protocol, &f)
		require.NoError(t, err)
		require.ElementsMatch(t, want, table.entries)
		require.Equal(t, before-len(want), deleted)
	})
}

// A node with a million connections, of which a tenth is stale: without the kernel's part.
func BenchmarkCleanMillion(b *testing.B) {
	const million = 1_000_000
	f := &Frontends{ServesNodePorts: func(netip.Addr) bool { return true }}
	service := func(i int) netip.AddrPort {
		return netip.AddrPortFrom(netip.AddrFrom4([4]byte{172, 30, byte(i >> 8), byte(i)}), 53)
	}
	const services = 10_000
	for i := range services {
		set := Backends{netip.AddrPortFrom(netip.AddrFrom4([4]byte{10, 0, byte(i >> 8), byte(i)}), 53): {}}
		f.AddService(service(i), set)
		f.AddNodePort(uint16(30_000+i%2768), set)
	}
	entries := make([]Entry, million)
	for i := range entries {
		endpoint := netip.AddrPortFrom(netip.AddrFrom4([4]byte{10, 0, byte(i % services >> 8), byte(i % services)}), 53)
		if i%10 == 0 {
			endpoint = addrPort("10.200.0.1:53")
		}
		client := netip.AddrPortFrom(netip.AddrFrom4([4]byte{10, 9, byte(i >> 8), byte(i)}), uint16(i))
		entries[i] = entryOf(udp, client, service(i%services), endpoint)
	}
	table := undeletable{memory{entries: entries}}
	b.ReportAllocs()
	for b.Loop() {
		deleted, err := Clean(&table, v1.IPv4Protocol, f)
		require.NoError(b, err)
		require.Equal(b, million/10, deleted)
	}
}

// undeletable is a Table that says it deletes.
type undeletable struct{ memory }

func (undeletable) Delete(_ v1.IPFamily, entries []Entry) (int, error) { return len(entries), nil }
