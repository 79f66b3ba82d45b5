//go:build linux

package conntrack

import (
	"fmt"
	"net"
	"net/netip"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"github.com/vishvananda/netlink/nl"
	"golang.org/x/sys/unix"
	v1 "k8s.io/api/core/v1"

	"github.com/chainwalk/chainwalk/internal/ctnetlink"
	"github.com/chainwalk/chainwalk/internal/kerneltest"
)

// create makes entries in the kernel, of which the reply direction is as if they were translated. They live for an hour.
func create(t testing.TB, entries []Entry) {
	t.Helper()
	socket, err := nl.Subscribe(unix.NETLINK_NETFILTER)
	require.NoError(t, err)
	defer socket.Close()
	for chunk := range slices.Chunk(entries, batchSize) {
		var sent []byte
		for i := range chunk {
			e := &chunk[i]
			request := ctnetlink.Request{
				Type: ctnetlink.MessageNew, Flags: unix.NLM_F_CREATE | unix.NLM_F_EXCL, Sequence: uint32(i), Family: familyNumber(familyOf(e)),
			}
			if i == len(chunk)-1 {
				request.Flags |= unix.NLM_F_ACK
			}
			made := deletion(e)
			made.Original = tupleOf(e.Protocol, e.Original)
			made.Status, made.Timeout = ctnetlink.StatusConfirmed, uint32(time.Hour/time.Second)
			sent = request.Append(sent, &made)
		}
		require.NoError(t, unix.Sendto(socket.GetFd(), sent, 0, &unix.SockaddrNetlink{Family: unix.AF_NETLINK}))
		b := batch{socket: socket.GetFd()}
		require.NoError(t, b.readAnswers(len(chunk)))
		require.NoError(t, b.failed())
	}
}

func familyOf(e *Entry) v1.IPFamily {
	if e.Original.Dst.Addr().Is6() {
		return v1.IPv6Protocol
	}
	return v1.IPv4Protocol
}

// walked lists the table, without the numbers of entries.
func walked(t testing.TB, k Kernel, family v1.IPFamily) (entries []Entry) {
	t.Helper()
	require.NoError(t, k.Walk(family, func(e Entry) {
		assert.NotZero(t, e.id)
		e.id = 0
		entries = append(entries, e)
	}))
	return entries
}

// few are entries of each family: UDP with and without a zone, and SCTP.
func few(family v1.IPFamily) (udpEntries, others []Entry) {
	client, service, endpoint := "10.0.9.9", "172.30.0.41", "10.0.0.1"
	if family == v1.IPv6Protocol {
		client, service, endpoint = "fd00:9::9", "fd00::41", "fd00:10::1"
	}
	entry := func(protocol uint8, port, zone uint16) Entry {
		e := entryOf(protocol, netip.AddrPortFrom(netip.MustParseAddr(client), port), netip.AddrPortFrom(netip.MustParseAddr(service), 53),
			netip.AddrPortFrom(netip.MustParseAddr(endpoint), 5353))
		e.Zone = zone
		return e
	}
	for port := range uint16(5) {
		udpEntries = append(udpEntries, entry(udp, 40000+port, 0))
		others = append(others, entry(sctp, 40000+port, 0))
	}
	return append(udpEntries, entry(udp, 40000, 7)), others
}

var bothFamilies = []v1.IPFamily{v1.IPv4Protocol, v1.IPv6Protocol}

func TestKernelWalkAndDelete(t *testing.T) {
	kerneltest.Enter(t)
	for _, family := range bothFamilies {
		udpEntries, others := few(family)
		create(t, udpEntries)
		create(t, others)
	}
	for _, family := range bothFamilies {
		udpEntries, others := few(family)
		assert.ElementsMatch(t, udpEntries, walked(t, NewKernel(), family), "the kernel filters")
		all := append(slices.Clone(udpEntries), others...)
		assert.ElementsMatch(t, all, walked(t, Kernel{filter: 1 << 31}, family), "a kernel that refuses the filter")

		deleted, err := NewKernel().Delete(family, udpEntries[:3])
		require.NoError(t, err)
		assert.Equal(t, 3, deleted)
		assert.ElementsMatch(t, udpEntries[3:], walked(t, NewKernel(), family))
		deleted, err = NewKernel().Delete(family, udpEntries)
		require.NoError(t, err, "some are gone already")
		assert.Equal(t, 3, deleted)
		assert.ElementsMatch(t, others, walked(t, Kernel{filter: 1 << 31}, family))
	}
}

