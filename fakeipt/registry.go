package fakeipt

// matchExtensions are the matches of -m, by name.
var matchExtensions = map[string]*extension{
	"addrtype":  addrtypeExtension,
	"comment":   commentExtension,
	"connmark":  connmarkMatchExtension,
	"conntrack": conntrackExtension,
	"hashlimit": hashlimitExtension,
	"icmp":      icmpExtension,
	"icmp6":     icmp6Extension,
	"iprange":   iprangeExtension,
	"length":    lengthExtension,
	"limit":     limitExtension,
	"mac":       macExtension,
	"mark":      markMatchExtension,
	"multiport": multiportExtension,
	"nfacct":    nfacctExtension,
	"owner":     ownerExtension,
	"physdev":   physdevExtension,
	"pkttype":   pkttypeExtension,
	"recent":    recentExtension,
	"rpfilter":  rpfilterExtension,
	"sctp":      sctpExtension,
	"set":       setMatchExtension,
	"socket":    socketExtension,
	"state":     stateExtension,
	"statistic": statisticExtension,
	"tcp":       tcpExtension,
	"udp":       udpExtension,
}

// targetExtensions are the targets of -j, by name. The verdicts and chains are not among them.
var targetExtensions = map[string]*extension{
	"CHECKSUM":   checksumExtension,
	"CONNMARK":   connmarkExtension,
	"CT":         ctExtension,
	"DNAT":       dnatExtension,
	"LOG":        logExtension,
	"MARK":       markTargetExtension,
	"MASQUERADE": masqueradeExtension,
	"NETMAP":     netmapExtension,
	"NFLOG":      nflogExtension,
	"NFQUEUE":    nfqueueExtension,
	"NOTRACK":    notrackExtension,
	"REDIRECT":   redirectExtension,
	"REJECT":     rejectExtension,
	"SET":        setTargetExtension,
	"SNAT":       snatExtension,
	"TCPMSS":     tcpmssExtension,
	"TPROXY":     tproxyExtension,
	"TRACE":      traceExtension,
}

// findMatch returns the match of that name for the family, nil if there is none.
func findMatch(name []byte, f Family) *extension {
	switch string(name) {
	case "icmpv6", "ipv6-icmp":
		name = []byte("icmp6")
	}
	if e := matchExtensions[string(name)]; e != nil && (e.onlyIn == 0 || e.onlyIn == f) {
		return e
	}
	return nil
}
