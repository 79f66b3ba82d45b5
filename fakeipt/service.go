package fakeipt

import (
	"bytes"
	"math"
	"strconv"
)

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
	case protoTCP:
		return inTCP
	case protoUDP:
		return inUDP
	case 0:
		return inTCP | inUDP
	}
	return 0
}

// parsePort reads a port number or the name of a service of the protocol; 0 is any protocol.
func parsePort(s []byte, proto uint8) (uint16, error) {
	n := 0
	digits := len(s) > 0 && len(s) <= 5 && s[0] != '0' // what begins with 0 is octal
	for _, c := range s {
		if c < '0' || c > '9' {
			digits = false
			break
		}
		n = n*10 + int(c-'0')
	}
	if digits && n <= 65535 {
		return uint16(n), nil
	}
	if n, ok := wholeNumber(s, math.MaxUint16); ok {
		return uint16(n), nil
	}
	if port, ok := findService(s, proto); ok {
		return port, nil
	}
	return 0, badParameter("invalid port/service `%s' specified", s)
}

// findService is the port of a service of the protocol; 0 is any protocol.
func findService(name []byte, proto uint8) (uint16, bool) {
	for i := range serviceNames {
		if serviceNames[i].in&servicesOf(proto) != 0 && serviceNames[i].name == string(name) {
			return serviceNames[i].port, true
		}
	}
	return 0, false
}

// errPortRange is a range that ends before it begins.
var errPortRange = badParameter("invalid portrange (min > max)")

// parsePortRange reads "PORT", "PORT:PORT", "PORT:" or ":PORT".
func parsePortRange(s []byte, proto uint8) (PortRange, error) {
	first, last, colon := bytes.Cut(s, []byte(":"))
	if !colon {
		p, err := parsePort(s, proto)
		return PortRange{p, p}, err
	}
	r := anyPort
	var err error
	if len(first) > 0 {
		if r.Min, err = parsePort(first, proto); err != nil {
			return r, err
		}
	}
	if len(last) > 0 {
		if r.Max, err = parsePort(last, proto); err != nil {
			return r, err
		}
	}
	if r.Min > r.Max {
		return r, errPortRange
	}
	return r, nil
}

// appendPort appends a port for a listing: its number, or the service's name.
func appendPort(dst []byte, port uint16, style listStyle) []byte {
	if !style.numeric {
		for i := range serviceNames {
			if serviceNames[i].port == port && serviceNames[i].in&servicesOf(style.proto) != 0 {
				return append(dst, serviceNames[i].name...)
			}
		}
	}
	return strconv.AppendUint(dst, uint64(port), 10)
}
