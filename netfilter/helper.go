package netfilter

// Protocols of helpers.
const (
	helperTCP = 6
	helperUDP = 17
)

// helpers are the kernel's own helpers of connection tracking (nf_conntrack_helper_register in net/netfilter/nf_conntrack_*.c).
var helpers = [...]struct {
	name     string
	protocol uint8
	onlyIPv4 bool
}{
	{"ftp", helperTCP, false}, {"Q.931", helperTCP, false}, {"irc", helperTCP, true}, {"pptp", helperTCP, true}, {"sane", helperTCP, false},
	{"sip", helperTCP, false}, {"amanda", helperUDP, false}, {"RAS", helperUDP, false}, {"H.245", helperUDP, false},
	{"netbios-ns", helperUDP, true}, {"snmp", helperUDP, true}, {"snmp_trap", helperUDP, true},
	{"sip", helperUDP, false}, {"tftp", helperUDP, false},
}

// HasHelper says whether the kernel has a helper of its own of this name for an IP protocol, by its number, and a family.
func HasHelper(name string, protocol uint8, f Family) bool {
	for _, h := range helpers {
		if h.name == name && h.protocol == protocol && (f == IPv4 || !h.onlyIPv4) {
			return true
		}
	}
	return false
}
