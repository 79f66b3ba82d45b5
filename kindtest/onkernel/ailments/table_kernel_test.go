package ailments

import "github.com/chainwalk/chainwalk/scenarios/explain/cause"

// settingsAndMemory are settings of the kernel, and what it remembers.
var settingsAndMemory = []Ailment{
	{
		Name: "the node forwards nothing", Options: onPTP,
		Fault: []string{"node1: sysctl -qw net.ipv4.ip_forward=0"},
		Tries: []Try{{From: "client1", To: "svc/far", Was: "web2", Is: "silent"}},
		Cause: cause.ForwardingOff,
	},
	{
		Name: "the node forwards nothing of IPv6", Options: onIPv6,
		Fault: []string{"node1: sysctl -qw net.ipv6.conf.all.forwarding=0"},
		Tries: []Try{{From: "client1", To: "svc/far", Was: "web2", Is: "silent"}},
		Cause: cause.ForwardingOff,
	},
	{
		Name: "the endpoint's node forwards nothing", Options: onBridge,
		Fault: []string{"node2: sysctl -qw net.ipv4.ip_forward=0"},
		Tries: []Try{{From: "client1", To: "svc/far", Was: "web2", Is: "silent"}},
		Cause: cause.ForwardingOff,
	},
	{
		Name: "rp_filter is strict, and the way back is by another device", Options: onPTP, Before: secondWay,
		Fault: []string{"node2: sysctl -qw net.ipv4.conf.eth0.rp_filter=1"},
		Tries: []Try{{From: "client1", To: "svc/far", Was: "web2", Is: "silent"}},
		Cause: cause.ReversePath,
	},
	{
		Name: "a node port at a loopback address, and route_localnet is 0", Options: onPTP,
		Fault: []string{"node1: sysctl -qw net.ipv4.conf.all.route_localnet=0"},
		Tries: []Try{{From: "node1", To: "127.0.0.1:30012", Was: "web2", Is: "silent"}},
		Cause: cause.RouteLocalnet,
	},
	{
		Name: "bridged packets do not come to iptables", Options: onBridge,
		Fault: []string{"node1: sysctl -qw net.bridge.bridge-nf-call-iptables=0"},
		Tries: []Try{{From: "client1", To: "svc/near", Was: "web1", Is: "silent"}},
		Cause: cause.BridgeCalls,
	},
	{
		Name: "the bridge gives no packet back by the port that it came from", Options: onBridge,
		Fault: []string{"node1: ip link set veth-web1 type bridge_slave hairpin off"},
		Tries: []Try{{From: "web1", To: "svc/near", Was: "web1", Is: "silent"}},
		Cause: cause.Hairpin,
	},
	{
		Name: "a pod calls itself, and nothing masquerades it", Options: onPTP,
		Fault: []string{"node1: iptables -t nat -F KUBE-MARK-MASQ"},
		Tries: []Try{{From: "web1", To: "svc/near", Was: "web1", Is: "silent"}},
		Cause: cause.RuleMissing,
	},
	{
		Name: "the node remembers an endpoint that has gone", Options: onPTP,
		Objects: func(o Objects) { keepEndpoint(o, "dns", "web2") },
		Fault: []string{
			"node1: conntrack -I -p udp -s 10.244.1.2 -d 10.96.0.53 --sport 40053 --dport 53" +
				" -r 10.244.1.9 -q 10.244.1.2 --reply-port-src 5353 --reply-port-dst 40053 -u SEEN_REPLY,ASSURED -t 120",
		},
		Tries: []Try{
			{From: "client1", To: "svc/dns", UDP: true, Is: "web2"}, {From: "client1", SourcePort: 40053, To: "svc/dns", UDP: true, Is: "silent"},
		},
		Cause: cause.ConntrackStale, Reached: true,
	},
	{
		Name: "masquerading has one port, which is taken", Options: onPTP,
		Fault: []string{"node1: iptables -t nat -I POSTROUTING -p tcp -m mark --mark 0x4000/0x4000 -j MASQUERADE --to-ports 61000"},
		Tries: []Try{
			{From: "outside", To: "node1:30012", Keep: true, Is: "web2"},
			{From: "outside", To: "node1:30012", Was: "web2", Is: "silent"},
		},
		Cause: cause.PortsExhausted,
	},
	{
		Name: "a segment out of the window ends the connection, as no rule drops it", Options: onPTP,
		Fault: []string{"node1: iptables -D KUBE-FORWARD 1", "node2: iptables -D KUBE-FORWARD 1"},
		Tries: []Try{{From: "client1", To: "svc/far", Stray: true, Was: "web2", Is: "silent"}},
		Cause: cause.RuleMissing, Reached: true,
	},
	{
		Name: "the node has the client's address itself", Options: onPTP,
		Fault: []string{"node1: ip addr add 198.51.100.10/32 dev lo"},
		Tries: []Try{{From: "outside", To: "node1:30012", Was: "web2", Is: "silent"}},
		Cause: cause.Martian, Arrives: "eth0",
	},
	{
		Name: "a node has the address of another node's pod itself", Options: onPTP,
		Fault: []string{"node1: ip addr add 10.244.2.2/32 dev lo"},
		Tries: []Try{{From: "client2", To: "svc/near", Was: "web1", Is: "silent"}},
		Cause: cause.Martian,
	},
}

