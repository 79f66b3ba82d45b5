package differ

// Kinds of values that several extensions have.
var (
	ports      = spanOf(port, ":")
	portList   = listOf(spanOf(port, ":"), ",", 15)
	directions = spelled(wordOf("in", "out"))
	tosWord    = either(masked(byteNumber), wordOf("Minimize-Delay", "Maximize-Throughput", "Maximize-Reliability", "Minimize-Cost",
		"Normal-Service", "0x10"))
	dscpClass = spelled(wordOf("EF", "BE", "CS0", "CS1", "CS7", "AF11", "AF43", "cs8", "VA", "LE"))
	setName   = often(wordOf("cwip", "cwnet", "cwipport", "cwport", "cwlist", "cwipportip"), textWord, 15)
	setSides  = often(listOf(wordOf("src", "dst"), ",", 6), wordOf("", "x", "src,", ",", "SRC", "src dst", "srcdst"), 12)
	setRef    = chained(behindBlank, setName, setSides)
	rate      = often(chained("/", numberTo(10000), wordOf("s", "sec", "second", "m", "min", "h", "hour", "d", "day")),
		either(numberTo(1000001), chained("/", numberTo(100000), wordOf("", "x", "SEC", "se", "minut", "days", "week", "ss"))), 25)
	byteRate = chained("", numberTo(4200000), wordOf("b/s", "kb/s", "mb/s", "gb/s", "B/s", "kb/min", "kbit", "b", "/s"))
	stateSet = listOf(spelled(wordOf("NEW", "ESTABLISHED", "RELATED", "INVALID", "UNTRACKED", "SNAT", "DNAT")), ",", 7)
	clock    = chained(":", numberTo(23), numberTo(59))
	date     = often(wordOf("2024-01-02T03:04:05", "2024-01-02", "2024-01", "2024", "1970-01-01", "2038-01-19T03:14:07",
		"2024-01-02T03:04"),
		wordOf("1969-12-31", "2038-01-19T03:14:08", "2039-01-01", "1970-01-01T00:00:00", "2024-13-01", "2024-02-30", "2024-00-00",
			"2024-01-02 03:04", "x", "",
			"2024-01-02T24:00:00", "2024-01-02T03:60", "20240102", "2024-1-2", "2024-01-02T", "9999-01-01", "1970-01-01T00:00:01",
			"02024-01-01"), 35)
	tcpFlag  = often(wordOf("SYN", "ACK", "FIN", "RST", "URG", "PSH", "ALL", "NONE"), wordOf("syn", "", "X", "SYN,", "CWR"), 6)
	tcpFlags = listOf(tcpFlag, ",", 6)
	spiRange = spanOf(wideNumber, ":")
	macWord  = often(wordOf("00:11:22:33:44:55", "aa:BB:cc:dd:EE:ff", "0:1:2:3:4:5"), wordOf("00-11-22-33-44-55", "00:11:22:33:44",
		"00:11:22:33:44:55:66", "g0:11:22:33:44:55", "", "001122334455", "00:11:22:33:44:5x", "000:11:22:33:44:55", "+1:1:1:1:1:1"),
		25)
	hexString = often(wordOf("|41 42|", "a|0d0a|b", "|4142|", "abc"), wordOf("|4", "|4|", "|zz|", "||", "|41", "41|", "a\\|b",
		"|41|42|43|", "|4 1|", "\\x"), 40)
	userWord = often(spanOf(wideNumber, "-"), wordOf("root", "nobody", "daemon", "nosuch", "root-", "Root", "0-0", "5-4", "www-data",
		"root-nobody", "root-5"), 35)
	groupWord  = often(spanOf(wideNumber, "-"), wordOf("root", "nogroup", "daemon", "nosuch", "adm", "users-", "5-4", "sudo", "root-5"), 35)
	addrRange  = often(chained("-", addressWord, addressWord), addressWord, 20)
	pathWord   = wordOf("/", "/nosuch", "relative", "", "//", "/.", "/a b")
	bpfProgram = wordOf("1,6 0 0 0", "4,48 0 0 9,21 0 1 6,6 0 0 1,6 0 0 0", "2,48 0 0 9,6 0 0 1", "1,6 0 0 4294967295", "1,6 0 0 0,",
		"2,6 0 0 0", "0", "", "x",
		"1,6 0 0", "1,6 0 0 0 0", "65,6 0 0 0", "1,65536 0 0 0", "1,6 256 0 0", "1,6 0 0 4294967296", " 1,6 0 0 0", "1, 6 0 0 0",
		"1,6  0 0 0", "-1,6 0 0 0", "1,99 0 0 0",
		"1,6 0 0 0x1", "4,48 0 0 9,21 9 9 6,6 0 0 1,6 0 0 0")
	u32Program = wordOf("0=0", "6&0xFF=1", "0>>22&0x3C@0>>24=0", "0=1:5,7", "0=5:1", "0x10 = 5", "0&0xff=1&&4=2", "0<<2=5", "0", "",
		"0=", "=0", "x", "0=x", "0&=1", "0=1,",
		"4294967295=0:4294967295", "4294967296=0", "0=1&&", "0=1 && 4=2", "0>5=6", "0@=5", "0=-1", "0=010", "0 =1", "0= 1", "0=1 ",
		"0=1:", "0=:1", "0&1&2@3<<4>>5=6",
		"0=1,2,3,4,5,6,7,8,9,10", "0=1,2,3,4,5,6,7,8,9,10,11", "0&1&2&3&4&5&6&7&8&9&10&11=1",
		"0=1&&0=1&&0=1&&0=1&&0=1&&0=1&&0=1&&0=1&&0=1&&0=1&&0=1", "0=1|2")
	icmpWord = either(chained("/", byteNumber, byteNumber), byteNumber, spelled(wordOf("echo-request", "echo-reply", "ping", "pong",
		"any", "host-unreachable",
		"destination-unreachable", "fragmentation-needed", "time-exceeded", "ttl-exceeded", "redirect", "network-redirect",
		"TOS-network-unreachable",
		"timestamp-request", "router-advertisement", "parameter-problem", "bad-header")))
	icmp6Word = either(chained("/", byteNumber, byteNumber), byteNumber, spelled(wordOf("echo-request", "echo-reply", "no-route",
		"packet-too-big", "neighbour-solicitation",
		"neighbor-advertisement", "destination-unreachable", "time-exceeded", "unknown-option", "router-solicitation", "redirect",
		"port-unreachable", "beyond-scope",
		"failed-policy", "mld-listener-query", "bad-header", "ttl-zero-during-transit", "any")))
	chunkTypes = chained(behindBlank, spelled(wordOf("all", "any", "only")), often(listOf(spelled(wordOf("DATA", "INIT", "INIT_ACK",
		"SACK", "HEARTBEAT", "ABORT", "SHUTDOWN",
		"ERROR", "COOKIE_ECHO", "ASCONF", "FORWARD_TSN", "SHUTDOWN_COMPLETE", "I_DATA", "RE_CONFIG", "PAD", "ECN_ECNE", "ECN_CWR",
		"HEARTBEAT_ACK")), ",", 5),
		wordOf("ALL", "NONE", "DATA:UBE", "DATA:Ub", "ABORT:T", "ABORT:t", "DATA:X", "INIT:U", "DATA:", "SHUTDOWN_COMPLETE:T",
			"DATA:u,INIT", "DATA:I", "I_DATA:I", "ABORT:TT", "data:Uu"), 30))
	dccpTypes = listOf(spelled(wordOf("REQUEST", "RESPONSE", "DATA", "ACK", "DATAACK", "CLOSEREQ", "CLOSE", "RESET", "SYNC", "SYNCACK",
		"INVALID")), ",", 11)
	ip6Opts = often(listOf(often(byteNumber, chained(":", byteNumber, byteNumber), 50), ",", 16), wordOf("", ":", "1:2:3", "1,", ",1",
		"256", "0:0,1:1"), 12)
	tcpPorts = map[string]valueKind{"source-port": ports, "sport": ports, "destination-port": ports, "dport": ports}
)