// An entry that was made anew since the list stays if it leads to another endpoint, which may serve, or is the endpoint's own.
func TestKernelDeletesTheListedEntryOnly(t *testing.T) {
	ns := kerneltest.Enter(t, "conntrack")
	entries, _ := few(v1.IPv4Protocol)
	old := entries[0]
	young := old
	young.Reply.Src = addrPort("10.0.0.2:5353")
	own := Entry{Protocol: udp, Original: old.Reply, Reply: Tuple{Src: old.Reply.Dst, Dst: old.Reply.Src}}
	for _, successor := range []Entry{young, own} {
		create(t, []Entry{old})
		var listed []Entry
		require.NoError(t, NewKernel().Walk(v1.IPv4Protocol, func(e Entry) { listed = append(listed, e) }))
		require.Len(t, listed, 1)
		ns.Must("conntrack -D -p udp")
		create(t, []Entry{successor})
		deleted, err := NewKernel().Delete(v1.IPv4Protocol, listed)
		require.NoError(t, err)
		assert.Zero(t, deleted)
		assert.Equal(t, []Entry{successor}, walked(t, NewKernel(), v1.IPv4Protocol))
		ns.Must("conntrack -D -p udp")
	}
}

// More entries are gone than the answers of one datagram would fit into a socket.
func TestKernelDeleteManyThatAreGone(t *testing.T) {
	kerneltest.Enter(t)
	deleted, err := NewKernel().Delete(v1.IPv4Protocol, staleEntries(10_000))
	require.NoError(t, err)
	assert.Zero(t, deleted)
}

func TestKernelNeedsPrivileges(t *testing.T) {
	kerneltest.Enter(t)
	var walkError, deleteError error
	kerneltest.WithoutNetAdmin(t, func() {
		walkError = NewKernel().Walk(v1.IPv4Protocol, func(Entry) {})
		_, deleteError = NewKernel().Delete(v1.IPv4Protocol, staleEntries(3))
	})
	for _, err := range []error{walkError, deleteError} {
		require.ErrorIs(t, err, unix.EPERM)
		require.ErrorContains(t, err, "run as root, or with CAP_NET_ADMIN")
	}
}

// An entry that the kernel cannot even look for is an error, and the others go all the same.
func TestKernelDeletesTheOthers(t *testing.T) {
	kerneltest.Enter(t)
	entries, _ := few(v1.IPv4Protocol)
	foreign, _ := few(v1.IPv6Protocol)
	create(t, entries)
	deleted, err := NewKernel().Delete(v1.IPv4Protocol, slices.Concat(entries[:2], foreign[:1], entries[2:]))
	require.EqualError(t, err, "1 could not be deleted, the first: invalid argument")
	assert.Equal(t, len(entries), deleted)
	assert.Empty(t, walked(t, NewKernel(), v1.IPv4Protocol))
}

func TestKernelDeleteClosesItsSocket(t *testing.T) {
	kerneltest.Enter(t)
	open := func() int {
		descriptors, err := os.ReadDir("/proc/self/fd")
		require.NoError(t, err)
		return len(descriptors)
	}
	before := open()
	for range 50 {
		_, err := NewKernel().Delete(v1.IPv4Protocol, staleEntries(1))
		require.NoError(t, err)
	}
	assert.Less(t, open(), before+50)
}

