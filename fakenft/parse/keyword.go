package parse

import (
	"strings"
	"sync"
)

// scope is where the scanner looks words up. A word opens one, and what it begins closes it.
type scope uint8

// The scopes. Words of scopeBase are keywords everywhere.
const (
	scopeBase scope = iota
	scopeAH
	scopeARP
	scopeAt
	scopeComp
	scopeCT
	scopeCounter
	scopeDCCP
	scopeDst
	scopeDup
	scopeESP
	scopeEther
	scopeExport
	scopeFib
	scopeFrag
	scopeFwd
	scopeHash
	scopeHBH
	scopeIP
	scopeIP6
	scopeVLAN
	scopeICMP
	scopeIGMP
	scopeImport
	scopeIPsec
	scopeList
	scopeLimit
	scopeMeta
	scopeMH
	scopeMonitor
	scopeNAT
	scopeNumgen
	scopeOsf
	scopePolicy
	scopeQuota
	scopeQueue
	scopeReject
	scopeReset
	scopeRT
	scopeSCTP
	scopeChunk
	scopeSecmark
	scopeSocket
	scopeTCP
	scopeTproxy
	scopeType
	scopeTH
	scopeUDP
	scopeUDPLite
	scopeLog
	scopeSynproxy
	scopeXT
	scopes
)

// keywords are the words of each scope, seen in what nft says about them.
var keywords = [scopes]string{
	scopeBase: "accept add ah all and arp auto-merge bridge cgroup chain comment comp constant continue counter cpu create ct day dccp " +
		"define delete describe device devices dnat drop dst dup dynamic ecn element elements eq esp ether exists expires export " +
		"exthdr fib flags flow flowtable flush frag fwd gc-interval ge get goto gt handle hbh hook hour ibriport ibrname icmp " +
		"icmpv6 igmp iif iifgroup iifname iiftype import include index inet insert interval ip ip6 ipsec jhash jump le limit list " +
		"log lshift lt map mark masquerade meta meter mh missing monitor ne netdev nftrace not notrack numgen obriport obrname " +
		"offload oif oifgroup oifname oiftype or osf pkttype policy position priority queue quota random redefine redirect reject " +
		"rename replace reset return rshift rt rt0 rt2 rtclassid rule ruleset sctp secmark set size skgid skuid snat socket srh " +
		"symhash synproxy table tcp th time timeout tproxy type typeof udp udplite undefine update vlan vmap xor xt",
	scopeAH:   "hdrlength nexthdr reserved sequence spi",
	scopeARP:  "daddr hlen htype operation plen ptype saddr",
	scopeAt:   "ll nh",
	scopeComp: "cpi nexthdr",
	scopeCT: "avgpkt bytes count daddr direction dport event expectation expiration helper helpers id l3proto label original over " +
		"packets proto-dst proto-src protocol reply saddr state status zone",
	scopeCounter: "bytes name packets",
	scopeDCCP:    "dport sport",
	scopeDst:     "hdrlength nexthdr",
	scopeDup:     "to",
	scopeESP:     "sequence spi",
	scopeEther:   "daddr saddr",
	scopeExport:  "json vm xml",
	scopeFib:     "daddr saddr",
	scopeFrag:    "frag-off id more-fragments nexthdr reserved reserved2",
	scopeFwd:     "to",
	scopeHash:    "mod offset seed",
	scopeHBH:     "hdrlength nexthdr",
	scopeIP: "addr checksum daddr dscp frag-off hdrlength id length lsrr option options prefix protocol ptr ra rr saddr ssrr to ttl " +
		"value version",
	scopeIP6:     "addr daddr dscp flowlabel hoplimit length nexthdr prefix saddr to version",
	scopeVLAN:    "cfi dei id pcp",
	scopeICMP:    "checksum code gateway id max-delay mtu param-problem sequence",
	scopeIGMP:    "checksum group mrt",
	scopeImport:  "json vm xml",
	scopeIPsec:   "daddr in out reqid saddr spi spnum",
	scopeList:    "chains counters flowtables hooks limits maps meters quotas secmarks sets synproxys tables",
	scopeLimit:   "burst bytes minute name over packets rate second week",
	scopeMeta:    "length protocol",
	scopeMH:      "checksum hdrlength nexthdr reserved",
	scopeMonitor: "chains json rules sets tables trace vm xml",
	scopeNAT:     "addr fully-random persistent port prefix to",
	scopeNumgen:  "inc mod offset",
	scopeOsf:     "name ttl version",
	scopePolicy:  "memory performance",
	scopeQuota:   "bytes name over until used",
	scopeQueue:   "bypass fanout num to",
	scopeReject:  "icmpx with",
	scopeReset:   "counters quotas",
	scopeRT:      "addr classid hdrlength last-entry mtu nexthdr nexthop seg-left sid tag",
	scopeSCTP:    "checksum chunk dport length sport vtag",
	scopeChunk: "a-rwnd abort asconf asconf-ack cookie-ack cookie-echo cum-tsn-ack cwr data ecne error forward-tsn heartbeat " +
		"heartbeat-ack init init-ack init-tag initial-tsn length lowest-tsn new-cum-tsn num-dup-tsns num-gap-ack-blocks " +
		"num-inbound-streams num-outbound-streams ppid sack seqno shutdown shutdown-ack shutdown-complete ssn stream tsn",
	scopeSocket: "cgroupv2 level transparent wildcard",
	scopeTCP: "ackseq checksum count doff dport echo eol fastopen left length maxseg md5sig mptcp mss noop nop option options reserved " +
		"right sack sack-perm sack-permitted sack0 sack1 sack2 sack3 sequence sport subtype timestamp tsecr tsval urgptr window",
	scopeTproxy:   "to",
	scopeType:     "classid dscp protocol",
	scopeTH:       "dport sport",
	scopeUDP:      "checksum dport length sport",
	scopeUDPLite:  "checksum csumcov dport sport",
	scopeLog:      "group level prefix queue-threshold snaplen",
	scopeSynproxy: "maxseg mss name sack-perm sack-permitted timestamp wscale",
}

