package fakeipt

import "github.com/chainwalk/chainwalk/netfilter"

// matchExtensions are the matches of -m, by name.
var matchExtensions = map[string]*extension{
	"addrtype":   addrtypeExtension,
	"ah":         ahExtension,
	"bpf":        bpfExtension,
	"cgroup":     cgroupExtension,
	"cluster":    clusterExtension,
	"comment":    commentExtension,
	"connbytes":  connbytesExtension,
	"connlabel":  connlabelExtension,
	"connlimit":  connlimitExtension,
	"connmark":   connmarkMatchExtension,
	"conntrack":  conntrackExtension,
	"cpu":        cpuExtension,
	"dccp":       dccpExtension,
	"devgroup":   devgroupExtension,
	"dscp":       dscpExtension,
	"dst":        dstExtension,
	"ecn":        ecnExtension,
	"esp":        espExtension,
	"eui64":      eui64Extension,
	"frag":       fragExtension,
	"hashlimit":  hashlimitExtension,
	"hbh":        hbhExtension,
	"helper":     helperExtension,
	"hl":         hlExtension,
	"icmp":       icmpExtension,
	"icmp6":      icmp6Extension,
	"ipcomp":     ipcompExtension,
	"iprange":    iprangeExtension,
	"ipv6header": ipv6headerExtension,
	"ipvs":       ipvsExtension,
	"length":     lengthExtension,
	"limit":      limitExtension,
	"mac":        macExtension,
	"mark":       markMatchExtension,
	"mh":         mhExtension,
	"multiport":  multiportExtension,
	"nfacct":     nfacctExtension,
	"osf":        osfExtension,
	"owner":      ownerExtension,
	"physdev":    physdevExtension,
	"pkttype":    pkttypeExtension,
	"policy":     policyExtension,
	"quota":      quotaExtension,
	"rateest":    rateestExtension,
	"realm":      realmExtension,
	"recent":     recentExtension,
	"rpfilter":   rpfilterExtension,
	"rt":         rtExtension,
	"sctp":       sctpExtension,
	"set":        setMatchExtension,
	"socket":     socketExtension,
	"srh":        srhExtension,
	"state":      stateExtension,
	"statistic":  statisticExtension,
	"string":     stringExtension,
	"tcp":        tcpExtension,
	"tcpmss":     tcpmssMatchExtension,
	"time":       timeExtension,
	"tos":        tosExtension,
	"ttl":        ttlExtension,
	"u32":        u32Extension,
	"udp":        udpExtension,
}

// targetExtensions are the targets of -j, by name. The verdicts and chains are not among them.
var targetExtensions = map[string]*extension{
	"AUDIT":       auditExtension,
	"CHECKSUM":    checksumExtension,
	"CLASSIFY":    classifyExtension,
	"CLUSTERIP":   clusteripExtension,
	"CONNMARK":    connmarkExtension,
	"CONNSECMARK": connsecmarkExtension,
	"CT":          ctExtension,
	"DNAT":        dnatExtension,
	"DNPT":        dnptExtension,
	"DSCP":        dscpTargetExtension,
	"ECN":         ecnTargetExtension,
	"HL":          hlTargetExtension,
	"HMARK":       hmarkExtension,
	"IDLETIMER":   idletimerExtension,
	"LED":         ledExtension,
	"LOG":         logExtension,
	"MARK":        markTargetExtension,
	"MASQUERADE":  masqueradeExtension,
	"NETMAP":      netmapExtension,
	"NFLOG":       nflogExtension,
	"NFQUEUE":     nfqueueExtension,
	"NOTRACK":     notrackExtension,
	"RATEEST":     rateestTargetExtension,
	"REDIRECT":    redirectExtension,
	"REJECT":      rejectExtension,
	"SECMARK":     secmarkExtension,
	"SET":         setTargetExtension,
	"SNAT":        snatExtension,
	"SNPT":        snptExtension,
	"SYNPROXY":    synproxyExtension,
	"TCPMSS":      tcpmssExtension,
	"TCPOPTSTRIP": tcpoptstripExtension,
	"TEE":         teeExtension,
	"TOS":         tosTargetExtension,
	"TPROXY":      tproxyExtension,
	"TRACE":       traceExtension,
	"TTL":         ttlTargetExtension,
	"ULOG":        ulogExtension,

	standardTarget: standardExtension,
}

// standardTarget is the extension that stands for the verdicts and chains. The tools know it by name, and the kernel has none of that name.
const standardTarget = "standard"

var standardExtension = &extension{
	name:      standardTarget,
	newTarget: func() targetParser { return plainParser{&Gone{Extension: standardTarget}} },
}

// isTarget says whether the tools have a target of that name, which no new chain can have.
func (p *commandParser) isTarget(name string) bool {
	ext := findTarget([]byte(name), p.family)
	if p.hidden[name] {
		return false
	}
	p.warnOfGone(ext)
	return ext != nil
}

// warnOfGone says, if the kernel lacks an extension, what the tools say when they first meet its name.
func (p *commandParser) warnOfGone(ext *extension) {
	if ext == nil || !ext.gone || p.run == nil || p.run.gone[ext] {
		return
	}
	if p.run.gone == nil {
		p.run.gone = map[*extension]bool{}
	}
	p.run.gone[ext] = true
	p.warn("Warning: Extension %s revision 0 not supported, missing kernel module?\n", ext.name)
}

// maxTargetName is the length of the longest name in targetExtensions.
const maxTargetName = len("TCPOPTSTRIP")

// hideTarget makes the name of a target the one of a chain for all input to come.
func (p *commandParser) hideTarget(name []byte) {
	if len(name) > maxTargetName || findTarget(name, p.family) == nil {
		return
	}
	if p.hidden == nil {
		p.hidden = map[string]bool{}
	}
	p.hidden[string(name)] = true
}

// verdictsHidden says that the tools know no verdict any more, since input has declared a chain of the name that stands for them (nft).
func (p *commandParser) verdictsHidden() bool {
	return p.hidden[standardTarget] && p.dialect() == netfilter.NFT
}

// findMatch returns the match of that name for the family, nil if there is none.
func findMatch(name []byte, f netfilter.Family) *extension {
	switch string(name) {
	case "icmpv6", "ipv6-icmp":
		name = []byte("icmp6")
	case "ah":
		if f == netfilter.IPv6 {
			return ah6Extension
		}
	}
	return matchExtensions[string(name)].in(f)
}

// findTarget returns the target of that name for the family, nil if there is none.
func findTarget(name []byte, f netfilter.Family) *extension {
	return targetExtensions[string(name)].in(f)
}

// in is the extension if the family has it, else nil.
func (e *extension) in(f netfilter.Family) *extension {
	if e != nil && e.onlyIn != 0 && e.onlyIn != f {
		return nil
	}
	return e
}
