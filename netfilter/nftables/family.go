package nftables

// Family is a family of tables (NFPROTO_* in include/uapi/linux/netfilter.h).
type Family uint8

// The families.
const (
	Inet   Family = 1
	IPv4   Family = 2
	ARP    Family = 3
	Netdev Family = 5
	Bridge Family = 7
	IPv6   Family = 10
)

var familyNames = map[Family]string{Inet: "inet", IPv4: "ip", ARP: "arp", Netdev: "netdev", Bridge: "bridge", IPv6: "ip6"}

// String is the family's name in nft.
func (f Family) String() string { return familyNames[f] }
