package match

import (
	"iter"
	"maps"

	"github.com/chainwalk/chainwalk/fakeipt/xtables"
	"github.com/chainwalk/chainwalk/netfilter"
)

// extensions are the matches of -m, by name.
var extensions = map[string]*xtables.Extension{
	"addrtype":   addrtypeExtension,
	"ah":         ahExtension,
	"bpf":        bpfExtension,
	"cgroup":     cgroupExtension,
	"cluster":    clusterExtension,
	"comment":    commentExtension,
	"connbytes":  connbytesExtension,
	"connlabel":  connlabelExtension,
	"connlimit":  connlimitExtension,
	"connmark":   connmarkExtension,
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
	"mark":       markExtension,
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
	"set":        setExtension,
	"socket":     socketExtension,
	"srh":        srhExtension,
	"state":      stateExtension,
	"statistic":  statisticExtension,
	"string":     stringExtension,
	"tcp":        tcpExtension,
	"tcpmss":     tcpmssExtension,
	"time":       timeExtension,
	"tos":        tosExtension,
	"ttl":        ttlExtension,
	"u32":        u32Extension,
	"udp":        udpExtension,
}

// Find returns the match of that name for the family, nil if there is none.
func Find(name []byte, f netfilter.Family) *xtables.Extension {
	switch string(name) {
	case "icmpv6", "ipv6-icmp":
		name = []byte("icmp6")
	case "ah":
		if f == netfilter.IPv6 {
			return ah6Extension
		}
	}
	return extensions[string(name)].In(f)
}

// Types has a value of every type of match, for who keeps rules.
func Types() []any {
	return []any{
		&Addrtype{}, &AH{}, &BPF{}, &Cgroup{}, &Cluster{}, &Comment{}, &Connbytes{}, &Connlabel{},
		&Connlimit{}, &Connmark{}, &Conntrack{}, &CPU{}, &DCCP{}, &Devgroup{}, &DSCP{}, &ECN{},
		&ESP{}, &EUI64{}, &Frag{}, &Hashlimit{}, &Helper{}, &ICMP{}, &IPComp{}, &IPRange{},
		&IPv6Header{}, &IPv6Opts{}, &Length{}, &Limit{}, &MAC{}, &Mark{}, &MH{}, &Multiport{},
		&NFAcct{}, &OSF{}, &Owner{}, &Physdev{}, &PktType{}, &Policy{}, &Quota{}, &Rateest{},
		&Realm{}, &Recent{}, &RPFilter{}, &RT{}, &SCTP{}, &Set{}, &Socket{}, &SRH{}, &State{},
		&Statistic{}, &String{}, &TCP{}, &TCPMSS{}, &Time{}, &TOS{}, &TTL{}, &U32{}, &UDP{},
	}
}

// All yields the matches of -m by their names, in no order.
func All() iter.Seq2[string, *xtables.Extension] { return maps.All(extensions) }