// with is a table with more kinds.
func with(kinds map[string]valueKind, more map[string]valueKind) map[string]valueKind {
	all := map[string]valueKind{}
	for name, kind := range kinds {
		all[name] = kind
	}
	for name, kind := range more {
		all[name] = kind
	}
	return all
}

// matchDrawings say how matches are drawn.
var matchDrawings = map[string]drawing{
	"addrtype": {values: map[string]valueKind{"src-type": addrTypes, "dst-type": addrTypes}, needs: []string{"src-type|dst-type"}},
	"ah":       {before: []string{"-p ah", "-p 51"}, values: map[string]valueKind{"ahspi": spiRange, "ahlen": wideNumber}},
	"bpf": {needs: []string{"bytecode|bytecode|bytecode|object-pinned"}, values: map[string]valueKind{"bytecode": bpfProgram,
		"object-pinned": pathWord}},
	"cgroup": {at: []string{"filter INPUT OUTPUT", "mangle INPUT OUTPUT POSTROUTING"}, needs: []string{"path|cgroup|cgroup"},
		values: map[string]valueKind{"path": pathWord, "cgroup": wideNumber}},
	"cluster": {needs: []string{"cluster-total-nodes", "cluster-local-node|cluster-local-nodemask", "cluster-hash-seed"},
		values: map[string]valueKind{"cluster-total-nodes": numberTo(32), "cluster-local-node": numberTo(32),
			"cluster-local-nodemask": wideNumber,
			"cluster-hash-seed":      wideNumber}},
	"comment": {needs: []string{"comment"}, values: map[string]valueKind{"comment": often(wordOf("a", "a b",
		"default/web:http cluster IP"), oddText, 70)}},
	"connbytes": {needs: []string{"connbytes", "connbytes-dir", "connbytes-mode"}, values: map[string]valueKind{
		"connbytes": spanOf(longNumber, ":"), "connbytes-dir": spelled(wordOf("original", "reply", "both")),
		"connbytes-mode": spelled(wordOf("packets", "bytes", "avgpkt"))}},
	"connlabel": {needs: []string{"label"}, values: map[string]valueKind{"label": often(numberTo(128), textWord, 15)},
		more: []string{"set"}},
	"connlimit": {needs: []string{"connlimit-above|connlimit-upto"}, values: map[string]valueKind{
		"connlimit-above": wideNumber, "connlimit-upto": wideNumber, "connlimit-mask": often(numberTo(32), wordOf("33", "128", "129",
			"255.255.0.0", "ffff::"), 15)}},
	"connmark": {needs: []string{"mark"}, values: map[string]valueKind{"mark": masked(mark)}},
	"conntrack": {values: map[string]valueKind{
		"ctstate": stateSet, "ctproto": protocolWord, "ctorigsrc": networkWord, "ctorigdst": networkWord, "ctreplsrc": networkWord,
		"ctrepldst": networkWord, "ctorigsrcport": ports, "ctorigdstport": ports, "ctreplsrcport": ports, "ctrepldstport": ports,
		"ctstatus": listOf(spelled(wordOf("NONE", "EXPECTED", "SEEN_REPLY", "ASSURED", "CONFIRMED")), ",", 5),
		"ctexpire": spanOf(wideNumber, ":"),
		"ctdir":    spelled(wordOf("ORIGINAL", "REPLY"))},
		needs: []string{"ctstate|ctproto|ctorigsrc|ctstatus|ctexpire|ctdir|ctrepldstport"}},
	"cpu": {needs: []string{"cpu"}, values: map[string]valueKind{"cpu": wideNumber}},
	"dccp": {before: []string{"-p dccp", "-p 33"}, values: with(tcpPorts, map[string]valueKind{"dccp-types": dccpTypes,
		"dccp-option": byteNumber})},
	"devgroup": {at: []string{"filter FORWARD", "mangle FORWARD", "mangle PREROUTING"}, needs: []string{"src-group|dst-group"},
		values: map[string]valueKind{"src-group": either(masked(wideNumber), wordOf("default", "x")),
			"dst-group": either(masked(wideNumber), wordOf("default", "x"))}},
	"dscp": {needs: []string{"dscp|dscp-class"}, values: map[string]valueKind{"dscp": numberTo(63), "dscp-class": dscpClass}},
	"dst": {needs: []string{"dst-len|dst-opts"}, values: map[string]valueKind{"dst-len": wideNumber, "dst-opts": ip6Opts},
		more: []string{"dst-not-strict"}},
	"ecn": {before: []string{"-p tcp"}, needs: []string{"ecn-ip-ect|ecn-tcp-ece|ecn-tcp-cwr"},
		values: map[string]valueKind{"ecn-ip-ect": numberTo(3)},
		more:   []string{"ecn-tcp-ece", "ecn-tcp-cwr"}},
	"esp":   {before: []string{"-p esp", "-p 50"}, values: map[string]valueKind{"espspi": spiRange}},
	"eui64": {at: []string{"filter INPUT", "mangle PREROUTING"}},
	"frag":  {values: map[string]valueKind{"fragid": spiRange, "fraglen": wideNumber}},
	"hashlimit": {needs: []string{"hashlimit-upto|hashlimit-above|hashlimit", "hashlimit-name"}, values: map[string]valueKind{
		"hashlimit": rate, "hashlimit-upto": either(rate, rate, byteRate), "hashlimit-above": either(rate, rate, byteRate),
		"hashlimit-burst": often(numberTo(10000), chained("", numberTo(4096), wordOf("b", "k", "kb", "m", "mb", "g")), 30),
		"hashlimit-mode": often(listOf(wordOf("srcip", "dstip", "srcport", "dstport"), ",", 5), wordOf("", "none", "SRCIP",
			"srcip|dstip", ","), 12),
		"hashlimit-name": often(plainName, oddText, 15), "hashlimit-srcmask": numberTo(32), "hashlimit-dstmask": numberTo(32),
		"hashlimit-htable-size": often(numberTo(1<<20), wordOf("-1", "0", "4294967296", "x"), 20), "hashlimit-htable-max": wideNumber,
		"hashlimit-htable-gcinterval": wideNumber, "hashlimit-htable-expire": wideNumber, "hashlimit-rate-interval": wideNumber},
		more: []string{"hashlimit", "hashlimit-rate-match"}},
	"hbh": {needs: []string{"hbh-len|hbh-opts"}, values: map[string]valueKind{"hbh-len": wideNumber, "hbh-opts": ip6Opts},
		more: []string{"hbh-not-strict"}},
	"helper": {needs: []string{"helper"}, values: map[string]valueKind{"helper": often(wordOf("ftp", "irc", "sip-5060"), textWord,
		25)}},
	"hl": {needs: []string{"hl-eq|hl-lt|hl-gt"}, values: map[string]valueKind{"hl-eq": byteNumber, "hl-lt": byteNumber,
		"hl-gt": byteNumber}, more: []string{"hl"}},
	"icmp": {before: []string{"-p icmp", "-p 1"}, needs: []string{"icmp-type"}, values: map[string]valueKind{"icmp-type": icmpWord}},
	"icmp6": {before: []string{"-p icmpv6", "-p ipv6-icmp", "-p 58"}, needs: []string{"icmpv6-type"},
		values: map[string]valueKind{"icmpv6-type": icmp6Word}},
	"ipcomp":  {before: []string{"-p ipcomp", "-p 108"}, values: map[string]valueKind{"ipcompspi": spiRange}, more: []string{"compres"}},
	"iprange": {needs: []string{"src-range|dst-range"}, values: map[string]valueKind{"src-range": addrRange, "dst-range": addrRange}},
	"ipv6header": {needs: []string{"header"}, values: map[string]valueKind{"header": listOf(spelled(wordOf("hop-by-hop", "ipv6-opts",
		"ipv6-route", "ipv6-frag", "ah", "esp", "none", "prot", "hop", "dst", "route", "frag", "auth", "proto", "ipv6-nonxt")), ",",
		8)}},
	"length": {needs: []string{"length"}, values: map[string]valueKind{"length": spanOf(shortNumber, ":")}},
	"limit":  {values: map[string]valueKind{"limit": rate, "limit-burst": numberTo(10000)}},
	"mac": {at: []string{"filter INPUT", "filter FORWARD", "mangle PREROUTING", "raw PREROUTING"}, needs: []string{"mac-source"},
		values: map[string]valueKind{"mac-source": macWord}},
	"mark": {needs: []string{"mark"}, values: map[string]valueKind{"mark": masked(mark)}},
	"mh": {before: []string{"-p mh", "-p ipv6-mh", "-p 135"},
		values: map[string]valueKind{"mh-type": spanOf(spelled(either(byteNumber, wordOf("brr", "hoti", "coti", "bu", "binding-ack",
			"be", "binding-refresh-request", "cot"))), ":")}},
	"multiport": {before: []string{"-p tcp", "-p udp", "-p sctp", "-p dccp", "-p udplite"},
		needs: []string{"ports|dports|sports|source-ports|destination-ports|port"}, values: map[string]valueKind{"ports": portList,
			"dports": portList, "sports": portList, "source-ports": portList, "destination-ports": portList, "port": portList},
		more: []string{"port"}},
	"nfacct": {needs: []string{"nfacct-name"}, values: map[string]valueKind{"nfacct-name": often(wordOf("cw-one", "cw-two"),
		textWord, 20)}},
	"osf": {before: []string{"-p tcp"}, at: []string{"filter INPUT", "filter FORWARD", "mangle PREROUTING"},
		needs: []string{"genre"}, values: map[string]valueKind{"genre": textWord, "ttl": numberTo(2), "log": numberTo(2)}},
	"owner": {at: []string{"filter OUTPUT", "mangle OUTPUT", "mangle POSTROUTING", "nat OUTPUT"},
		values: map[string]valueKind{"uid-owner": userWord, "gid-owner": groupWord},
		needs:  []string{"uid-owner|gid-owner|socket-exists"}},
	"physdev": {at: []string{"filter FORWARD", "filter FORWARD", "mangle FORWARD", "filter INPUT", "mangle POSTROUTING", "filter OUTPUT"},
		needs:  []string{"physdev-in|physdev-out|physdev-is-in|physdev-is-bridged"},
		values: map[string]valueKind{"physdev-in": deviceWord, "physdev-out": deviceWord}},
	"pkttype": {needs: []string{"pkt-type"}, values: map[string]valueKind{"pkt-type": spelled(wordOf("unicast", "broadcast",
		"multicast", "host", "otherhost", "bcast", "mcast", "outgoing", "loopback", "fastroute"))}},
	"policy": {at: []string{"filter FORWARD", "filter INPUT", "filter OUTPUT", "mangle FORWARD"}, needs: []string{"dir", "pol"},
		values: map[string]valueKind{
			"dir": directions, "pol": spelled(wordOf("none", "ipsec", "ipsec")), "reqid": wideNumber, "spi": wideNumber,
			"proto": often(wordOf("esp", "ah", "ipcomp"), protocolWord, 30),
			"mode":  spelled(wordOf("tunnel", "transport")), "tunnel-src": networkWord, "tunnel-dst": networkWord},
		more: []string{"proto"}},
	"quota": {needs: []string{"quota"}, values: map[string]valueKind{"quota": longNumber}},
	"rateest": {values: map[string]valueKind{"rateest": plainName, "rateest1": plainName, "rateest2": plainName},
		needs: []string{"rateest|rateest1", "rateest-lt|rateest-gt|rateest-eq", "rateest-bps|rateest-pps"}},
	"realm": {at: []string{"filter INPUT", "filter FORWARD", "filter OUTPUT"}, needs: []string{"realm"},
		values: map[string]valueKind{"realm": either(masked(wideNumber), wordOf("cosmos", "x"))}},
	"recent": {values: map[string]valueKind{"name": often(plainName, oddText, 15), "seconds": often(numberTo(100), wideNumber, 20),
		"hitcount": numberTo(255), "mask": often(networkMask, addressWord, 20)},
		needs: []string{"set|rcheck|update|remove"}},
	"rpfilter": {at: []string{"raw PREROUTING", "mangle PREROUTING"}},
	"rt": {values: map[string]valueKind{"rt-type": wideNumber, "rt-segsleft": spiRange, "rt-len": wideNumber,
		"rt-0-addrs": listOf(addressWord, ",", 16)}},
	"sctp": {before: []string{"-p sctp", "-p 132"}, values: with(tcpPorts, map[string]valueKind{"chunk-types": chunkTypes})},
	"set": {needs: []string{"match-set"}, values: map[string]valueKind{"match-set": setRef, "bytes-eq": longNumber,
		"bytes-gt": longNumber, "bytes-lt": longNumber,
		"packets-eq": longNumber, "packets-gt": longNumber, "packets-lt": longNumber}},
	"socket": {at: []string{"filter INPUT", "mangle PREROUTING", "mangle INPUT"}},
	"srh": {values: map[string]valueKind{"srh-next-hdr": either(byteNumber, protocolWord), "srh-hdr-len-eq": byteNumber,
		"srh-hdr-len-gt": byteNumber, "srh-hdr-len-lt": byteNumber,
		"srh-segs-left-eq": byteNumber, "srh-segs-left-gt": byteNumber, "srh-segs-left-lt": byteNumber, "srh-last-entry-eq": byteNumber,
		"srh-last-entry-gt": byteNumber,
		"srh-last-entry-lt": byteNumber, "srh-tag": shortNumber, "srh-psid": networkWord, "srh-nsid": networkWord,
		"srh-lsid": networkWord}},
	"state": {needs: []string{"state"}, values: map[string]valueKind{"state": stateSet}},
	"statistic": {needs: []string{"mode", "every|probability"}, values: map[string]valueKind{"mode": spelled(wordOf("nth", "random")),
		"every": wideNumber, "packet": numberTo(9),
		"probability": wordOf("0.5", "0", "1", "0.33333333349", "1.0", "1.1", "-0.1", "", "x", ".5", "5.", "0x1p-2", "1e-1", "nan",
			"inf", "0.00000000001", "0.9999999999", "+0.5", " 0.5", "0.5x", "0,5")}},
	"string": {needs: []string{"algo", "string|hex-string"}, values: map[string]valueKind{"algo": spelled(wordOf("bm", "kmp", "bm",
		"fsm")), "string": textWord, "hex-string": hexString,
		"from": shortNumber, "to": shortNumber}},
	"tcp": {before: []string{"-p tcp", "-p tcp", "-p 6"}, values: with(tcpPorts,
		map[string]valueKind{"tcp-flags": chained(behindBlank, tcpFlags, tcpFlags), "tcp-option": byteNumber})},
	"tcpmss": {before: []string{"-p tcp", "-p tcp --syn"}, needs: []string{"mss"},
		values: map[string]valueKind{"mss": spanOf(shortNumber, ":")}},
	"time": {values: map[string]valueKind{"timestart": often(clock, clockWithSeconds, 30), "timestop": often(clock, clockWithSeconds,
		30), "datestart": date, "datestop": date,
		"monthdays": listOf(numberTo(31), ",", 31), "weekdays": listOf(spelled(either(numberTo(7), wordOf("Mon", "Tue", "Wed", "Thu",
			"Fri", "Sat", "Sun", "Monday", "Xyz"))), ",", 7)},
		more: []string{"contiguous"}},
	"tos": {needs: []string{"tos"}, values: map[string]valueKind{"tos": tosWord}},
	"ttl": {needs: []string{"ttl-eq|ttl-lt|ttl-gt"}, values: map[string]valueKind{"ttl-eq": byteNumber, "ttl-lt": byteNumber,
		"ttl-gt": byteNumber, "ttl": byteNumber}, more: []string{"ttl"}},
	"u32": {needs: []string{"u32"}, values: map[string]valueKind{"u32": u32Program}},
	"udp": {before: []string{"-p udp", "-p udp", "-p 17"}, values: tcpPorts},
}

var (
	addrTypes = listOf(spelled(wordOf("LOCAL", "UNICAST", "BROADCAST", "MULTICAST", "ANYCAST", "BLACKHOLE", "UNREACHABLE",
		"PROHIBIT", "UNSPEC", "THROW", "NAT", "XRESOLVE")), ",", 12)
	clockWithSeconds = often(chained(":", numberTo(23), numberTo(59), numberTo(59)), wordOf("24:00", "23:60", "", ":", "1", "1:2:3:4",
		"x:1", "01:02x", "00:00:00", "-1:5", "1:", ":1", "001:002", " 1:2", "23:59:60"), 50)
	networkMask = wordOf("255.255.255.0", "255.255.255.255", "0.0.0.0", "255.0.255.0", "ffff:ffff::", "::",
		"ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff", "24", "64")
)
