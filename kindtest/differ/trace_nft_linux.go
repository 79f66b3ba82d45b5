package differ

import (
	"encoding/binary"
	"fmt"
	"slices"

	"github.com/vishvananda/netlink/nl"
	"golang.org/x/sys/unix"

	"github.com/chainwalk/chainwalk/fakeipt"
	"github.com/chainwalk/chainwalk/internal/namespace"
)

// Numbers of linux/netfilter/nf_tables.h and nfnetlink.h.
const (
	nftSubsystem  = 10
	nftMsgNewRule = nftSubsystem<<8 | 6
	nftMsgGetRule = nftSubsystem<<8 | 7
	nftMsgTrace   = nftSubsystem<<8 | 17
	nftTraceGroup = 9

	nftaRuleTable  = 1
	nftaRuleChain  = 2
	nftaRuleHandle = 3

	nftaTraceTable   = 1
	nftaTraceChain   = 2
	nftaTraceHandle  = 3
	nftaTraceType    = 4
	nftaTraceID      = 6
	nftaTraceNetwork = 8

	nftTracePolicy = 1
	nftTraceReturn = 2
	nftTraceRule   = 3
)

// nftTracer reads the traces of nf_tables, which name rules by their handles.
type nftTracer struct {
	events, requests int
	numbers          map[string]int // "TABLE:CHAIN:HANDLE" to the rule's place in its chain
	ids              map[uint32]uint32
	buf              []byte
}

func newNFTTracer(node *namespace.Namespace) (*nftTracer, error) {
	t := &nftTracer{ids: map[uint32]uint32{}, buf: make([]byte, 1<<16)}
	var err error
	if t.events, err = node.Socket(unix.AF_NETLINK, unix.SOCK_RAW|unix.SOCK_NONBLOCK, unix.NETLINK_NETFILTER); err != nil {
		return nil, err
	}
	if t.requests, err = node.Socket(unix.AF_NETLINK, unix.SOCK_RAW, unix.NETLINK_NETFILTER); err != nil {
		return nil, err
	}
	if err := unix.SetsockoptInt(t.events, unix.SOL_SOCKET, unix.SO_RCVBUFFORCE, 4<<20); err != nil {
		return nil, fmt.Errorf("trace socket's buffer: %w", err)
	}
	if err := unix.Bind(t.events, &unix.SockaddrNetlink{Family: unix.AF_NETLINK, Groups: 1 << (nftTraceGroup - 1)}); err != nil {
		return nil, fmt.Errorf("trace socket: %w", err)
	}
	return t, nil
}

func (t *nftTracer) close() {
	_ = unix.Close(t.events)
	_ = unix.Close(t.requests)
}

// prepare lists the rules to learn their handles.
func (t *nftTracer) prepare(f fakeipt.Family) error {
	t.numbers, t.ids = map[string]int{}, map[uint32]uint32{}
	request := make([]byte, unix.NLMSG_HDRLEN+4)
	binary.NativeEndian.PutUint32(request, uint32(len(request)))
	binary.NativeEndian.PutUint16(request[4:], nftMsgGetRule)
	binary.NativeEndian.PutUint16(request[6:], unix.NLM_F_REQUEST|unix.NLM_F_DUMP)
	request[16] = unix.AF_INET
	if f == fakeipt.IPv6 {
		request[16] = unix.AF_INET6
	}
	if err := unix.Sendto(t.requests, request, 0, &unix.SockaddrNetlink{Family: unix.AF_NETLINK}); err != nil {
		return fmt.Errorf("listing rules: %w", err)
	}
	last := map[string]int{}
	for {
		n, _, err := unix.Recvfrom(t.requests, t.buf, 0)
		if err != nil {
			return fmt.Errorf("listing rules: %w", err)
		}
		done, err := eachMessage(t.buf[:n], func(kind uint16, attrs map[uint16][]byte) {
			if kind == nftMsgNewRule {
				chain := text(attrs[nftaRuleTable]) + ":" + text(attrs[nftaRuleChain])
				last[chain]++
				t.numbers[fmt.Sprintf("%s:%d", chain, binary.BigEndian.Uint64(attrs[nftaRuleHandle]))] = last[chain]
			}
		})
		if done || err != nil {
			return err
		}
	}
}