// A client that goes on sending gets to the new endpoint after Clean, and not before.
func TestKernelClientReachesTheNewEndpoint(t *testing.T) {
	ns := kerneltest.Enter(t, "iptables")
	ns.Must("ip addr add 10.0.0.1/32 dev lo", "ip addr add 10.0.0.2/32 dev lo", "ip route add 172.30.0.0/16 dev lo")
	old, young := listen(t, "10.0.0.1:5353"), listen(t, "10.0.0.2:5353")
	client, err := net.DialUDP("udp", nil, &net.UDPAddr{IP: net.IPv4(172, 30, 0, 41), Port: 53})
	require.NoError(t, err)
	defer func() { _ = client.Close() }()
	send := func(to *net.UDPConn, text string) {
		t.Helper()
		_, err := client.Write([]byte(text))
		require.NoError(t, err)
		require.NoError(t, to.SetReadDeadline(time.Now().Add(10*time.Second)))
		var got [16]byte
		n, _, err := to.ReadFrom(got[:])
		require.NoError(t, err, text)
		assert.Equal(t, text, string(got[:n]))
	}
	dnat := func(change, endpoint string) {
		ns.Must("iptables -w -t nat " + change + " OUTPUT -d 172.30.0.41 -p udp --dport 53 -j DNAT --to-destination " + endpoint)
	}
	frontends := &Frontends{}
	frontends.AddService(addrPort("172.30.0.41:53"), backends("10.0.0.1:5353"))
	dnat("-A", "10.0.0.1:5353")
	send(old, "first")
	deleted, err := Clean(NewKernel(), v1.IPv4Protocol, frontends)
	require.NoError(t, err)
	assert.Zero(t, deleted)

	dnat("-D", "10.0.0.1:5353")
	dnat("-A", "10.0.0.2:5353")
	send(old, "stale")
	frontends = &Frontends{}
	frontends.AddService(addrPort("172.30.0.41:53"), backends("10.0.0.2:5353"))
	deleted, err = Clean(NewKernel(), v1.IPv4Protocol, frontends)
	require.NoError(t, err)
	assert.Equal(t, 1, deleted)
	send(young, "fresh")
}

func listen(t *testing.T, address string) *net.UDPConn {
	conn, err := net.ListenUDP("udp", net.UDPAddrFromAddrPort(addrPort(address)))
	require.NoError(t, err)
	t.Cleanup(func() { _ = conn.Close() })
	return conn
}

// A hundred thousand stale entries among others are found and deleted. The time is printed.
func TestKernelHundredThousandStaleEntries(t *testing.T) {
	ns := kerneltest.Enter(t, "conntrack")
	const stale, kept = 100_000, 5_000
	var entries []Entry
	for i := range stale + kept {
		client := netip.AddrPortFrom(netip.AddrFrom4([4]byte{10, 9, byte(i >> 16), byte(i >> 8)}), uint16(i&255+40000))
		e := entryOf(udp, client, addrPort("172.30.0.41:53"), addrPort("10.0.0.1:53"))
		if i >= stale {
			e.Reply.Src = addrPort("10.0.0.2:53")
		}
		entries = append(entries, e)
	}
	create(t, entries)
	frontends := &Frontends{}
	frontends.AddService(addrPort("172.30.0.41:53"), backends("10.0.0.2:53"))
	start, busy := time.Now(), processorTime(t)
	deleted, err := Clean(NewKernel(), v1.IPv4Protocol, frontends)
	took, used := time.Since(start), processorTime(t)-busy
	require.NoError(t, err)
	assert.Equal(t, stale, deleted)
	assert.Equal(t, fmt.Sprint(kept), strings.TrimSpace(ns.Must("conntrack -C")))
	t.Logf("%d of %d entries were stale and are deleted after %s, %s of it on a processor",
		stale, stale+kept, took.Round(time.Millisecond), used.Round(time.Millisecond))
}

// processorTime is what this process has used, in the kernel too.
func processorTime(t *testing.T) time.Duration {
	var usage unix.Rusage
	require.NoError(t, unix.Getrusage(unix.RUSAGE_SELF, &usage))
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
}
