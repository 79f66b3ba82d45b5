package ipt

import (
	"net/netip"
	"strconv"

	"github.com/chainwalk/chainwalk/proxier/internal/model"
)

func appendRule(dst []byte, prefix string, hash hashText) []byte {
	dst = append(dst, "-A "...)
	dst = append(dst, prefix...)
	return append(dst, hash[:]...)
}

func (t *serviceText) appendComment(dst []byte, before, after string) []byte {
	dst = append(dst, ` -m comment --comment "`...)
	dst = append(dst, before...)
	dst = append(dst, t.name...)
	dst = append(dst, after...)
	return append(dst, '"')
}

func (t *serviceText) appendProtocol(dst []byte) []byte {
	dst = append(dst, " -m "...)
	dst = append(dst, t.protocol...)
	dst = append(dst, " -p "...)
	return append(dst, t.protocol...)
}

func (t *serviceText) appendDestination(dst []byte, ip netip.Addr, port uint16) []byte {
	dst = append(t.appendProtocol(dst), " -d "...)
	return appendPort(ip.AppendTo(dst), port)
}

func (t *serviceText) appendJump(dst []byte, prefix string) []byte {
	dst = append(dst, " -j "...)
	dst = append(dst, prefix...)
	dst = append(dst, t.hash[:]...)
	return append(dst, '\n')
}

func appendEndpointJump(dst []byte, endpoint *endpointText) []byte {
	dst = append(dst, " -j "+endpointPrefix...)
	dst = append(dst, endpoint.hash[:]...)
	return append(dst, '\n')
}

func appendPort(dst []byte, port uint16) []byte {
	return strconv.AppendUint(append(dst, " --dport "...), uint64(port), 10)
}

func appendHashedChainLine(dst []byte, prefix string, hash hashText) []byte {
	dst = append(append(dst, ':'), prefix...)
	dst = append(dst, hash[:]...)
	return append(dst, " - [0:0]\n"...)
}

// appendLocalTraffic writes the match for traffic of this node's pods. It may
// follow a "!".
func appendLocalTraffic(dst []byte, local model.LocalTraffic) []byte {
	switch {
	case local.Source.IsValid():
		return local.Source.AppendTo(append(dst, " -s "...))
	case local.Interface != "":
		return append(append(dst, " -i "...), local.Interface...)
	default:
		dst = append(append(dst, " -i "...), local.InterfacePrefix...)
		return append(dst, '+')
	}
}
