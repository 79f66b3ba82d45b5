package fakeipt

// matchExtensions are the matches of -m, by name.
var matchExtensions = map[string]*extension{
	"addrtype":  addrtypeExtension,
	"comment":   commentExtension,
	"conntrack": conntrackExtension,
	"icmp":      icmpExtension,
	"icmp6":     icmp6Extension,
	"mark":      markMatchExtension,
	"multiport": multiportExtension,
	"nfacct":    nfacctExtension,
	"recent":    recentExtension,
	"sctp":      sctpExtension,
	"state":     stateExtension,
	"statistic": statisticExtension,
	"tcp":       tcpExtension,
	"udp":       udpExtension,
}

// targetExtensions are the targets of -j, by name. The verdicts and chains are not among them.
var targetExtensions = map[string]*extension{
	"CONNMARK":   connmarkExtension,
	"DNAT":       dnatExtension,
	"LOG":        logExtension,
	"MARK":       markTargetExtension,
	"MASQUERADE": masqueradeExtension,
	"NOTRACK":    notrackExtension,
	"REDIRECT":   redirectExtension,
	"REJECT":     rejectExtension,
	"SNAT":       snatExtension,
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
