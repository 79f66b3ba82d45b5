package nftdiffer

import (
	"fmt"
	"slices"
	"strings"
)

// key is an expression that a rule may look at, and the kind of its values.
type key struct {
	text     string
	kind     kind
	families string // where it is mostly used; empty: anywhere
}

// keys are the expressions that rules look at.
var keys = []key{
	{"ip saddr", addr4, "ip inet"}, {"ip daddr", addr4, "ip inet"}, {"ip saddr", addr4, "ip inet"}, {"ip daddr", addr4, "ip inet"},
	{"ip protocol", proto, "ip inet"}, {"ip ttl", "number:256", "ip inet"}, {"ip length", "number:65536", "ip"},
	{"ip dscp", "words:cs0,cs1,cs7,af11,af43,ef,5,0x3f", "ip inet"}, {"ip ecn", "words:not-ect,ect0,ect1,ce", "ip"},
	{"ip id", "number:65536", "ip"}, {"ip frag-off", "number:65536", "ip"}, {"ip version", "number:16", "ip"},
	{"ip hdrlength", "number:16", "ip"},
	{"ip checksum", "number:65536", "ip"},
	{"ip6 saddr", addr6, "ip6 inet"}, {"ip6 daddr", addr6, "ip6 inet"}, {"ip6 saddr", addr6, "ip6 inet"}, {"ip6 nexthdr", proto, "ip6 inet"},
	{"ip6 hoplimit", "number:256", "ip6"}, {"ip6 length", "number:65536", "ip6"}, {"ip6 flowlabel", "number:1048576", "ip6"},
	{"ip6 dscp", "words:cs0,cs1,af11,ef,5", "ip6"}, {"ip6 version", "number:16", "ip6"}, {"ip6 ecn", "words:not-ect,ce", "ip6"},
	{"tcp dport", port, ""}, {"tcp sport", port, ""}, {"udp dport", port, ""}, {"udp sport", port, ""}, {"th dport", port, ""},
	{"tcp dport", port, ""}, {"udp length", "number:65536", ""}, {"sctp dport", port, ""}, {"dccp dport", port, ""},
	{"udplite sport", port, ""},
	{"tcp flags", "words:syn,ack,fin,rst,syn|ack,0x2,psh", ""}, {"tcp window", "number:65536", ""}, {"tcp sequence", "number:100000", ""},
	{"tcp doff", "number:16", ""}, {"tcp urgptr", "number:65536", ""}, {"tcp option maxseg size", "number:65536", ""},
	{"icmp type", "words:echo-request,echo-reply,destination-unreachable,8,redirect", "ip inet"},
	{"icmp code", "words:net-unreachable,host-unreachable,3", "ip inet"},
	{"icmp id", "number:65536", "ip"}, {"icmp sequence", "number:65536", "ip"},
	{"icmpv6 type", "words:echo-request,nd-neighbor-solicit,packet-too-big,128", "ip6 inet"},
	{"icmpv6 code", "words:no-route,addr-unreachable,3", "ip6 inet"},
	{"icmpv6 id", "number:65536", "ip6"}, {"esp spi", "number:100000", ""}, {"ah spi", "number:100000", ""},
	{"meta mark", mark, ""}, {"mark", mark, ""}, {"meta l4proto", proto, ""}, {"meta nfproto", "words:ipv4,ipv6", "inet"},
	{"meta length", "number:65536", ""},
	{"meta protocol", "words:ip,ip6,arp,0x800", ""}, {"iifname", iface, ""}, {"oifname", iface, ""}, {"iifname", iface, ""},
	{"iif", "words:lo,lo,1,nodev", ""},
	{"oif", "words:lo,lo,1", ""}, {"iiftype", "words:ether,loopback,ppp,5", ""}, {"iifgroup", "words:default,5", ""},
	{"meta skuid", "words:root,0,1000,65534", ""}, {"meta skgid", "words:root,0,5", ""},
	{"meta pkttype", "words:host,unicast,broadcast,multicast,other", ""},
	{"meta cpu", "number:8", ""}, {"meta priority", "words:0:1,1:ffff,none,root", ""}, {"meta cgroup", "number:1000", ""},
	{"rtclassid", "number:100", ""},
	{"meta day", "words:\"Monday\",\"Sunday\",3", ""}, {"meta random", "number:1000000", ""},
	{"ct state", "words:new,established,related,invalid,untracked,new|established", ""},
	{"ct status", "words:snat,dnat,assured,confirmed,expected", ""},
	{"ct mark", mark, ""}, {"ct direction", "words:original,reply", ""}, {"ct expiration", "words:10s,1h,1d2h,5m", ""},
	{"ct zone", "number:65536", ""},
	{"ct original ip saddr", addr4, "ip inet"}, {"ct reply ip daddr", addr4, "ip inet"}, {"ct original ip6 daddr", addr6, "ip6 inet"},
	{"ct original proto-dst", port, ""}, {"ct l3proto", "words:ipv4,ipv6", ""}, {"ct protocol", proto, ""},
	{"ct original packets", "number:1000", ""},
	{"ct bytes", "number:100000", ""}, {"ct avgpkt", "number:1500", ""}, {"ct id", "number:1000", ""},
	{"ct helper", "words:\"ftp\",\"sip\"", ""},
	{"fib daddr type", "words:local,unicast,broadcast,multicast,anycast", "ip ip6 inet"},
	{"fib saddr type", "words:local,unicast", "ip ip6 inet"},
	{"fib saddr . iif oif", "words:missing,exists,lo", "ip ip6 inet"}, {"fib daddr . mark type", "words:local,unicast", "ip ip6 inet"},
	{"ether saddr", ether, "bridge netdev"}, {"ether daddr", ether, "bridge netdev inet"},
	{"ether type", "words:ip,ip6,arp,vlan,0x88cc", "bridge netdev"},
	{"vlan id", "number:4096", "bridge netdev"}, {"vlan pcp", "number:8", "bridge"}, {"arp operation", "words:request,reply", "arp bridge"},
	{"arp htype", "number:100", "arp"},
	{"arp saddr ip", addr4, "arp"}, {"numgen random mod 10", "number:10", ""}, {"numgen inc mod 4", "number:4", ""},
	{"jhash ip saddr mod 8", "number:8", "ip inet"},
	{"symhash mod 4", "number:4", ""}, {"rt classid", "number:100", ""}, {"rt mtu", "number:1500", ""}, {"socket transparent", "number:2", ""},
	{"frag id", "number:100000", "ip6"}, {"hbh nexthdr", proto, "ip6"}, {"exthdr frag", "words:exists,missing", "ip6"},
	{"tcp option sack-perm", "words:exists,missing", ""},
}

