package nftables_test

import (
	"encoding/binary"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/chainwalk/chainwalk/internal/kerneltest"
	"github.com/chainwalk/chainwalk/internal/nfnetlink"
	"github.com/chainwalk/chainwalk/internal/nftnetlink"
	"github.com/chainwalk/chainwalk/netfilter/nftables"
	"github.com/chainwalk/chainwalk/netfilter/nftables/expr"
)

// oracle is the real kernel's nf_tables of a namespace.
type oracle struct {
	place  *kerneltest.Namespace
	fd     int
	seq    uint32 // of the transaction's first message
	reader *nfnetlink.Socket
}

func newOracle(t *testing.T) *oracle {
	o := &oracle{place: kerneltest.New(t)}
	o.place.Do(func() {
		var err error
		o.fd, err = unix.Socket(unix.AF_NETLINK, unix.SOCK_RAW|unix.SOCK_CLOEXEC, unix.NETLINK_NETFILTER)
		require.NoError(t, err)
		require.NoError(t, unix.SetsockoptInt(o.fd, unix.SOL_NETLINK, unix.NETLINK_EXT_ACK, 1))
		require.NoError(t, unix.SetsockoptInt(o.fd, unix.SOL_NETLINK, unix.NETLINK_CAP_ACK, 1))
		require.NoError(t, unix.SetsockoptInt(o.fd, unix.SOL_SOCKET, unix.SO_RCVBUFFORCE, 8<<20))
		require.NoError(t, unix.SetsockoptInt(o.fd, unix.SOL_SOCKET, unix.SO_SNDBUFFORCE, 8<<20))
		require.NoError(t, unix.Bind(o.fd, &unix.SockaddrNetlink{Family: unix.AF_NETLINK}))
		o.reader, err = nfnetlink.Open()
		require.NoError(t, err)
	})
	t.Cleanup(func() {
		require.NoError(t, unix.Close(o.fd))
		require.NoError(t, o.reader.Close())
	})
	return o
}

func appendHeader(b []byte, kind, flags uint16, seq uint32, family uint8, resource uint16, body []byte) []byte {
	b = binary.NativeEndian.AppendUint32(b, uint32(headers+len(body)))
	b = binary.NativeEndian.AppendUint16(b, kind)
	b = binary.NativeEndian.AppendUint16(b, flags)
	b = binary.NativeEndian.AppendUint32(b, seq)
	b = binary.NativeEndian.AppendUint32(b, 0)
	b = append(b, family, 0)
	b = binary.BigEndian.AppendUint16(b, resource)
	return append(b, body...)
}

// commit sends a transaction.
func (o *oracle) commit(t require.TestingT, changes []nftables.Change) []nftables.Refusal {
	const begin, end = 0x10, 0x11
	o.seq += 1 << 16
	b := appendHeader(nil, begin, unix.NLM_F_REQUEST, o.seq, 0, unix.NFNL_SUBSYS_NFTABLES, nil)
	messages := make([]*message, len(changes))
	for i, c := range changes {
		m := encode(c)
		messages[i] = m
		flags := unix.NLM_F_REQUEST | unix.NLM_F_ACK | m.flags
		b = appendHeader(b, unix.NFNL_SUBSYS_NFTABLES<<8|m.kind, flags, o.seq+uint32(i), uint8(m.family), 0, m.body)
	}
	b = appendHeader(b, end, unix.NLM_F_REQUEST, o.seq+uint32(len(changes)), 0, unix.NFNL_SUBSYS_NFTABLES, nil)
	require.NoError(t, unix.Sendto(o.fd, b, 0, &unix.SockaddrNetlink{Family: unix.AF_NETLINK}))
	var refusals []nftables.Refusal
	buf := make([]byte, 1<<20)
	for seen := 0; seen < len(changes); {
		n, _, err := unix.Recvfrom(o.fd, buf, 0)
		require.NoError(t, err)
		for b := buf[:n]; len(b) >= 16; {
			length := binary.NativeEndian.Uint32(b)
			if seq := binary.NativeEndian.Uint32(b[8:]) - o.seq; seq < 1<<16 {
				seen++
				if r, refused := refusal(b[:length], int(seq), messages); refused {
					refusals = append(refusals, r)
				}
			}
			b = b[(length+3)&^3:]
		}
	}
	slices.SortStableFunc(refusals, func(a, b nftables.Refusal) int { return a.Change - b.Change })
	return refusals
}

