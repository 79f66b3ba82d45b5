package packetsim_test

import (
	"fmt"
	"io"
	"net/netip"
	"os"
	"strings"

	"github.com/chainwalk/chainwalk/fakeipt"
	"github.com/chainwalk/chainwalk/packetsim"
	"github.com/chainwalk/chainwalk/packetsim/inet"
)

const exampleRules = `*nat
:PREROUTING ACCEPT [0:0]
:SVC - [0:0]
-A PREROUTING -d 10.96.0.1/32 -p tcp -m tcp --dport 80 -j SVC
-A SVC -p tcp -m statistic --mode random --probability 0.5 -j DNAT --to-destination 10.244.0.12:8080
-A SVC -p tcp -j DNAT --to-destination 10.244.0.13:8080
COMMIT
`

func exampleHost() (*packetsim.Host, error) {
	kernel := fakeipt.New(fakeipt.Options{})
	kernel.Run([]string{"iptables-restore"}, strings.NewReader(exampleRules), io.Discard, os.Stderr)
	return packetsim.NewHost(packetsim.HostConfig{
		Name: "node",
		Devices: []packetsim.Device{
			{Name: "veth1", Up: true, Addresses: []packetsim.Address{{Prefix: netip.MustParsePrefix("10.244.0.1/24")}}},
		},
		Sysctls:   map[string]string{"net.ipv4.ip_forward": "1"},
		Netfilter: kernel.Namespace(),
	})
}

func ExampleHost_Walk() {
	host, err := exampleHost()
	if err != nil {
		panic(err)
	}
	in, err := inet.ParseInput("tcp 10.244.0.11:40000 > 10.96.0.1:80 in veth1")
	if err != nil {
		panic(err)
	}
	outcomes, err := host.Walk(in)
	if err != nil {
		panic(err)
	}
	for _, o := range outcomes {
		fmt.Println(o.Probability, o.Verdict, o.To, o.DNAT, o.Steps)
	}
	// Output:
	// 0.5 accept forward 10.244.0.12:8080 [nat:PREROUTING:rule:1 nat:SVC:rule:1 nat:POSTROUTING:policy:1]
	// 0.5 accept forward 10.244.0.13:8080 [nat:PREROUTING:rule:1 nat:SVC:rule:2 nat:POSTROUTING:policy:1]
}

func ExampleHost_Step() {
	host, err := exampleHost()
	if err != nil {
		panic(err)
	}
	in, err := inet.ParseInput("tcp 10.244.0.11:40000 > 10.96.0.1:80 in veth1")
	if err != nil {
		panic(err)
	}
	if _, err := host.Step(in, packetsim.SeededChance(1)); err != nil {
		panic(err)
	}
	for _, e := range host.Conntrack() {
		fmt.Println(e.State, e.Original.Dst, "is answered by", e.Reply.Src)
	}
	// Output:
	// SYN_SENT 10.96.0.1 is answered by 10.244.0.13
}