// setKeys are the keys of sets, with an expression that fits.
var setKeys = []struct {
	text  string
	kinds []kind
}{
	{"ip saddr", []kind{addr4}}, {"ip daddr", []kind{addr4}}, {"ip6 saddr", []kind{addr6}}, {"tcp dport", []kind{port}},
	{"meta mark", []kind{mark}},
	{"iifname", []kind{iface}}, {"meta l4proto", []kind{proto}}, {"ether saddr", []kind{ether}},
	{"ip saddr . tcp dport", []kind{addr4, port}}, {"ip daddr . meta l4proto . th dport", []kind{addr4, proto, port}},
	{"ip6 daddr . meta l4proto . th dport", []kind{addr6, proto, port}}, {"ip saddr . ip daddr", []kind{addr4, addr4}},
	{"iifname . ip saddr", []kind{iface, addr4}}, {"ip saddr . ip daddr . meta l4proto . th dport", []kind{addr4, addr4, proto, port}},
}

// key draws an expression; most fit the family.
func (g *gen) key(t *genTable) key {
	for {
		k := keys[g.n(len(keys))]
		if t.family == "bridge" && strings.HasPrefix(k.text, "ct ") {
			continue // a kernel without nf_conntrack_bridge has no connections there, and ours has
		}
		if k.families == "" || slices.Contains(strings.Fields(k.families), t.family) || g.in(40) {
			g.ask("key", k.text)
			return k
		}
	}
}

