package netfilter

// Family is an address family: a ruleset of iptables is of one.
type Family uint8

// The two families; their values are the IP version numbers.
const (
	IPv4 Family = 4
	IPv6 Family = 6
)

// Families are both, IPv4 first.
func Families() [2]Family { return [2]Family{IPv4, IPv6} }
