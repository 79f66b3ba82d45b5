package ipt

import "bytes"

// sharedChain is a chain in which all service ports may have lines. A chain
// line and all the lines in it must be written together: that empties it.
type sharedChain uint8

const (
	filterServices sharedChain = iota
	filterExternalServices
	filterProxyFirewall
	filterNodePorts
	natServices
	natNodePorts
	sharedChains
)

// name returns the name of the chain in its table.
func (c sharedChain) name() string {
	return [sharedChains]string{
		servicesChain, externalServicesChain, proxyFirewallChain, nodePortsChain, servicesChain, nodePortsChain,
	}[c]
}

// sharedLines are the lines of one service port in the shared chains: those of
// each chain together, in the order of the chains.
type sharedLines struct {
	text []byte
	ends [sharedChains]uint32
}

// in returns the lines in one chain.
func (l *sharedLines) in(chain sharedChain) []byte {
	start := uint32(0)
	if chain > 0 {
		start = l.ends[chain-1]
	}
	return l.text[start:l.ends[chain]]
}

// inFilter and inNAT return the lines of all chains of the table.
func (l *sharedLines) inFilter() []byte { return l.text[:l.ends[filterNodePorts]] }
func (l *sharedLines) inNAT() []byte    { return l.text[l.ends[filterNodePorts]:] }

// count returns the number of lines.
func count(text []byte) int { return bytes.Count(text, []byte{'\n'}) }

// appendSharedLines appends the service port's lines in all shared chains to
// dst, and returns them too. They hold on to dst's memory.
func (t *serviceText) appendSharedLines(dst []byte) ([]byte, sharedLines) {
	write := [sharedChains]func(*serviceText, []byte) []byte{
		(*serviceText).appendRefusedClusterIP,
		(*serviceText).appendExternalRefusals,
		(*serviceText).appendFirewallDrops,
		(*serviceText).appendHealthCheck,
		(*serviceText).appendVIPEntries,
		(*serviceText).appendNodePortEntry,
	}
	var lines sharedLines
	start := len(dst)
	for chain, appendLines := range write {
		dst = appendLines(t, dst)
		lines.ends[chain] = uint32(len(dst) - start)
	}
	lines.text = dst[start:len(dst):len(dst)]
	return dst, lines
}
