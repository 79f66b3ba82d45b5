package cause

import (
	"slices"
	"strings"

	"github.com/chainwalk/chainwalk/netfilter"
)

// Cause is what stopped a packet.
type Cause struct {
	Code Code `json:"code"`
	// Host is the node, pod or machine where the packet ended.
	Host string `json:"host,omitempty"`
	// Family is the packet's there.
	Family netfilter.Family `json:"family,omitempty"`
	// What is the thing that decided, as its owner spells it: "iptables -t filter -P FORWARD DROP", "net.ipv4.ip_forward = 0", "route
	// 10.0.0.0/8 dev eth1".
	What string `json:"what"`
	// Owner is who wrote a rule that decided, as far as known; empty if no rule decided.
	Owner string `json:"owner,omitempty"`
	// Says is the cause in one sentence.
	Says string `json:"says"`
	// Remedy is the command that fixes it on Host, or the field of an object.
	Remedy string `json:"remedy,omitempty"`
}

// Key is equal for what one repair fixes on every host: the code and the thing that decided.
func (c *Cause) Key() string { return string(c.Code) + " " + c.What }

// Sentence makes a sentence of a text. It gets a capital letter unless it begins with the name of a host or an object.
func Sentence(text string) string {
	first, _, _ := strings.Cut(text, " ")
	if slices.Contains([]string{"the", "a", "rule", "rules", "nothing", "conntrack", "client", "device", "none"}, first) {
		text = strings.ToUpper(text[:1]) + text[1:]
	}
	return text + "."
}

// KeyOfFamilies is a Key that is equal for the same mistake in IPv4 and in IPv6: the tool, the setting and the kind of an ICMP answer are
// those of IPv4 in both.
func (c *Cause) KeyOfFamilies() string {
	return strings.NewReplacer("ip6tables", "iptables", "nft add rule ip6 ", "nft add rule ip ", "nft add element ip6 ", "nft add element ip ",
		"nft 'chain ip6 ", "nft 'chain ip ", "net.ipv6.conf.all.forwarding", "net.ipv4.ip_forward", "net.ipv6.", "net.ipv4.",
		"icmp6-port-unreachable", "icmp-port-unreachable", "icmp6-adm-prohibited", "icmp-admin-prohibited", "ipv6-icmp", "icmp").Replace(c.Key())
}
