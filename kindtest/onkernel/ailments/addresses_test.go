package ailments

import "fmt"

// place is where a pod is.
type place struct {
	name string
	node int // 1 or 2
	host int // the last part of its addresses
}

var places = []place{{"client1", 1, 2}, {"web1", 1, 3}, {"client2", 2, 2}, {"web2", 2, 3}}

// wire is the node's device to the pod.
func (p place) wire() string { return "veth-" + p.name }

// pairs are an address of each family, that of IPv6 behind that of IPv4.
type pair [2]string

func (p pair) of(v6 bool) string {
	if v6 {
		return p[1]
	}
	return p[0]
}

func nodeAt(n int) pair {
	return pair{fmt.Sprintf("192.168.0.%d", n+1), fmt.Sprintf("2001:db8::%d", n+1)}
}
func podAt(n, host int) pair {
	return pair{fmt.Sprintf("10.244.%d.%d", n, host), fmt.Sprintf("fd00:10:244:%d::%d", n, host)}
}
func podsOf(n int) pair {
	return pair{fmt.Sprintf("10.244.%d.0/24", n), fmt.Sprintf("fd00:10:244:%d::/64", n)}
}

// The addresses of the machine outside and of the router beside it, and the network of load balancers.
var (
	outsideAt     = pair{"198.51.100.10", "2001:db8:ffff::10"}
	routerOutside = pair{"198.51.100.1", "2001:db8:ffff::1"}
	balancers     = pair{"203.0.113.0/24", "2001:db8:113::/64"}
)
