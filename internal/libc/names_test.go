package libc

import (
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestServices(t *testing.T) {
	for _, row := range []struct {
		name  string
		proto uint16
		port  uint16 // 0: there is none
	}{
		{"ssmtp", ProtoTCP, 465}, {"imap2", ProtoTCP, 143}, {"imap", ProtoTCP, 143}, {"qmtp", ProtoTCP, 209}, {"www", ProtoTCP, 80},
		{"www", ProtoUDP, 0}, {"www", 0, 80}, {"amqp", ProtoSCTP, 5672}, {"amqp", ProtoTCP, 5672}, {"rtmp", ProtoTCP, 0}, {"rtmp", 0, 1},
		{"WWW", ProtoTCP, 0}, {"", 0, 0}, {"sink null", ProtoTCP, 0}, {"http", ProtoDCCP, 0},
	} {
		port, ok := Service([]byte(row.name), row.proto)
		assert.Equal(t, row.port != 0, ok, row)
		assert.Equal(t, row.port, port, row)
	}
	assert.Equal(t, "submissions", ServiceName(465, ProtoTCP))
	assert.Equal(t, "https", ServiceName(443, 0))
	assert.Empty(t, ServiceName(443, ProtoSCTP))
}

func TestProtocols(t *testing.T) {
	for word, want := range map[string]int{
		"tcp": 6, "TCP": 6, "Tcp": -1, "IPSEC-ESP": 50, "ipsec-esp": -1, "icmpv6": 58, "mh": 135, "all": 0, "ALL": -1, "IP": 0, "0x11": 17,
		"256": -1, "mptcp": 262, "MPTCP": 262, "CPHB": 73, "": -1,
	} {
		n, ok := Protocol([]byte(word))
		assert.Equal(t, want >= 0, ok, word)
		assert.Equal(t, uint16(max(want, 0)), n, word)
	}
	assert.Equal(t, "ipv6-icmp", ProtocolName(58))
	assert.Equal(t, "mobility-header", ProtocolName(135))
	assert.Empty(t, ProtocolName(0))
	_, ok := ProtocolByName([]byte("icmpv6"))
	assert.False(t, ok, "a name of the tools of iptables alone")
}
