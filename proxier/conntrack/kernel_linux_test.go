package conntrack

import (
	"encoding/binary"
	"net/netip"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"github.com/vishvananda/netlink/nl"
	"golang.org/x/sys/unix"
	v1 "k8s.io/api/core/v1"

	"github.com/chainwalk/chainwalk/internal/ctnetlink"
)

// connection is a UDP entry with NAT.
func connection() ctnetlink.Entry {
	client, service, endpoint := netip.MustParseAddr("10.0.9.9"), netip.MustParseAddr("172.30.0.41"), netip.MustParseAddr("10.0.0.1")
	return ctnetlink.Entry{
		Original: ctnetlink.Tuple{Protocol: unix.IPPROTO_UDP, Src: client, Dst: service, SrcPort: 40000, DstPort: 53},
		Reply:    ctnetlink.Tuple{Protocol: unix.IPPROTO_UDP, Src: endpoint, Dst: client, SrcPort: 5353, DstPort: 40000},
		ID:       0xdeadbeef, Status: 0x188, Timeout: 30, Mark: 1,
	}
}

// Deletions are sent with the zone of the reply direction: the kernel looks for the reply tuple in it.
func TestConnectionEntry(t *testing.T) {
	want := Entry{
		Protocol: udp,
		Original: Tuple{Src: netip.MustParseAddrPort("10.0.9.9:40000"), Dst: netip.MustParseAddrPort("172.30.0.41:53")},
		Reply:    Tuple{Src: netip.MustParseAddrPort("10.0.0.1:5353"), Dst: netip.MustParseAddrPort("10.0.9.9:40000")},
		id:       0xdeadbeef,
	}
	for _, zones := range []struct{ both, original, reply, want uint16 }{{}, {both: 7, want: 7}, {reply: 7, want: 7}, {original: 7}} {
		c := connection()
		c.Zone, c.Original.Zone, c.Reply.Zone = zones.both, zones.original, zones.reply
		want.Zone = zones.want
		assert.Equal(t, want, connectionEntry(&c), "%+v", zones)
	}
}

// The original direction is not sent: the kernel would look for it first.
func TestDeletion(t *testing.T) {
	c := connection()
	c.Zone = 7
	e := connectionEntry(&c)
	assert.Equal(t, ctnetlink.Entry{Reply: c.Reply, Zone: 7, ID: c.ID}, deletion(&e))
}

func TestMessageThatIsNoEntry(t *testing.T) {
	require.ErrorIs(t, visitMessage([]byte{1, 2}, func(Entry) { t.Error("visited") }), errMessage)
}

// A list that the kernel broke off may be tried again; no other error is worth that.
func TestListError(t *testing.T) {
	tests := []struct {
		name        string
		err, failed error
		want        error
		interrupted bool
	}{
		{"all is well", nil, nil, nil, false},
		{"the table changed", nl.ErrDumpInterrupted, nil, nl.ErrDumpInterrupted, true},
		{"a signal", unix.EINTR, nil, unix.EINTR, true},
		{"no privilege", unix.EPERM, nil, unix.EPERM, false},
		{"an unknown message", nil, errMessage, errMessage, false},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			err := listError(test.err, test.failed)
			require.ErrorIs(t, err, test.want)
			if test.interrupted {
				require.ErrorIs(t, err, errInterrupted)
			} else {
				require.NotErrorIs(t, err, errInterrupted)
			}
		})
	}
	require.ErrorContains(t, listError(unix.EPERM, nil), "run as root, or with CAP_NET_ADMIN")
}

// answering returns a batch whose answers are these datagrams.
func answering(t *testing.T, datagrams ...[]byte) *batch {
	t.Helper()
	pair, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_DGRAM, 0)
	require.NoError(t, err)
	t.Cleanup(func() {
		for _, socket := range pair {
			assert.NoError(t, unix.Close(socket))
		}
	})
	for _, datagram := range datagrams {
		_, err := unix.Write(pair[1], datagram)
		require.NoError(t, err)
	}
	return &batch{socket: pair[0]}
}

// message is one of netlink.
func message(kind uint16, sequence uint32, data ...byte) []byte {
	m := binary.NativeEndian.AppendUint32(nil, uint32(unix.NLMSG_HDRLEN+len(data)))
	m = binary.NativeEndian.AppendUint16(m, kind)
	m = binary.NativeEndian.AppendUint16(m, 0)
	m = binary.NativeEndian.AppendUint32(m, sequence)
	m = binary.NativeEndian.AppendUint32(m, 0)
	return append(m, data...)
}

// answer is one to a message: 0, or what failed.
func answer(sequence uint32, failure unix.Errno) []byte {
	return message(unix.NLMSG_ERROR, sequence, binary.NativeEndian.AppendUint32(nil, uint32(-int32(failure)))...)
}

// Of five deletions three fail, one of them for an entry that is gone. What is no answer is passed over, in a datagram of its own and
// beside answers.
func TestAnswers(t *testing.T) {
	b := answering(t,
		message(unix.NLMSG_NOOP, 4, 1, 0, 0, 0), message(unix.NLMSG_ERROR, 4),
		append(message(unix.NLMSG_NOOP, 4, 1, 0, 0, 0), answer(0, unix.ENOENT)...), answer(2, unix.EBUSY), answer(3, unix.EPERM), answer(4, 0))
	require.NoError(t, b.readAnswers(5))
	assert.Equal(t, 2, b.deleted)
	require.EqualError(t, b.failed(), "2 could not be deleted, the first: device or resource busy")
}

// The answer to the last deletion of a batch ends it, also if that one failed.
func TestTheLastDeletionFails(t *testing.T) {
	b := answering(t, answer(1, unix.EBUSY), answer(0, 0))
	require.NoError(t, b.readAnswers(2))
	assert.Equal(t, 1, b.deleted)
	require.EqualError(t, b.failed(), "1 could not be deleted, the first: device or resource busy")
}

func TestNoAnswer(t *testing.T) {
	require.ErrorIs(t, answering(t).readAnswers(2), errNoAnswer)
	err := answering(t, answer(0, unix.EPERM)).readAnswers(2)
	require.EqualError(t, err, "reading whether entries are deleted: operation not permitted",
		"without the privilege the kernel answers the first message only")
	require.ErrorIs(t, (&batch{socket: -1}).readAnswers(1), unix.EBADF)
}

func TestAnswerThatIsNoMessage(t *testing.T) {
	err := answering(t, []byte("12345678901234567890")).readAnswers(1)
	require.ErrorIs(t, err, unix.EINVAL)
	require.ErrorContains(t, err, "reading whether entries are deleted: ")
}

func TestDeleteWithoutASocket(t *testing.T) {
	var limit unix.Rlimit
	require.NoError(t, unix.Getrlimit(unix.RLIMIT_NOFILE, &limit))
	none := limit
	none.Cur = 0
	require.NoError(t, unix.Setrlimit(unix.RLIMIT_NOFILE, &none))
	deleted, err := NewKernel().Delete(v1.IPv4Protocol, make([]Entry, 1))
	require.NoError(t, unix.Setrlimit(unix.RLIMIT_NOFILE, &limit))
	require.ErrorIs(t, err, unix.EMFILE)
	assert.ErrorContains(t, err, "opening a netlink socket: ")
	assert.Zero(t, deleted)
}

func TestDeletionsThatCannotBeSent(t *testing.T) {
	b := &batch{socket: -1}
	require.EqualError(t, b.deleteAll(make([]Entry, 2*batchSize)), "sending deletions: bad file descriptor")
	assert.Zero(t, b.deleted)
}