// secondWay are the commands that have node2 answer node1's pods by a second device, through the router.
var secondWay = []string{
	"router: ip link add back type veth peer name eth1 netns {node2}",
	"router: ip addr add 192.168.1.1/24 dev back", "router: ip link set back up", "router: ip route add 10.244.1.0/24 via 192.168.0.2",
	"node2: ip addr add 192.168.1.3/24 dev eth1", "node2: ip link set eth1 up", "node2: ip route replace 10.244.1.0/24 via 192.168.1.1",
}

// linksAndRoutes are devices and routes.
var linksAndRoutes = []Ailment{
	{
		Name: "the node has no route to the other node's pods", Options: onPTP,
		Fault: []string{"node1: ip route del 10.244.2.0/24", "node1: ip route del default"},
		Tries: []Try{{From: "client1", To: "pod/web2", Was: "web2", Is: "unreachable"}, {From: "client1", To: "svc/far", Is: "unreachable"}},
		Cause: cause.NoRoute,
	},
	{
		Name: "the other node's pods are behind the default route", Options: onBridge,
		Fault: []string{"node1: ip route del 10.244.2.0/24"},
		Tries: []Try{{From: "client1", To: "svc/far", Was: "web2", Is: "silent"}},
		Cause: cause.NoRoute, Unseen: true, Assumes: "if the router 192.168.0.1 knows the way to ", // which only the router can say
	},
	{
		Name: "a route has the other node's pods in a black hole", Options: onPTP,
		Fault: []string{"node1: ip route replace blackhole 10.244.2.0/24"},
		Tries: []Try{{From: "client1", To: "svc/far", Was: "web2", Is: "silent"}},
		Cause: cause.RouteRefuses,
	},
	{
		Name: "a route prohibits the other node's pods", Options: onPTP,
		Fault: []string{"node1: ip route replace prohibit 10.244.2.0/24"},
		Tries: []Try{{From: "client1", To: "svc/far", Was: "web2", Is: "unreachable"}},
		Cause: cause.RouteRefuses,
	},
	{
		Name: "the way back ends in a route that refuses", Options: onBridge,
		Fault: []string{"node2: ip route replace unreachable 10.244.1.0/24"},
		Tries: []Try{{From: "client1", To: "svc/far", Was: "web2", Is: "silent"}},
		Cause: cause.RouteRefuses,
	},
	{
		Name: "a route leads to a pod that does not have the address", Options: onPTP,
		Fault: []string{"node2: ip route replace 10.244.2.3/32 dev veth-client2"},
		Tries: []Try{{From: "client1", To: "svc/far", Was: "web2", Is: "silent"}},
		Cause: cause.Astray,
	},
	{
		Name: "a policy rule has another table for the pods", Options: onPTP,
		Fault: []string{"node1: ip route add blackhole default table 77", "node1: ip rule add from 10.244.1.0/24 lookup 77"},
		Tries: []Try{{From: "client1", To: "svc/far", Was: "web2", Is: "silent"}},
		Cause: cause.RouteRefuses,
	},
	{
		Name: "two nodes send each other's packets back", Options: onPTP,
		Fault: []string{"node2: ip route replace 10.244.2.3/32 via 192.168.0.2"},
		Tries: []Try{{From: "client1", To: "svc/far", Was: "web2", Is: "silent"}},
		Cause: cause.Loop,
	},
	{
		Name: "the pod's device is down", Options: onBridge,
		Fault: []string{"node2: ip link set veth-web2 down"},
		Tries: []Try{{From: "client1", To: "svc/far", Was: "web2", Is: "silent"}},
		Cause: cause.DeviceDown,
	},
	{
		Name: "the pod's device is down, and no table says who is behind another", Options: onBridge,
		Fault: []string{"node2: ip link set veth-web2 down", "node2: ip neigh flush dev cni0"},
		Tries: []Try{{From: "client1", To: "svc/far", Was: "web2", Is: "silent"}},
		Cause: cause.DeviceDown,
	},
	{
		Name: "the bridge is down", Options: onBridge,
		Fault: []string{"node2: ip link set cni0 down"},
		Tries: []Try{{From: "client1", To: "svc/far", Was: "web2", Is: "silent"}},
		Cause: cause.DeviceDown,
	},
	{
		Name: "the node's device is down", Options: onBridge,
		Fault: []string{"node2: ip link set eth0 down"},
		Tries: []Try{{From: "client1", To: "svc/far", Was: "web2", Is: "silent"}},
		Cause: cause.DeviceDown,
	},
	{
		Name: "the overlay is down", Options: onVXLAN,
		Fault: []string{"node1: ip link set flannel.1 down"},
		Tries: []Try{{From: "client1", To: "svc/far", Was: "web2", Is: "silent"}},
		Cause: cause.DeviceDown,
	},
	{
		Name: "the overlay does not know where the other node is", Options: onVXLAN,
		Fault: []string{"node1: bridge fdb del 02:c4:00:00:01:02 dev flannel.1 dst 192.168.0.3"},
		Tries: []Try{{From: "client1", To: "svc/far", Was: "web2", Is: "silent"}},
		Cause: cause.NoNeighbour,
	},
	{
		Name: "a firewall drops the overlay's packets", Options: onVXLAN,
		Fault: []string{"node2: iptables -A INPUT -p udp --dport 8472 -j DROP"},
		Tries: []Try{{From: "client1", To: "svc/far", Was: "web2", Is: "silent"}},
		Cause: cause.ForeignDrop,
	},
	{
		Name: "long packets do not fit, and the sender is not told", Options: onPTP,
		Fault: []string{"node1: ip link set eth0 mtu 1300", "node1: iptables -A OUTPUT -p icmp --icmp-type fragmentation-needed -j DROP"},
		Tries: []Try{
			{From: "client2", To: "svc/near", Was: "web1", Is: "web1"},
			{From: "client2", To: "svc/near", Bytes: 20000, Was: "web1", Is: "silent"},
		},
		Cause: cause.TooLong,
	},
	{
		Name: "a rule keeps node ports from being masqueraded", Options: onPTP,
		Fault: []string{"node1: iptables -t nat -I POSTROUTING -s 198.51.100.0/24 -p tcp --dport 8080 -j ACCEPT"},
		Tries: []Try{{From: "outside", To: "node1:30012", Was: "web2", Is: "silent"}},
		Cause: cause.ReplyElsewhere,
	},
}
