//go:build linux

package packetsim

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/chainwalk/chainwalk/fakeipt"
	"github.com/chainwalk/chainwalk/netfilter"
)

// setText makes the sets of setRules.
const setText = `create cwa hash:ip family inet
create cwb hash:net family inet
create cwc hash:ip,port family inet
create cwd bitmap:port range 0-1024
create cwe hash:ip family inet
create cwf hash:net,port family inet
create cwl list:set
create cwi bitmap:ip range 10.77.1.0/24 timeout 0
create cwm bitmap:ip,mac range 10.77.0.0/16 counters
create cwn hash:net,iface
create cwx hash:net,iface
create cwo list:set
add cwa 10.77.1.2
add cwb 10.77.2.0/24
add cwb 10.77.2.2 nomatch
add cwc 10.77.2.2,udp:80
add cwd 80
add cwf 10.77.0.0/16,tcp:80
add cwl cwa
add cwi 10.77.1.2
add cwm 10.77.1.2,02:78:00:00:00:63
add cwm 10.77.2.2,02:78:00:00:00:63
add cwm 10.77.1.3
add cwn 10.77.1.0/24,cwpsc
add cwn 10.77.2.0/24,cwp wildcard
add cwn 10.77.2.3,cwpss nomatch
add cwn 10.77.1.2,physdev:cwpsc
add cwo cwm
add cwo cwi
`

const setRules = traceFirst + `COMMIT
*filter
:FORWARD ACCEPT [0:0]
-A FORWARD -m set --match-set cwa src
-A FORWARD -m set ! --match-set cwa src
-A FORWARD -m set --match-set cwb dst
-A FORWARD -m set --match-set cwb dst --return-nomatch
-A FORWARD -m set --match-set cwc dst,dst
-A FORWARD -m set --match-set cwd dst
-A FORWARD -m set --match-set cwf src,dst
-A FORWARD -m set --match-set cwl src
-A FORWARD -m set --match-set cwe src
-A FORWARD -m set --match-set cwi src
-A FORWARD -m set ! --match-set cwi dst
-A FORWARD -m set --match-set cwm src
-A FORWARD -m set --match-set cwm src,src --packets-gt 1
-A FORWARD -m set --match-set cwm src,dst
-A FORWARD -m set --match-set cwm dst,src
-A FORWARD -m set --match-set cwm dst,dst
-A FORWARD -m set --match-set cwn src,src
-A FORWARD -m set --match-set cwn src,dst
-A FORWARD -m set --match-set cwn dst,dst
-A FORWARD -m set ! --match-set cwn dst,src
-A FORWARD -m set --match-set cwo src,src
-A FORWARD -m set --match-set cwx src,src
-A FORWARD -p udp -m udp --dport 7001 -j SET --add-set cwi dst
-A FORWARD -p udp -m udp --dport 7001 -j SET --add-set cwm src,dst
-A FORWARD -p udp -m udp --dport 7001 -j SET --add-set cwx src,src
-A FORWARD -p udp -m udp --dport 7001 -j SET --add-set cwx dst,dst
-A FORWARD -p udp -m udp --dport 7002 -j SET --del-set cwm src,src
-A FORWARD -p udp -m udp --dport 7002 -j SET --del-set cwi src
-A FORWARD -p udp -m udp --dport 7002 -j SET --del-set cwx dst,dst
-A FORWARD -p udp -m udp --dport 7001 -j SET --add-set cwe src
-A FORWARD -p udp -m udp --dport 7002 -j SET --del-set cwe src
COMMIT
*mangle
:POSTROUTING ACCEPT [0:0]
-A POSTROUTING -m set --match-set cwm src,src
-A POSTROUTING -m set --match-set cwn src,src
-A POSTROUTING -m set --match-set cwn dst,dst
:OUTPUT ACCEPT [0:0]
-A OUTPUT -m set --match-set cwm dst,src
-A OUTPUT -m set --match-set cwn dst,dst
-A OUTPUT -m set --match-set cwn dst,src
:INPUT ACCEPT [0:0]
-A INPUT -m set --match-set cwm src,src
-A INPUT -m set --match-set cwn src,src
-A INPUT -m set --match-set cwn src,dst
:PREROUTING ACCEPT [0:0]
-A PREROUTING -m set --match-set cwn src,src
-A PREROUTING -m set ! --match-set cwm src,src
COMMIT
`

var setPackets = []kernelPacket{
	{place: "client", packet: "udp 10.77.1.2:41001 > 10.77.2.2:80"}, {place: "client", packet: "udp 10.77.1.3:41001 > 10.77.2.3:80"},
	{place: "client", packet: "tcp 10.77.1.2:41001 > 10.77.2.2:80"}, {place: "client", packet: "icmp 10.77.1.2 > 10.77.2.2"},
	{place: "client", packet: "udp 10.77.1.2:41001 > 10.77.2.2:7001"}, {place: "client", packet: "udp 10.77.1.2:41001 > 10.77.2.2:81"},
	{place: "client", packet: "udp 10.77.1.3:41001 > 10.77.2.3:7001"}, {place: "client", packet: "udp 10.77.1.3:41001 > 10.77.2.3:81"},
	{place: "client", packet: "udp 10.77.1.2:41001 > 10.77.1.1:81"}, {place: "server", packet: "udp 10.77.2.2:41001 > 10.77.1.2:81"},
	{place: "server", packet: "udp 10.77.2.3:41001 > 10.77.1.3:81"}, {place: "client", packet: "icmp 10.77.1.2 > 10.77.1.1"},
	{place: "client", packet: "udp 10.77.1.2:41001 > 10.77.2.2:7002"}, {place: "client", packet: "udp 10.77.1.2:41001 > 10.77.2.2:81"},
}

// TestSetsAsKernel compares the walks of rules that look into sets and change them.
func TestSetsAsKernel(t *testing.T) {
	lab := newKernelLab(t)
	lab.places["node"].Feed(setText, "ipset", "restore")
	lab.restore(netfilter.IPv4, emptyRules)
	lab.restore(netfilter.IPv4, setRules)

	host := kernelHost(t, kernelGroup{family: netfilter.IPv4, rules: emptyRules})
	var stdout, stderr bytes.Buffer
	require.Zero(t, fakeipt.First(host.Netfilter()).Run([]string{"ipset", "restore"}, strings.NewReader(setText), &stdout, &stderr),
		stderr.String())
	restoreInto(t, fakeipt.First(host.Netfilter()), netfilter.IPv4, setRules)
	for i, p := range setPackets {
		t.Run(fmt.Sprint(i, " ", p.packet), func(t *testing.T) { lab.in(t).compare(host, p, uint16(0xf000+i)) })
	}
}
