package differ

import "fmt"

var (
	natPort = wordOf("80", "8080", "1:2", "0", "65535", "65536", "80-90", "90-80", "http", "", "x", "1-65535", "80-90/100",
		"http-https", "1-2-3", "0-0", "80-", "-80")
	natRange = often(either(addressWord, chained("-", addressWord, addressWord), chained(":", addressWord, natPort), chained("",
		wordOf(":"), natPort), bracketed), oddText, 4)
	zone     = often(shortNumber, wordOf("mark", "MARK", "x"), 20)
	ctEvents = listOf(spelled(wordOf("new", "related", "destroy", "reply", "assured", "protoinfo", "helper", "mark", "natseqinfo",
		"secmark", "label")), ",", 10)
	logLevel = spelled(either(numberTo(7), wordOf("debug", "info", "notice", "warning", "warn", "err", "error", "crit", "alert",
		"emerg", "panic")))
	inMangle = []string{"mangle PREROUTING INPUT FORWARD OUTPUT POSTROUTING"}
	prefix6  = often(wordOf("fd00:1::/64", "fd00:2::/48", "fd00::/16", "2001:db8::/32", "::/0", "fd00:1::5/64"), either(networkWord,
		wordOf("fd00::", "fd00::/65", "fd00::/129", "fd00::/x", "::1/128")), 25)
	rateTime = often(wordOf("250ms", "500ms", "1s", "2s", "4s", "8s", "1sec"), wordOf("0", "1", "1ms", "3s", "16s", "x", "", "1.5s",
		"250us", "-1s", "1m", "1000000", "100ms", "1S", "32s", "64s", "99999999s"), 30)
	prefixLen = numberTo(32)
)

// bracketed draws an IPv6 address with a port.
func bracketed(g *textGen) string { return "[" + addressWord(g) + "]:" + natPort(g) }