// synonyms are words whose token has another name.
var synonyms = map[string]token{
	"and":       tokAmp,
	"eq":        tokEq,
	"ge":        tokGte,
	"gt":        tokGt,
	"le":        tokLte,
	"lshift":    tokLshift,
	"lt":        tokLt,
	"maxseg":    tokMss,
	"ne":        tokNeq,
	"noop":      tokNop,
	"not":       tokNot,
	"or":        tokPipe,
	"rshift":    tokRshift,
	"sack-perm": tokSackPermitted,
	"sequence":  tokSeq,
	"xor":       tokCaret,
}

// opens is the scope that a token opens.
var opens = [tokens]scope{
	tokAh:         scopeAH,
	tokArp:        scopeARP,
	tokAt:         scopeAt,
	tokComp:       scopeComp,
	tokCt:         scopeCT,
	tokCounter:    scopeCounter,
	tokDccp:       scopeDCCP,
	tokDst:        scopeDst,
	tokDup:        scopeDup,
	tokEsp:        scopeESP,
	tokEther:      scopeEther,
	tokExport:     scopeExport,
	tokFib:        scopeFib,
	tokFrag:       scopeFrag,
	tokFwd:        scopeFwd,
	tokJhash:      scopeHash,
	tokHbh:        scopeHBH,
	tokIp:         scopeIP,
	tokIp6:        scopeIP6,
	tokVlan:       scopeVLAN,
	tokIcmp:       scopeICMP,
	tokIgmp:       scopeIGMP,
	tokImport:     scopeImport,
	tokIpsec:      scopeIPsec,
	tokList:       scopeList,
	tokLimit:      scopeLimit,
	tokMeta:       scopeMeta,
	tokMh:         scopeMH,
	tokMonitor:    scopeMonitor,
	tokDnat:       scopeNAT,
	tokNumgen:     scopeNumgen,
	tokOsf:        scopeOsf,
	tokPolicy:     scopePolicy,
	tokQuota:      scopeQuota,
	tokQueue:      scopeQueue,
	tokReject:     scopeReject,
	tokReset:      scopeReset,
	tokRt:         scopeRT,
	tokSctp:       scopeSCTP,
	tokSecmark:    scopeSecmark,
	tokSocket:     scopeSocket,
	tokTcp:        scopeTCP,
	tokTproxy:     scopeTproxy,
	tokType:       scopeType,
	tokTh:         scopeTH,
	tokUdp:        scopeUDP,
	tokUdplite:    scopeUDPLite,
	tokLog:        scopeLog,
	tokSynproxy:   scopeSynproxy,
	tokXt:         scopeXT,
	tokSymhash:    scopeHash,
	tokIcmpv6:     scopeICMP,
	tokSnat:       scopeNAT,
	tokMasquerade: scopeNAT,
	tokRedirect:   scopeNAT,
	tokRt0:        scopeRT,
	tokRt2:        scopeRT,
	tokSrh:        scopeRT,
	tokChunk:      scopeChunk,
}

// word is an entry of the table that words are looked up in: the token of a text, and a bit for each scope that has it.
type word struct {
	text string
	tok  token
	in   uint64
}

// longestWord is the length of the longest keyword.
const longestWord = 20

// words is a hash table with open addressing. It is less than half full.
var words = sync.OnceValue(makeWords)

func makeWords() *[1024]word {
	names := make(map[string]token, len(tokenNames))
	for i, name := range tokenNames {
		names[name] = token(i)
	}
	table := new([1024]word)
	for s, list := range keywords {
		for _, text := range strings.Fields(list) {
			tok, ok := synonyms[text]
			if !ok {
				tok = names[text]
			}
			i := hash(text)
			for table[i].text != "" && table[i].text != text {
				i = (i + 1) % uint32(len(table))
			}
			table[i].text, table[i].tok = text, tok
			table[i].in |= 1 << s
		}
	}
	return table
}

func hash(text string) uint32 {
	h := uint32(len(text))
	for i := 0; i < len(text); i++ {
		h = h*31 + uint32(text[i])
	}
	return (h ^ h>>10) % 1024
}

// lookup is the token of a word in a scope; tokString if it is no keyword there.
func lookup(text string, in scope) token {
	if len(text) > longestWord {
		return tokString
	}
	table := words()
	for i := hash(text); table[i].text != ""; i = (i + 1) % uint32(len(table)) {
		if table[i].text == text {
			if table[i].in&(1|1<<in) != 0 {
				return table[i].tok
			}
			return tokString
		}
	}
	return tokString
}