// rule makes a rule.
func (g *gen) rule(t *genTable) string {
	var parts []string
	for range g.n(3) {
		parts = append(parts, g.match(t))
	}
	for range g.n(3) {
		parts = append(parts, g.statement(t))
	}
	if g.in(2) || len(parts) == 0 {
		parts = append(parts, g.verdict(t))
	}
	text := strings.Join(parts, " ")
	if g.in(10) {
		text += " " + g.ask("rule", "comment") + " " + g.one(`"a_comment"`, `"why"`, "bare")
	}
	return text
}

// match makes a condition.
func (g *gen) match(t *genTable) string {
	if len(t.sets) > 0 && g.in(5) {
		s := &t.sets[g.n(len(t.sets))]
		if s.data == "verdict" {
			return s.key + " " + g.ask("form", "vmap") + " @" + s.name
		}
		return s.key + g.one(" ", " ", " != ") + g.noted("form", "@set") + "@" + s.name
	}
	if g.in(12) {
		c := setKeys[8+g.n(len(setKeys)-8)]
		return c.text + " " + g.noted("form", "concatenation") + g.setValues(c.kinds)
	}
	k := g.key(t)
	not := g.one("", "", "", "!= ", "== ")
	switch n := g.n(12); {
	case n == 0:
		return k.text + " " + not + g.noted("form", "{") + g.setValues([]kind{k.kind})
	case n == 1 && ordered(k.kind):
		return k.text + " " + not + g.noted("form", "range") + g.rangeOf(k.kind)
	case n == 2 && ordered(k.kind):
		return k.text + " " + g.ask("form", g.one("<", ">", "<=", ">=")) + " " + g.value(k.kind)
	case n == 3 && k.kind != iface: // of operators on names nft lists what its memory happens to hold
		return fmt.Sprintf("%s %s %s %s %s", k.text, g.ask("form", g.one("&", "and", "|", "^")), g.mask(k.kind), g.one("==", "!="),
			g.value(k.kind))
	case n == 4 && (k.kind == addr4 || k.kind == addr6):
		return k.text + " " + not + g.noted("form", "prefix") + g.value(k.kind) + "/" + fmt.Sprint(g.n(33))
	case n == 5:
		return g.vmap(t, k)
	case n == 6:
		return fmt.Sprintf("%s %s%s%s%s", k.text, not, g.value(k.kind), g.ask("form", ","), g.value(k.kind))
	}
	return k.text + " " + not + g.value(k.kind)
}

func (g *gen) mask(k kind) string {
	switch k {
	case addr4:
		return g.one("255.255.255.0", "0.0.0.255", "255.0.0.0", "255.0.255.0")
	case addr6:
		return g.one("ffff::", "::ffff", "ffff:ffff::")
	case mark:
		return g.value(mark)
	}
	if strings.HasPrefix(string(k), "words:") && g.in(2) {
		return g.value(k)
	}
	return g.one("0x1", "0xff", "0xf0", "3")
}

func (g *gen) vmap(t *genTable, k key) string {
	var items []string
	for range 1 + g.n(4) {
		items = append(items, g.value(k.kind)+" : "+g.verdict(t))
	}
	if g.in(5) {
		items = append(items, "* : "+g.verdict(t))
	}
	return k.text + " " + g.ask("form", "vmap") + " { " + strings.Join(items, ", ") + " }"
}

// mapTo makes a map of an expression to a kind of value.
func (g *gen) mapTo(t *genTable, data kind) string {
	k := g.key(t)
	g.ask("form", "map")
	var items []string
	for range 1 + g.n(3) {
		items = append(items, g.value(k.kind)+" : "+g.value(data))
	}
	return k.text + " map { " + strings.Join(items, ", ") + " }"
}
