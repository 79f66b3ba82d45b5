package conntrack

import (
	"cmp"
	"encoding/binary"
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"syscall"

	"github.com/vishvananda/netlink/nl"
	"golang.org/x/sys/unix"
	v1 "k8s.io/api/core/v1"

	"github.com/chainwalk/chainwalk/internal/ctnetlink"
)

// Kernel is the Table of the network namespace that its methods are called in. They need CAP_NET_ADMIN, and may be called by
// several goroutines.
type Kernel struct {
	// filter are the flags of the kernel's own filter.
	filter uint32
}

// NewKernel returns the kernel's Table.
func NewKernel() Kernel { return Kernel{filter: ctnetlink.FilterProtocol} }

// errMessage says that the kernel sent what this package does not know.
var errMessage = errors.New("unknown conntrack message of the kernel")

// Walk implements Table. The kernel leaves out other protocols than UDP if it can.
func (k Kernel) Walk(family v1.IPFamily, visit func(Entry)) error {
	err := list(family, ctnetlink.AppendProtocolFilter(nil, protocolUDP, k.filter), visit)
	if errors.Is(err, unix.EINVAL) || errors.Is(err, unix.EOPNOTSUPP) {
		err = list(family, nil, visit)
	}
	return err
}

// list asks for all entries that the filter leaves.
func list(family v1.IPFamily, filter []byte, visit func(Entry)) error {
	request := nl.NewNetlinkRequest(ctnetlink.MessageGet, unix.NLM_F_DUMP)
	request.AddData(&nl.Nfgenmsg{NfgenFamily: familyNumber(family), Version: nl.NFNETLINK_V0})
	request.AddRawData(filter)
	var failed error
	err := request.ExecuteIter(unix.NETLINK_NETFILTER, 0, func(message []byte) bool {
		failed = visitMessage(message, visit)
		return failed == nil
	})
	return listError(err, failed)
}

// visitMessage visits the entry of a message of the kernel.
func visitMessage(message []byte, visit func(Entry)) error {
	connection, err := ctnetlink.Parse(message)
	if err != nil {
		return fmt.Errorf("%w: %w", errMessage, err)
	}
	visit(connectionEntry(&connection))
	return nil
}

// listError is what became of a list: the kernel's error, and that of what it sent.
func listError(err, failed error) error {
	if errors.Is(err, nl.ErrDumpInterrupted) || errors.Is(err, unix.EINTR) {
		return fmt.Errorf("%w: %w", errInterrupted, err)
	}
	return withHint(errors.Join(err, failed))
}

// connectionEntry is what matters of a connection. The kernel sends the zone of both directions or that of one.
func connectionEntry(c *ctnetlink.Entry) Entry {
	return Entry{
		Protocol: c.Original.Protocol,
		Original: directionOf(&c.Original),
		Reply:    directionOf(&c.Reply),
		Zone:     c.Zone | c.Reply.Zone,
		id:       c.ID,
	}
}

func directionOf(t *ctnetlink.Tuple) Tuple {
	return Tuple{Src: netip.AddrPortFrom(t.Src, t.SrcPort), Dst: netip.AddrPortFrom(t.Dst, t.DstPort)}
}

// deletion is what the kernel finds an entry by. The reply tuple says that it still leads to the same endpoint: an entry that was
// made anew since it was listed, and leads to another one, stays. The ID says that it is not a connection that the endpoint itself
// has made since.
func deletion(e *Entry) ctnetlink.Entry {
	return ctnetlink.Entry{Reply: tupleOf(e.Protocol, e.Reply), Zone: e.Zone, ID: e.id}
}

func tupleOf(protocol uint8, t Tuple) ctnetlink.Tuple {
	return ctnetlink.Tuple{
		Protocol: protocol,
		Src:      t.Src.Addr(), SrcPort: t.Src.Port(),
		Dst: t.Dst.Addr(), DstPort: t.Dst.Port(),
	}
}

func familyNumber(family v1.IPFamily) uint8 {
	if family == v1.IPv6Protocol {
		return unix.AF_INET6
	}
	return unix.AF_INET
}

// withHint says what to do about an error.
func withHint(err error) error {
	if errors.Is(err, unix.EPERM) {
		return fmt.Errorf("%w: run as root, or with CAP_NET_ADMIN", err)
	}
	return err
}

