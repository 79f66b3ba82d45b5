# A firewall of a router, written by hand in nft's own language: as files, as commands, as JSON, changed while it runs, and refused where it is wrong.
# Its tables have other names than those of iptables: iptables-nft lists a table of nft with such a name as one that it cannot read.
n() { nft "$@" || echo "nft $*: $?"; }

# iptables comes first, as on a node that had it before.
iptables -A INPUT -p tcp --dport 22 -j ACCEPT
mkdir -p /etc/nft.d
cat >/etc/nft.d/addresses.nft <<'END'
define outside = eth0
define inside = eth1
define office = { 198.51.100.0/24, 203.0.113.16/28 }
define web = 10.10.10.5
END
cat >/etc/firewall.nft <<'END'
#!/usr/sbin/nft -f
include "/etc/nft.d/addresses.nft"

add table inet filter
flush table inet filter

table inet filter {
	comment "the router's filter"

	counter refused {
		comment "what the last rule took"
	}
	quota guests {
		over 500 mbytes
	}
	limit few {
		rate 10/second burst 20 packets
	}
	set banned {
		type ipv4_addr
		flags interval, timeout
		auto-merge
	}
	set banned6 {
		type ipv6_addr
		flags interval
		elements = { 2001:db8:bad::/48 }
	}
	set knocking {
		type ipv4_addr
		size 1024
		flags dynamic, timeout
		timeout 10m
	}
	set doors {
		type ipv4_addr . inet_service
		flags interval
		elements = { 198.51.100.0/24 . 22, 203.0.113.16/28 . 8000-8010 }
	}
	map by_port {
		type inet_service : verdict
		elements = { 80 : accept, 443 : accept, 25 : jump mail }
	}
	chain mail {
		ip saddr $office accept
		limit rate over 5/minute burst 10 packets drop
		accept
	}
	chain input {
		type filter hook input priority filter; policy drop;
		ct state vmap { established : accept, related : accept, invalid : drop }
		iifname "lo" accept
		ip saddr @banned counter drop
		ip6 saddr @banned6 drop
		ip protocol icmp icmp type { echo-request, destination-unreachable, time-exceeded } limit name "few" accept
		icmpv6 type { nd-neighbor-solicit, nd-neighbor-advert, nd-router-advert, echo-request } accept
		tcp flags & (fin | syn | rst | ack) == syn ct state != new drop
		ip saddr . tcp dport @doors accept
		tcp dport 22 ct state new update @knocking { ip saddr limit rate 3/minute } accept
		tcp dport vmap @by_port
		udp dport { 53, 123, 67-68 } iifname $inside accept
		meta l4proto { esp, ah } accept
		log prefix "input: " level info flags all
		counter name "refused" reject with icmpx admin-prohibited
	}
	chain forward {
		type filter hook forward priority filter; policy drop;
		ct state established,related counter accept
		tcp flags syn tcp option maxseg size set rt mtu
		iifname $inside oifname $outside goto guests_out
		ct status dnat accept
		iifname . oifname { "eth1" . "eth1", "docker0" . "eth0" } accept
	}
	chain guests_out {
		quota name "guests" drop
		ip daddr { 10.0.0.0/8, 172.16.0.0/12, 192.168.0.0/16 } reject with icmp host-prohibited
		meta mark set 0x10
		ct mark set meta mark
		ip dscp set cs1
		accept
	}
	chain output {
		type filter hook output priority filter; policy accept;
		meta skuid 33 tcp dport 25 reject with tcp reset
		ct state new ct count over 200 counter
	}
	chain rpf {
		type filter hook prerouting priority raw; policy accept;
		fib saddr . iif oif missing drop
		udp dport 514 notrack
	}
}