// refusal reads an acknowledgement.
func refusal(b []byte, change int, messages []*message) (nftables.Refusal, bool) {
	errno := -int32(binary.NativeEndian.Uint32(b[16:]))
	if errno == 0 {
		return nftables.Refusal{}, false
	}
	r := nftables.Refusal{Change: change, Errno: syscall.Errno(errno)}
	for rest := b[16+4+16:]; len(rest) >= 4; {
		length, typ := binary.NativeEndian.Uint16(rest), binary.NativeEndian.Uint16(rest[2:])
		const offset = 2
		if typ == offset {
			at := binary.NativeEndian.Uint32(rest[4:])
			m, known := messages[r.Change].marks[at]
			if !known {
				panic(fmt.Sprintf("no mark at %d of %v", at, messages[r.Change].marks))
			}
			r.Part, r.Index = m.part, m.index
		}
		rest = rest[(length+3)&^3:]
	}
	return r, true
}

// state is what the kernel holds, in lines.
func (o *oracle) state(t require.TestingT) string {
	r, err := nftnetlink.Read(o.reader, time.Now())
	require.NoError(t, err)
	var b strings.Builder
	slices.SortFunc(r.Tables, func(x, y *nftnetlink.Table) int { return int(x.Handle) - int(y.Handle) })
	for _, table := range r.Tables {
		fmt.Fprintf(&b, "table %s %s flags %d handle %d\n", table.Family, table.Name, table.Flags, table.Handle)
		for _, x := range table.Objects {
			fmt.Fprintf(&b, " object %d %s %d %s\n", x.Type, x.Name, x.Handle, expr.Text(x.Value))
		}
		for _, s := range table.Sets {
			writeSet(&b, &s.SetSpec, s.Handle, s.Elements)
		}
		for _, c := range table.Chains {
			writeChain(&b, &c.ChainSpec, c.Handle, c.Rules)
		}
	}
	// The kernel numbers chains without a name across all namespaces.
	return chainNumber.ReplaceAllString(b.String(), "__chain")
}

var chainNumber = regexp.MustCompile(`__chain\d+`)

// stateOf is the same of ours.
func stateOf(k *nftables.Kernel) string {
	var b strings.Builder
	for _, table := range k.State().Tables() {
		fmt.Fprintf(&b, "table %s %s flags %d handle %d\n", table.Family, table.Name, table.Flags, table.Handle)
		for _, x := range table.Objects() {
			fmt.Fprintf(&b, " object %d %s %d %s\n", x.Type, x.Name, x.Handle, expr.Text(x.Value))
		}
		for _, s := range table.Sets() {
			writeSet(&b, &s.SetSpec, s.Handle, s.Elements(k.Clock().Now()))
		}
		for _, c := range table.Chains() {
			writeChain(&b, &c.ChainSpec, c.Handle, c.Rules)
		}
	}
	return chainNumber.ReplaceAllString(b.String(), "__chain")
}

func writeSet(b *strings.Builder, s *nftables.SetSpec, handle uint64, elements []*nftables.Element) {
	dataLen := s.DataLen
	if s.DataType == nftables.DataVerdict {
		dataLen = 0
	}
	fmt.Fprintf(b, " set %s %d flags %d key %d data %d/%d object %d timeout %s size %d fields %v exprs %s\n", s.Name, handle,
		s.Flags, s.KeyLen, s.DataType, dataLen, s.ObjectType, s.Timeout, s.Size, s.FieldLens, texts(s.Exprs))
	var lines []string
	for _, e := range elements {
		data := ""
		if e.Data != nil {
			data = expr.DataText(e.Data)
		}
		left := ""
		if !e.Deadline.IsZero() {
			left = fmt.Sprint(time.Until(e.Deadline).Round(10 * time.Second))
		}
		lines = append(lines, fmt.Sprintf("  %x-%x flags %d : %s%s timeout %s left %s %q %s\n", e.Key, e.KeyEnd, e.Flags, data, e.Object,
			e.Timeout, left, e.UserData, texts(e.Exprs)))
	}
	slices.Sort(lines)
	b.WriteString(strings.Join(lines, ""))
}

func writeChain(b *strings.Builder, c *nftables.ChainSpec, handle uint64, rules []*nftables.Rule) {
	fmt.Fprintf(b, " chain %s %d", c.Name, handle)
	if h := c.Hooking; h != nil {
		policy := expr.Accept
		if c.Policy != nil {
			policy = *c.Policy
		}
		fmt.Fprintf(b, " type %s hook %d priority %d policy %d", h.Type, h.Hook, h.Priority, policy)
	}
	b.WriteString("\n")
	for _, r := range rules {
		fmt.Fprintf(b, "  %d %s\n", r.Handle, texts(r.Exprs))
	}
}
