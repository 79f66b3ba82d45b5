package knft_test

import (
	"context"
	"fmt"
	"log"
	"net/netip"

	"sigs.k8s.io/knftables"

	"github.com/chainwalk/chainwalk/fakenft"
	"github.com/chainwalk/chainwalk/fakenft/knft"
	"github.com/chainwalk/chainwalk/packetsim"
	"github.com/chainwalk/chainwalk/packetsim/inet"
)

// writeService is the code to be tested: it takes the library's interface, and does not know who is behind it.
func writeService(ctx context.Context, nft knftables.Interface) error {
	tx := nft.NewTransaction()
	tx.Add(&knftables.Table{})
	tx.Add(&knftables.Chain{
		Name:     "prerouting",
		Type:     knftables.PtrTo(knftables.NATType),
		Hook:     knftables.PtrTo(knftables.PreroutingHook),
		Priority: knftables.PtrTo(knftables.DNATPriority),
	})
	tx.Add(&knftables.Chain{Name: "web"})
	tx.Add(&knftables.Map{Name: "services", Type: "ipv4_addr . inet_proto . inet_service : verdict"})
	tx.Add(&knftables.Rule{Chain: "prerouting", Rule: "ip daddr . meta l4proto . th dport vmap @services"})
	tx.Add(&knftables.Rule{
		Chain: "web",
		Rule:  "meta l4proto tcp dnat to numgen random mod 2 map { 0 : 10.244.0.12 . 8080, 1 : 10.244.0.13 . 8080 }",
	})
	tx.Add(&knftables.Element{Map: "services", Key: []string{"10.96.0.1", "tcp", "80"}, Value: []string{"goto web"}})
	return nft.Run(ctx, tx)
}

func ExampleNew() {
	tools := fakenft.New(fakenft.Options{})
	nft, err := knft.New(tools.Exec(), knftables.IPv4Family, "demo")
	if err != nil {
		log.Fatal(err)
	}
	if err := writeService(context.Background(), nft); err != nil {
		log.Fatal(err)
	}
	host, err := packetsim.NewHost(packetsim.HostConfig{
		Devices: []packetsim.Device{
			{Name: "veth1", Up: true, Addresses: []packetsim.Address{{Prefix: netip.MustParsePrefix("10.244.0.1/24")}}},
		},
		Sysctls:   map[string]string{"net.ipv4.ip_forward": "1"},
		Netfilter: tools.Namespace(),
	})
	if err != nil {
		log.Fatal(err)
	}
	in, err := inet.ParseInput("tcp 10.244.0.11:40000 > 10.96.0.1:80 in veth1")
	if err != nil {
		log.Fatal(err)
	}
	outcomes, err := host.Walk(in)
	if err != nil {
		log.Fatal(err)
	}
	for _, o := range outcomes {
		fmt.Println(o.Probability, o.Verdict, o.DNAT)
	}
	// Output:
	// 0.5 accept 10.244.0.12:8080
	// 0.5 accept 10.244.0.13:8080
}
