package libc

import "strings"

// servicesOf are the names' protocols for a protocol number; 0 takes every name.
func servicesOf(proto uint16) uint8 {
	switch proto {
	case ProtoTCP:
		return inTCP
	case ProtoUDP:
		return inUDP
	case ProtoSCTP:
		return inSCTP
	case 0:
		return inAny
	}
	return 0
}

// Service is the port of a service of the protocol, by its name or another name that it has (getservbyname); 0 is any protocol.
func Service(name []byte, proto uint16) (uint16, bool) {
	in := servicesOf(proto)
	for i := range serviceNames {
		if s := &serviceNames[i]; s.in&in != 0 && (s.name == string(name) || hasWord(s.aliases, string(name))) {
			return s.port, true
		}
	}
	return 0, false
}

// hasWord says whether a word is one of a list with blanks between them.
func hasWord(list, word string) bool {
	for w := range strings.FieldsSeq(list) {
		if w == word {
			return true
		}
	}
	return false
}

// ServiceName is the name of the service that a port of the protocol is for (getservbyport), "" if there is none; 0 is any protocol.
func ServiceName(port uint16, proto uint16) string {
	in := servicesOf(proto)
	for i := range serviceNames {
		if serviceNames[i].port == port && serviceNames[i].in&in != 0 {
			return serviceNames[i].name
		}
	}
	return ""
}