// targetDrawings say how targets are drawn.
var targetDrawings = map[string]drawing{
	"AUDIT":    {needs: []string{"type"}, values: map[string]valueKind{"type": spelled(wordOf("accept", "drop", "reject"))}},
	"CHECKSUM": {at: inMangle, needs: []string{"checksum-fill"}},
	"CLASSIFY": {at: []string{"mangle FORWARD OUTPUT POSTROUTING", "filter FORWARD OUTPUT"}, needs: []string{"set-class"},
		values: map[string]valueKind{"set-class": often(chained(":", wordOf("1", "0", "ffff", "10000", "a", "-1", "fffff"), wordOf("1",
			"0", "ffff", "10000", "b", "")), wordOf("1", ":", "", "1:2:3", "x:y", " 1:2", "0x1:0x2", "root", "none"), 20)}},
	"CLUSTERIP": {},
	"CONNMARK": {at: inMangle, needs: []string{"set-mark|set-xmark|save-mark|restore-mark|and-mark|or-mark|xor-mark"},
		values: map[string]valueKind{"set-mark": masked(mark), "set-xmark": masked(mark), "and-mark": mark, "or-mark": mark,
			"xor-mark": mark, "mask": mark, "ctmask": mark, "nfmask": mark, "left-shift-mark": numberTo(32),
			"right-shift-mark": numberTo(32)}},
	"CONNSECMARK": {at: []string{"mangle INPUT", "filter INPUT"}, needs: []string{"save|restore"}},
	"CT": {at: []string{"raw PREROUTING OUTPUT"}, before: []string{"-p tcp", ""},
		values: map[string]valueKind{"helper": often(wordOf("ftp"), textWord, 30), "timeout": textWord, "ctevents": ctEvents,
			"expevents": ctEvents, "zone": zone, "zone-orig": zone, "zone-reply": zone}},
	"DNAT": {at: []string{"nat PREROUTING OUTPUT"}, before: []string{"-p tcp", "-p udp", ""}, needs: []string{"to-destination"},
		values: map[string]valueKind{"to-destination": natRange}},
	"DNPT": {at: []string{"mangle PREROUTING OUTPUT"}, needs: []string{"src-pfx", "dst-pfx"},
		values: map[string]valueKind{"src-pfx": prefix6, "dst-pfx": prefix6}},
	"DSCP": {at: inMangle, needs: []string{"set-dscp|set-dscp-class"}, values: map[string]valueKind{"set-dscp": numberTo(63),
		"set-dscp-class": dscpClass}},
	"ECN": {at: inMangle, before: []string{"-p tcp", ""}, needs: []string{"ecn-tcp-remove|ecn-ip-ect|ecn-tcp-cwr"},
		values: map[string]valueKind{"ecn-ip-ect": numberTo(3), "ecn-tcp-cwr": numberTo(1), "ecn-tcp-ece": numberTo(1)}},
	"HL": {at: inMangle, needs: []string{"hl-set|hl-inc|hl-dec"}, values: map[string]valueKind{"hl-set": byteNumber,
		"hl-inc": byteNumber, "hl-dec": byteNumber}},
	"HMARK": {at: inMangle, needs: []string{"hmark-mod", "hmark-rnd", "hmark-tuple"},
		values: map[string]valueKind{"hmark-tuple": listOf(wordOf("src", "dst", "sport", "dport", "spi", "ct", "proto", "x"), ",", 7),
			"hmark-mod": wideNumber, "hmark-rnd": wideNumber, "hmark-offset": wideNumber, "hmark-src-prefix": prefixLen,
			"hmark-dst-prefix": prefixLen, "hmark-sport-mask": shortNumber,
			"hmark-dport-mask": shortNumber, "hmark-spi-mask": wideNumber, "hmark-proto-mask": shortNumber, "hmark-sport": shortNumber,
			"hmark-dport": shortNumber, "hmark-spi": wideNumber}},
	"IDLETIMER": {needs: []string{"timeout", "label"}, values: map[string]valueKind{"timeout": often(numberTo(1000), wideNumber, 15),
		"label": func(g *textGen) string { return g.unique(fmt.Sprintf("cwi%d-", g.sessions)) }}},
	"LED": {needs: []string{"led-trigger-id"}, values: map[string]valueKind{"led-trigger-id": textWord,
		"led-delay": either(wideNumber, wordOf("inf"))}},
	"LOG": {values: map[string]valueKind{"log-level": logLevel, "log-prefix": often(wordOf("cw ", "a"), oddText, 60)}},
	"MARK": {needs: []string{"set-mark|set-xmark|and-mark|or-mark|xor-mark"},
		values: map[string]valueKind{"set-mark": masked(mark), "set-xmark": masked(mark), "and-mark": mark, "or-mark": mark,
			"xor-mark": mark}},
	"MASQUERADE": {at: []string{"nat POSTROUTING"}, before: []string{"-p tcp", ""}, values: map[string]valueKind{"to-ports": natPort}},
	"NETMAP": {at: []string{"nat PREROUTING OUTPUT", "nat POSTROUTING INPUT"}, needs: []string{"to"},
		values: map[string]valueKind{"to": networkWord}},
	"NFLOG": {values: map[string]valueKind{"nflog-group": shortNumber, "nflog-prefix": often(textWord, oddText, 30),
		"nflog-range": wideNumber, "nflog-size": wideNumber, "nflog-threshold": shortNumber}},
	"NFQUEUE": {values: map[string]valueKind{"queue-num": shortNumber, "queue-balance": spanOf(shortNumber, ":")}},
	"NOTRACK": {at: []string{"raw PREROUTING OUTPUT"}},
	"RATEEST": {needs: []string{"rateest-name", "rateest-interval", "rateest-ewmalog"},
		values: map[string]valueKind{"rateest-name": plainName, "rateest-interval": rateTime, "rateest-ewmalog": rateTime}},
	"REDIRECT": {at: []string{"nat PREROUTING OUTPUT"}, before: []string{"-p tcp", ""},
		values: map[string]valueKind{"to-ports": natPort}},
	"REJECT": {at: []string{"filter INPUT FORWARD OUTPUT"}, before: []string{"-p tcp", ""},
		values: map[string]valueKind{"reject-with": spelled(wordOf("icmp-net-unreachable", "icmp-host-unreachable",
			"icmp-port-unreachable", "icmp-proto-unreachable",
			"icmp-net-prohibited", "icmp-host-prohibited", "icmp-admin-prohibited", "tcp-reset", "tcp-rst", "host-unreach", "net-unreach",
			"port-unreach", "admin-prohib", "icmp6-no-route", "no-route", "icmp6-adm-prohibited",
			"adm-prohibited", "icmp6-addr-unreachable", "addr-unreach", "icmp6-port-unreachable", "icmp6-policy-fail", "policy-fail",
			"icmp6-reject-route", "reject-route", "echoreply"))}},
	"SECMARK": {at: []string{"security INPUT"}, needs: []string{"selctx"}, values: map[string]valueKind{"selctx": textWord}},
	"SET": {needs: []string{"add-set|del-set|map-set"}, values: map[string]valueKind{"add-set": setRef, "del-set": setRef,
		"map-set": setRef, "timeout": wideNumber}},
	"SNAT": {at: []string{"nat POSTROUTING INPUT"}, before: []string{"-p tcp", "-p udp", ""}, needs: []string{"to-source"},
		values: map[string]valueKind{"to-source": natRange}},
	"SNPT": {at: []string{"mangle INPUT POSTROUTING"}, needs: []string{"src-pfx", "dst-pfx"},
		values: map[string]valueKind{"src-pfx": prefix6, "dst-pfx": prefix6}},
	"SYNPROXY": {at: []string{"filter INPUT FORWARD"}, before: []string{"-p tcp", "-p tcp", "-p tcp -m conntrack --ctstate INVALID"},
		values: map[string]valueKind{"mss": shortNumber, "wscale": numberTo(14)}},
	"TCPMSS": {at: []string{"mangle FORWARD OUTPUT POSTROUTING", "filter FORWARD"}, before: []string{"-p tcp --syn",
		"-p tcp --tcp-flags SYN,RST SYN", "-p tcp"}, needs: []string{"set-mss|clamp-mss-to-pmtu"},
		values: map[string]valueKind{"set-mss": shortNumber}},
	"TCPOPTSTRIP": {at: inMangle, before: []string{"-p tcp"}, needs: []string{"strip-options"},
		values: map[string]valueKind{"strip-options": listOf(either(byteNumber, wordOf("wscale", "mss", "sack-permitted", "sack",
			"timestamp", "md5", "WSCALE", "x")), ",", 8)}},
	"TEE": {needs: []string{"gateway"}, values: map[string]valueKind{"gateway": addressWord, "oif": deviceWord}},
	"TOS": {at: inMangle, needs: []string{"set-tos|and-tos|or-tos|xor-tos"}, values: map[string]valueKind{"set-tos": tosWord,
		"and-tos": byteNumber, "or-tos": byteNumber, "xor-tos": byteNumber}},
	"TPROXY": {at: []string{"mangle PREROUTING"}, before: []string{"-p tcp", "-p udp"}, needs: []string{"on-port"},
		values: map[string]valueKind{"on-port": port, "on-ip": addressWord, "tproxy-mark": masked(mark)}},
	"TRACE": {at: []string{"raw PREROUTING OUTPUT"}},
	"TTL": {at: inMangle, needs: []string{"ttl-set|ttl-inc|ttl-dec"}, values: map[string]valueKind{"ttl-set": byteNumber,
		"ttl-inc": byteNumber, "ttl-dec": byteNumber}},
	"ULOG": {},
}

// drawings say how all extensions are drawn.
var drawings = func() map[string]drawing {
	all := map[string]drawing{}
	for _, some := range []map[string]drawing{matchDrawings, targetDrawings} {
		for name, how := range some {
			all[name] = how
		}
	}
	return all
}()
