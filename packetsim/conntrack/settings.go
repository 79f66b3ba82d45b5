package conntrack

import "strings"

// settings are conntrack's sysctls.
type settings struct {
	accounts         bool
	checksums        bool // conntrack looks at them
	tcpLiberal       bool
	tcpLoose         bool
	tcpIgnoreBadRST  bool
	tcpMaxRetrans    int
	tcpRetransmitted int
	most             int // connections
	buckets          int
	udp, udpStream   int
	icmp, icmp6      int
	generic          int
	gre, greStream   int
	tcp              [tcpStates]int
	tcpUnacknowledge int
	sctp             [sctpStates]int
}

// sysctls is where they are.
const sysctls = "net.netfilter.nf_conntrack_"

// Configure reads the settings from sysctls by their dotted names. number is the value of the first of the names that is there, or the
// fallback.
func (k *Tracker) Configure(values map[string]string, number func(fallback int, names ...string) int) {
	k.conf = readSettings(values, number)
}

// LooksAtChecksums says whether conntrack leaves packets alone whose checksum is wrong.
func (k *Tracker) LooksAtChecksums() bool { return k.conf.checksums }

func readSettings(values map[string]string, number func(fallback int, names ...string) int) settings {
	conf := settings{
		accounts:         number(0, sysctls+"acct") != 0,
		checksums:        number(1, sysctls+"checksum") != 0,
		tcpLiberal:       number(0, sysctls+"tcp_be_liberal") != 0,
		tcpLoose:         number(1, sysctls+"tcp_loose") != 0,
		tcpIgnoreBadRST:  number(0, sysctls+"tcp_ignore_invalid_rst") != 0,
		tcpMaxRetrans:    number(3, sysctls+"tcp_max_retrans"),
		tcpRetransmitted: number(300, sysctls+"tcp_timeout_max_retrans"),
		most:             number(262144, sysctls+"max", "net.nf_conntrack_max"),
		buckets:          number(262144, sysctls+"buckets"),
		udp:              number(30, sysctls+"udp_timeout"),
		udpStream:        number(120, sysctls+"udp_timeout_stream"),
		icmp:             number(30, sysctls+"icmp_timeout"),
		icmp6:            number(30, sysctls+"icmpv6_timeout"),
		gre:              number(30, sysctls+"gre_timeout"),
		greStream:        number(180, sysctls+"gre_timeout_stream"),
		generic:          number(600, sysctls+"generic_timeout"),
		tcpUnacknowledge: number(300, sysctls+"tcp_timeout_unacknowledged"),
	}
	if !hasPrefix(values, sysctls) {
		conf.tcp, conf.sctp = defaultTimeouts()
		return conf
	}
	for state, info := range tcpStateInfo {
		conf.tcp[state] = number(info.timeout, sysctls+"tcp_timeout_"+info.sysctl)
	}
	for state, info := range sctpStateInfo {
		conf.sctp[state] = number(info.timeout, sysctls+"sctp_timeout_"+info.sysctl)
	}
	return conf
}

// hasPrefix says whether there is one whose name begins so: most hosts have none, and names of many parts cost more than a look.
func hasPrefix(values map[string]string, prefix string) bool {
	for name := range values {
		if strings.HasPrefix(name, prefix) {
			return true
		}
	}
	return false
}

// defaultTimeouts are the kernel's for the states of connections.
func defaultTimeouts() (tcp [tcpStates]int, sctp [sctpStates]int) {
	for state, info := range tcpStateInfo {
		tcp[state] = info.timeout
	}
	for state, info := range sctpStateInfo {
		sctp[state] = info.timeout
	}
	return tcp, sctp
}
