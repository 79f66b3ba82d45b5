//go:build linux

package nfnetlink

import (
	"encoding/binary"
	"fmt"
	"net"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/chainwalk/chainwalk/internal/kerneltest"
)

// TestKernelReportsAreOfTheirNamespaceAlone traces packets in two namespaces at once and reads what TRACE says in each.
func TestKernelReportsAreOfTheirNamespaceAlone(t *testing.T) {
	kerneltest.Need(t, "ip", "iptables-legacy", "ip6tables-legacy")
	hosts := map[string]string{"iptables-legacy": "127.0.0.1", "ip6tables-legacy": "::1"}
	sockets := make([]*Socket, 2)
	places := make([]*kerneltest.Namespace, len(sockets))
	for i := range sockets {
		places[i], sockets[i] = traced(t)
	}
	const packets = 20
	for n := range packets {
		for i, place := range places {
			for tool, host := range hosts {
				place.Must(tool + " -t raw -L -n") // which is a while in which the other's packets come
				place.Do(func() {
					c, err := net.Dial("udp", net.JoinHostPort(host, fmt.Sprint(1000*(i+1)+n)))
					require.NoError(t, err)
					_, err = c.Write([]byte{1})
					require.NoError(t, err)
					require.NoError(t, c.Close())
				})
			}
		}
	}
	for i, s := range sockets {
		steps := []string{"raw:OUTPUT:rule:2", "raw:OUTPUT:policy:3", "raw:PREROUTING:policy:1"}
		awaited := len(hosts) * len(steps) * packets
		reports := read(t, s, awaited)
		assert.Len(t, reports, awaited)
		for n, r := range reports {
			header := 20
			if r.Packet[0]>>4 == 6 {
				header = 40
			}
			port := binary.BigEndian.Uint16(r.Packet[header+2:])
			assert.Equal(t, i+1, int(port)/1000, "namespace of %s", r.Prefix)
			step, isStep := r.Step()
			assert.True(t, isStep)
			assert.Equal(t, steps[n%len(steps)], step)
			const loopback = 1
			assert.EqualValues(t, loopback, r.In+r.Out)
		}
	}
}

// traced is a namespace whose UDP packets are traced in the tables raw, and a socket that gets their steps.
func traced(t *testing.T) (*kerneltest.Namespace, *Socket) {
	place := kerneltest.New(t)
	place.Must("ip link set lo up")
	for _, sysctl := range LogSysctls() {
		require.NoError(t, place.SetSysctl(sysctl[0], sysctl[1]))
	}
	for _, tool := range []string{"iptables-legacy", "ip6tables-legacy"} {
		place.Must(tool+" -t raw -A OUTPUT -p udp --dport 1:9999 -j TRACE", tool+" -t raw -A OUTPUT -p udp --dport 1:9999")
	}
	var s *Socket
	place.Do(func() {
		var err error
		s, err = Open()
		require.NoError(t, err)
	})
	t.Cleanup(func() { require.NoError(t, s.Close()) })
	require.NoError(t, s.BindLog(func(Message) error { return nil }))
	return place, s
}

// read reads reports until there are as many as are awaited, and those that are there beside them.
func read(t *testing.T, s *Socket, awaited int) (reports []LogReport) {
	for deadline := time.Now().Add(5 * time.Second); ; {
		_, err := s.Receive(func(m Message) error {
			r, isLog, err := ParseLog(m)
			assert.True(t, isLog)
			reports = append(reports, r)
			return err
		})
		require.NoError(t, err)
		wait := int(time.Until(deadline) / time.Millisecond)
		if len(reports) >= awaited || wait <= 0 {
			return reports
		}
		_, err = unix.Poll([]unix.PollFd{{Fd: int32(s.FD()), Events: unix.POLLIN}}, wait)
		require.NoError(t, err)
	}
}