// batchSize is how many deletions go to the kernel at once. It answers each one that fails, before the call that sends them
// returns: that many answers must fit into the buffer of the socket, 208 KiB by default, of which each takes less than one.
const batchSize = 128

// Delete implements Table. Many deletions are sent as one datagram, of which the last asks for an answer. The kernel answers
// the others only if they fail.
func (k Kernel) Delete(family v1.IPFamily, entries []Entry) (deleted int, err error) {
	socket, err := nl.Subscribe(unix.NETLINK_NETFILTER)
	if err != nil {
		return 0, fmt.Errorf("opening a netlink socket: %w", err)
	}
	defer socket.Close()
	b := batch{socket: socket.GetFd(), family: familyNumber(family)}
	err = b.deleteAll(entries)
	return b.deleted, withHint(err)
}

// batch sends deletions and reads the answers.
type batch struct {
	socket int // its descriptor
	family uint8
	buffer []byte
	// answers holds one datagram; the kernel sends each answer in one of its own.
	answers [4096]byte

	deleted, failures int
	firstFailure      error
}

// failed is the error about entries that could not be deleted.
func (b *batch) failed() error {
	if b.failures == 0 {
		return nil
	}
	return fmt.Errorf("%d could not be deleted, the first: %w", b.failures, b.firstFailure)
}

// deleteAll deletes entries in batches.
func (b *batch) deleteAll(entries []Entry) error {
	for some := range slices.Chunk(entries, batchSize) {
		if err := b.delete(some); err != nil {
			return err
		}
	}
	return b.failed()
}

// delete deletes a batch of entries. Its error is one of the socket.
func (b *batch) delete(entries []Entry) error {
	b.buffer = b.buffer[:0]
	for i := range entries {
		request := ctnetlink.Request{Type: ctnetlink.MessageDelete, Sequence: uint32(i), Family: b.family}
		if i == len(entries)-1 {
			request.Flags = unix.NLM_F_ACK
		}
		stale := deletion(&entries[i])
		b.buffer = request.Append(b.buffer, &stale)
	}
	if err := ignoringEINTR(func() error {
		return unix.Sendto(b.socket, b.buffer, 0, &unix.SockaddrNetlink{})
	}); err != nil {
		return fmt.Errorf("sending deletions: %w", err)
	}
	return b.readAnswers(len(entries))
}

// errNoAnswer says that the kernel answers in another way than this package knows.
var errNoAnswer = errors.New("the kernel does not answer")

// readAnswers reads what the kernel says of the messages of a batch, up to the answer to the last one. All answers are there
// when the batch is sent. Without the privilege, the kernel answers the first message and leaves it at that.
func (b *batch) readAnswers(messages int) error {
	deleted := messages
	for {
		var n int
		if err := ignoringEINTR(func() (err error) {
			n, _, err = unix.Recvfrom(b.socket, b.answers[:], unix.MSG_DONTWAIT)
			return err
		}); err != nil {
			if errors.Is(err, unix.EAGAIN) {
				err = cmp.Or(b.firstFailure, errNoAnswer)
			}
			return fmt.Errorf("reading whether entries are deleted: %w", err)
		}
		answers, err := syscall.ParseNetlinkMessage(b.answers[:n])
		if err != nil {
			return fmt.Errorf("reading whether entries are deleted: %w", err)
		}
		for _, m := range answers {
			if m.Header.Type != unix.NLMSG_ERROR || len(m.Data) < 4 {
				continue
			}
			if answer := unix.Errno(-int32(binary.NativeEndian.Uint32(m.Data))); answer != 0 {
				deleted--
				b.note(answer)
			}
			if m.Header.Seq == uint32(messages-1) {
				b.deleted += deleted
				return nil
			}
		}
	}
}

// note takes the failure of one deletion into account. That an entry is gone already is none.
func (b *batch) note(failure unix.Errno) {
	if failure == unix.ENOENT {
		return
	}
	if b.failures++; b.firstFailure == nil {
		b.firstFailure = failure
	}
}

// ignoringEINTR calls again what a signal has interrupted.
func ignoringEINTR(call func() error) error {
	for {
		if err := call(); !errors.Is(err, unix.EINTR) {
			return err
		}
	}
}
