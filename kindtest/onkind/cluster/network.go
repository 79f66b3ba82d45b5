package cluster

import (
	"encoding/json"
	"fmt"
	"net/netip"
	"strings"
)

// conflist is the network of a node's pods: a device for each with a host route (ptp), addresses from the node's ranges (host-local), and
// published host ports, as kind's own has them.
func conflist(podCIDRs []netip.Prefix) string {
	type document = map[string]any
	var ranges [][]document
	var routes []document
	for _, prefix := range podCIDRs {
		ranges = append(ranges, []document{{"subnet": prefix.String()}})
		routes = append(routes, document{"dst": netip.PrefixFrom(unspecified(prefix.Addr()), 0).String()})
	}
	text, err := json.MarshalIndent(document{
		"cniVersion": "0.3.1",
		"name":       "chainwalk",
		"plugins": []document{
			{"type": "ptp", "ipMasq": false,
				"ipam": document{"type": "host-local", "dataDir": "/run/cni-ipam-state", "ranges": ranges, "routes": routes}},
			{"type": "portmap", "capabilities": document{"portMappings": true}},
		},
	}, "", "  ")
	if err != nil {
		panic(fmt.Sprintf("cluster: a network configuration that is no JSON: %v", err))
	}
	return string(text) + "\n"
}

func unspecified(a netip.Addr) netip.Addr {
	if a.Is4() {
		return netip.IPv4Unspecified()
	}
	return netip.IPv6Unspecified()
}

// networkScript gives a node its pods' network and its routes to those of the others. The file is written where it is to be: containerd
// does not notice one that is moved in from another folder.
func networkScript(node Node, nodes []Node) string {
	var script strings.Builder
	script.WriteString(routeScript(node.Name, nodes))
	fmt.Fprintf(&script, "mkdir -p /etc/cni/net.d\ncat > /etc/cni/net.d/10-chainwalk.conflist <<'END'\n%sEND\n", conflist(node.PodCIDRs))
	return script.String()
}

// routeScript gives a host routes to the pods of all nodes but itself, by each node's address of the family.
func routeScript(host string, nodes []Node) string {
	var script strings.Builder
	for _, node := range nodes {
		if node.Name == host {
			continue
		}
		for _, prefix := range node.PodCIDRs {
			for _, via := range node.Addresses {
				if via.Is4() == prefix.Addr().Is4() {
					fmt.Fprintf(&script, "ip route replace %s via %s\n", prefix, via)
				}
			}
		}
	}
	return script.String()
}

// toolScript makes one variant of iptables that of the node. What the other one holds, Docker's translation of DNS, goes over and is
// taken away there, so that only one has rules.
const toolScript = `set -eu
tool=$1
if [ "$tool" = nft ]; then other=legacy; else other=nft; fi
for command in iptables ip6tables; do
	update-alternatives --set $command /usr/sbin/$command-$tool >/dev/null
	held=$($command-$other-save 2>/dev/null || true)
	echo "$held" | grep -q '^-A' || continue
	echo "$held" | $command-$tool-restore
	for table in $(echo "$held" | sed -n 's/^\*//p'); do
		$command-$other -t $table -F
		$command-$other -t $table -X
	done
done
`