add table ip router
flush table ip router
table ip router {
	map published {
		type inet_service : ipv4_addr . inet_service
		elements = { 8080 : 10.10.10.5 . 80, 8443 : 10.10.10.5 . 443 }
	}
	chain prerouting {
		type nat hook prerouting priority dstnat; policy accept;
		iifname $outside dnat ip addr . port to tcp dport map @published
		iifname $outside tcp dport 9000 dnat to numgen random mod 2 map { 0 : 10.10.10.6, 1 : 10.10.10.7 }
		iifname $inside udp dport 53 redirect to :5353
	}
	chain postrouting {
		type nat hook postrouting priority srcnat; policy accept;
		oifname $outside ip saddr 10.10.10.9 snat to 192.0.2.9
		oifname $outside ip saddr 10.10.10.0/24 masquerade fully-random
	}
}
END
n -c -f /etc/firewall.nft
phase checked
n -f /etc/firewall.nft
n list tables
n list table inet filter
phase loaded

n add element inet filter banned '{ 198.51.100.66, 203.0.113.128/25 timeout 1h, 192.0.2.64-192.0.2.80 }'
n get element inet filter banned '{ 192.0.2.70 }'
n delete element inet filter banned '{ 198.51.100.66 }'
n add element inet filter by_port '{ 8080 : accept, 23 : drop }'
n add element inet filter by_port '{ 23 : accept }'
n delete element inet filter by_port '{ 99 }'
n list set inet filter banned
n list map inet filter by_port
phase elements

n add rule inet filter input position 9999 accept
n insert rule inet filter input index 1 iifname '"wg0"' accept comment '"tunnel"'
handle=$(real nft -a list chain inet filter input | sed -n 's/.*comment "tunnel" # handle //p')
n replace rule inet filter input handle "$handle" iifname '"wg*"' counter accept comment '"tunnels"'
n delete rule inet filter input handle "$handle"
n rename chain inet filter guests_out guests
n list chain inet filter guests
n add chain inet filter late '{ type filter hook input priority filter + 10; policy accept; }'
n add chain inet filter late '{ type filter hook input priority filter + 20; }'
n add chain inet filter input '{ policy accept; }'
n add chain inet filter input '{ policy drop; }'
phase rules

n reset counters
n list counters
n reset quota inet filter guests
n list limits
n list quotas
n delete counter inet filter refused
phase objects

nft -f - <<'END' || echo "refused: $?"
add rule inet filter input tcp dport 1 accept
add rule inet filter nowhere tcp dport 2 accept
add rule inet filter input tcp dport 3 accept
END
nft -f - <<'END' || echo "refused: $?"
table inet filter {
	chain input {
		tcp dport accept
	}
}
END
nft -f - <<'END' || echo "refused: $?"
add chain inet filter a
add chain inet filter b
add rule inet filter a jump b
add rule inet filter b jump a
add rule inet filter input jump a
END
nft -f - <<'END' || echo "refused: $?"
add rule ip router postrouting dnat to 10.0.0.1
delete chain inet filter mail
create table ip router
add set inet filter banned { type ipv6_addr; }
END
phase refused

nft -j -f - <<'END' || echo "refused: $?"
{"nftables": [
  {"add": {"table": {"family": "ip", "name": "json"}}},
  {"add": {"chain": {"family": "ip", "table": "json", "name": "in", "type": "filter", "hook": "input", "prio": 5, "policy": "accept"}}},
  {"add": {"set": {"family": "ip", "table": "json", "name": "s", "type": "ipv4_addr", "flags": ["interval"], "elem": [{"prefix": {"addr": "10.0.0.0", "len": 8}}, {"range": ["192.0.2.1", "192.0.2.9"]}]}}},
  {"add": {"rule": {"family": "ip", "table": "json", "chain": "in", "expr": [
    {"match": {"op": "==", "left": {"payload": {"protocol": "ip", "field": "saddr"}}, "right": "@s"}}, {"counter": null}, {"drop": null}]}}}
]}
END
n -j list table ip json
n -a list table ip json
n delete table ip json
phase json

# The same file again, in one transaction: connections and the elements of tables that it does not name stay.
n -f /etc/firewall.nft
phase reloaded
n flush chain inet filter mail
n flush set inet filter banned6
n flush table ip router
phase flushed
n flush ruleset
phase gone
