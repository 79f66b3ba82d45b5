package differ

import (
	"fmt"
	"strings"

	"github.com/chainwalk/chainwalk/netfilter"
)

// sets is the input of ipset for the sets of the generator.
func (w *world) sets() string {
	family := "inet"
	if w.family == netfilter.IPv6 {
		family = "inet6"
	}
	var b strings.Builder
	fmt.Fprintf(&b, "create cwip hash:ip family %s\ncreate cwipport hash:ip,port family %s\ncreate cwnet hash:net family %s\n",
		family, family, family)
	fmt.Fprintf(&b, "add cwip %s\nadd cwip %s\nadd cwip %s\n", w.clients[0], w.servers[1], w.services[0])
	fmt.Fprintf(&b, "add cwipport %s,tcp:80\nadd cwipport %s,udp:53\nadd cwipport %s,tcp:80\n", w.services[0], w.services[0], w.servers[0])
	fmt.Fprintf(&b, "add cwnet %s\nadd cwnet %s\n", w.networks[0], w.networks[2])
	fmt.Fprintf(&b,
		"create cwipportip hash:ip,port,ip family %s\ncreate cwipportnet hash:ip,port,net family %s\ncreate cwnetport hash:net,port family %s\n",
		family, family, family)
	fmt.Fprintf(&b, "add cwipportip %s,tcp:80,%s\nadd cwipportip %s,udp:80,%s\n", w.services[0], w.clients[0], w.servers[0], w.clients[1])
	fmt.Fprintf(&b, "add cwipportnet %s,tcp:80,%s\nadd cwipportnet %s,tcp:443,%s\n", w.clients[0], w.networks[2], w.clients[1], w.networks[1])
	fmt.Fprintf(&b, "add cwnetport %s,tcp:80\nadd cwnetport %s,udp:443\n", w.networks[2], w.networks[1])
	b.WriteString("create cwport bitmap:port range 0-60000\nadd cwport 80\nadd cwport 40001-40002\n")
	fmt.Fprintf(&b, "create cwiface hash:net,iface family %s\nadd cwiface %s,%s\nadd cwiface %s,cwd wildcard\n", family, w.networks[0],
		clientDev,
		w.networks[2])
	if w.family == netfilter.IPv4 {
		fmt.Fprintf(&b, "create cwbits bitmap:ip range %s\nadd cwbits %s\nadd cwbits %s\n", w.networks[3], w.clients[0], w.servers[1])
		fmt.Fprintf(&b, "create cwmac bitmap:ip,mac range %s\nadd cwmac %s,%s\nadd cwmac %s\n", w.networks[3], w.clients[0], sideMAC(clientPlace),
			w.servers[0])
	}
	b.WriteString("create cwlist list:set\nadd cwlist cwip\nadd cwlist cwipport\nadd cwlist cwnet\n")
	return b.String()
}