// eachMessage calls f with each nfnetlink message; done says that the dump has ended.
func eachMessage(b []byte, f func(kind uint16, attrs map[uint16][]byte)) (done bool, err error) {
	for len(b) >= unix.NLMSG_HDRLEN {
		length, kind := int(binary.NativeEndian.Uint32(b)), binary.NativeEndian.Uint16(b[4:])
		switch {
		case length < unix.NLMSG_HDRLEN || length > len(b):
			return true, fmt.Errorf("netlink message of %d bytes in %d", length, len(b))
		case kind == unix.NLMSG_DONE:
			return true, nil
		case kind == unix.NLMSG_ERROR:
			return true, fmt.Errorf("netlink: %w", unix.Errno(-int32(binary.NativeEndian.Uint32(b[16:]))))
		}
		parsed, err := nl.ParseRouteAttr(b[unix.NLMSG_HDRLEN+4 : length])
		if err != nil {
			return true, err
		}
		attrs := map[uint16][]byte{}
		for _, a := range parsed {
			attrs[a.Attr.Type&nl.NLA_TYPE_MASK] = a.Value
		}
		f(kind, attrs)
		b = b[min(len(b), (length+3)&^3):]
	}
	return false, nil
}

func text(b []byte) string {
	if n := len(b); n > 0 && b[n-1] == 0 {
		b = b[:n-1]
	}
	return string(b)
}

func (t *nftTracer) read() ([]traceLine, error) {
	var lines []traceLine
	for {
		n, _, err := unix.Recvfrom(t.events, t.buf, 0)
		switch err {
		case nil:
		case unix.EAGAIN:
			return lines, nil
		default:
			return nil, fmt.Errorf("trace socket: %w", err)
		}
		_, err = eachMessage(t.buf[:n], func(kind uint16, attrs map[uint16][]byte) {
			if kind != nftMsgTrace {
				return
			}
			if line := t.line(attrs); line.text != "" {
				lines = append(lines, line)
			}
		})
		if err != nil {
			return nil, err
		}
	}
}

// line spells a trace message as stepText does. The packet's header is in the first message of a hook's chain only.
func (t *nftTracer) line(attrs map[uint16][]byte) traceLine {
	trace := binary.BigEndian.Uint32(attrs[nftaTraceID])
	if header := attrs[nftaTraceNetwork]; len(header) >= 20 {
		if header[0]>>4 == 4 {
			t.ids[trace] = uint32(binary.BigEndian.Uint16(header[4:]))
		} else {
			t.ids[trace] = binary.BigEndian.Uint32(header) & 0xfffff
		}
	}
	chain := text(attrs[nftaTraceTable]) + ":" + text(attrs[nftaTraceChain])
	line := traceLine{id: t.ids[trace], group: trace}
	switch binary.BigEndian.Uint32(attrs[nftaTraceType]) {
	case nftTraceRule:
		// Without a handle it is the end of the chain; that of a hook's chain is told by its policy as well.
		if !isHookChain(text(attrs[nftaTraceChain])) {
			line.text = chain + ":return"
		}
		if handle := attrs[nftaTraceHandle]; len(handle) == 8 {
			line.text = fmt.Sprintf("%s:rule:%d", chain, t.numbers[fmt.Sprintf("%s:%d", chain, binary.BigEndian.Uint64(handle))])
		}
	case nftTraceReturn:
		line.text = chain + ":return"
	case nftTracePolicy:
		line.text = chain + ":policy"
	}
	return line
}

// isHookChain is for the names of the built-in chains.
func isHookChain(name string) bool {
	for _, t := range tableHooks {
		if slices.Contains(t.hooks, name) {
			return true
		}
	}
	return false
}
