package libc

// serviceName is a name of /etc/services. The list is short on purpose: rules of
// programs have numbers, and a name that is missing is refused.
type serviceName struct {
	name string
	port uint16
	in   uint8
}

var serviceNames = [...]serviceName{
	{"tcpmux", 1, inTCP}, {"echo", 7, inTCP | inUDP},
	{"discard", 9, inTCP | inUDP}, {"systat", 11, inTCP}, {"daytime", 13, inTCP | inUDP}, {"netstat", 15, inTCP}, {"ftp-data", 20, inTCP},
	{"ftp", 21, inTCP}, {"fsp", 21, inUDP}, {"ssh", 22, inTCP}, {"telnet", 23, inTCP},
	{"smtp", 25, inTCP}, {"time", 37, inTCP | inUDP}, {"domain", 53, inTCP | inUDP},
	{"bootps", 67, inUDP}, {"bootpc", 68, inUDP}, {"tftp", 69, inUDP},
	{"gopher", 70, inTCP}, {"finger", 79, inTCP}, {"http", 80, inTCP},
	{"kerberos", 88, inTCP | inUDP}, {"pop3", 110, inTCP}, {"sunrpc", 111, inTCP | inUDP},
	{"ntp", 123, inUDP}, {"epmap", 135, inTCP}, {"netbios-ns", 137, inUDP},
	{"netbios-dgm", 138, inUDP}, {"netbios-ssn", 139, inTCP}, {"imap2", 143, inTCP},
	{"snmp", 161, inTCP | inUDP}, {"snmp-trap", 162, inTCP | inUDP}, {"bgp", 179, inTCP},
	{"ldap", 389, inTCP | inUDP}, {"https", 443, inTCP | inUDP}, {"microsoft-ds", 445, inTCP},
	{"isakmp", 500, inUDP}, {"syslog", 514, inTCP | inUDP}, {"submission", 587, inTCP},
	{"ldaps", 636, inTCP | inUDP}, {"domain-s", 853, inTCP | inUDP}, {"imaps", 993, inTCP},
	{"pop3s", 995, inTCP}, {"nfs", 2049, inTCP | inUDP}, {"mysql", 3306, inTCP},
	{"ms-wbt-server", 3389, inTCP}, {"sip", 5060, inTCP | inUDP}, {"postgresql", 5432, inTCP},
	{"redis", 6379, inTCP}, {"http-alt", 8080, inTCP}, {"www", 80, inTCP},
	{"imap", 143, inTCP}, {"snmptrap", 162, inTCP | inUDP},
}

// The protocols that a service's name is for.
const (
	inTCP uint8 = 1 << iota
	inUDP
)

// servicesOf are the names' protocols for a protocol number; 0 takes every name.
func servicesOf(proto uint8) uint8 {
	switch proto {
	case ProtoTCP:
		return inTCP
	case ProtoUDP:
		return inUDP
	case 0:
		return inTCP | inUDP
	}
	return 0
}

// Service is the port of a service of the protocol; 0 is any protocol.
func Service(name []byte, proto uint8) (uint16, bool) {
	for i := range serviceNames {
		if serviceNames[i].in&servicesOf(proto) != 0 && serviceNames[i].name == string(name) {
			return serviceNames[i].port, true
		}
	}
	return 0, false
}

// ServiceName is the name of the service that a port of the protocol is for, "" if there is none; 0 is any protocol.
func ServiceName(port uint16, proto uint8) string {
	for i := range serviceNames {
		if serviceNames[i].port == port && serviceNames[i].in&servicesOf(proto) != 0 {
			return serviceNames[i].name
		}
	}
	return ""
}
