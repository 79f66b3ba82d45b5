# The rules of Docker's engine with its nftables backend (version 29 and later), in the form in which it gives them to nft: Debian has no such engine, so
# that a script stands in for it. Names of tables, chains and maps, and the order of what it says, are the engine's.
n() { nft "$@" || echo "nft $*: $?"; }

# bases FAMILY: the base chains and the maps by which packets come to the chains of each network.
bases() {
	local loopback=127.0.0.0/8
	[ "$1" = ip ] || loopback=::1
	cat <<END
table $1 docker-bridges {
	map filter-forward-in-jumps { type ifname : verdict; }
	map filter-forward-out-jumps { type ifname : verdict; }
	map nat-postrouting-in-jumps { type ifname : verdict; }
	map nat-postrouting-out-jumps { type ifname : verdict; }
	chain filter-FORWARD {
		type filter hook forward priority 0; policy accept;
		oifname vmap @filter-forward-in-jumps
		iifname vmap @filter-forward-out-jumps
	}
	chain nat-prerouting-and-output { }
	chain nat-OUTPUT {
		type nat hook output priority -100; policy accept;
		$1 daddr != $loopback fib daddr type local counter jump nat-prerouting-and-output
	}
	chain nat-POSTROUTING {
		type nat hook postrouting priority 100; policy accept;
		iifname vmap @nat-postrouting-out-jumps
		oifname vmap @nat-postrouting-in-jumps
	}
	chain nat-PREROUTING {
		type nat hook prerouting priority -100; policy accept;
		fib daddr type local counter jump nat-prerouting-and-output
	}
	chain raw-PREROUTING { type filter hook prerouting priority -300; policy accept; }
}
END
}

# network FAMILY BRIDGE PREFIX: a network that masquerades. internal FAMILY BRIDGE PREFIX: one that leads nowhere.
network() {
	n -f - <<END
table $1 docker-bridges {
	chain filter-forward-in__$2 {
		ct state established,related counter accept
		iifname "$2" counter accept comment "ICC"
		counter drop comment "UNPUBLISHED PORT DROP"
	}
	chain filter-forward-out__$2 {
		ct state established,related counter accept
		counter accept comment "OUTGOING"
	}
	chain nat-postrouting-in__$2 { }
	chain nat-postrouting-out__$2 {
		oifname != "$2" $1 saddr $3 counter masquerade comment "MASQUERADE"
	}
}
add element $1 docker-bridges filter-forward-in-jumps { "$2" : jump filter-forward-in__$2 }
add element $1 docker-bridges filter-forward-out-jumps { "$2" : jump filter-forward-out__$2 }
add element $1 docker-bridges nat-postrouting-in-jumps { "$2" : jump nat-postrouting-in__$2 }
add element $1 docker-bridges nat-postrouting-out-jumps { "$2" : jump nat-postrouting-out__$2 }
END
}
internal() {
	n -f - <<END
table $1 docker-bridges {
	chain filter-forward-in__$2 {
		iifname != "$2" counter drop comment "INTERNAL NETWORK INGRESS"
		counter accept
	}
	chain filter-forward-out__$2 {
		oifname != "$2" $1 saddr $3 counter drop comment "INTERNAL NETWORK EGRESS"
	}
}
add element $1 docker-bridges filter-forward-in-jumps { "$2" : jump filter-forward-in__$2 }
add element $1 docker-bridges filter-forward-out-jumps { "$2" : jump filter-forward-out__$2 }
END
}

# publish FAMILY BRIDGE HOST PORT CONTAINER: publishes TCP port 80 of a container, and closes other ways to it.
publish() {
	local to="$5:80"
	[ "$1" = ip ] || to="[$5]:80"
	n -f - <<END
insert rule $1 docker-bridges filter-forward-in__$2 $1 daddr $5 tcp dport 80 counter accept
add rule $1 docker-bridges nat-prerouting-and-output iifname != "$2" $3 tcp dport $4 counter dnat $1 to $to comment "DNAT"
add rule $1 docker-bridges raw-PREROUTING $1 daddr $5 iifname != "$2" counter drop comment "DROP DIRECT ACCESS"
END
}

for family in ip ip6; do
	bases $family >/run/bases-$family
	n -f /run/bases-$family
done
phase bases
network ip docker0 172.17.0.0/16
network ip br-one 172.18.0.0/16
network ip6 br-one fd00:18::/64
internal ip br-inside 172.19.0.0/16
phase networks

publish ip docker0 '' 8080 172.17.0.2
publish ip br-one 'ip daddr 127.0.0.1' 8081 172.18.0.2
n add rule ip docker-bridges raw-PREROUTING iifname != '"lo"' ip daddr 127.0.0.1 tcp dport 8081 counter drop comment '"DROP REMOTE LOOPBACK"'
publish ip6 br-one '' 8080 fd00:18::2
n add rule ip docker-bridges nat-prerouting-and-output iifname != '"br-one"' udp dport 5353 counter dnat ip to 172.18.0.3:53 comment '"DNAT"'
n add rule ip docker-bridges nat-postrouting-in__br-one ip saddr 172.18.0.2 ip daddr 172.18.0.2 tcp dport 80 counter masquerade
n add rule ip docker-bridges nat-postrouting-out__br-one oifname != '"br-one"' ip saddr 172.18.0.9 counter snat to 192.0.2.9
n -a list table ip docker-bridges
phase published

handle=$(real nft -a list chain ip docker-bridges nat-prerouting-and-output | sed -n 's/.*dport 8080 .* # handle //p')
n delete rule ip docker-bridges nat-prerouting-and-output handle "$handle"
n flush chain ip docker-bridges filter-forward-in__docker0
n delete chain ip docker-bridges filter-forward-in__docker0
n -f - <<'END'
delete element ip docker-bridges filter-forward-in-jumps { "docker0" }
delete element ip docker-bridges filter-forward-out-jumps { "docker0" }
delete element ip docker-bridges nat-postrouting-in-jumps { "docker0" }
delete element ip docker-bridges nat-postrouting-out-jumps { "docker0" }
delete chain ip docker-bridges filter-forward-in__docker0
delete chain ip docker-bridges filter-forward-out__docker0
delete chain ip docker-bridges nat-postrouting-in__docker0
delete chain ip docker-bridges nat-postrouting-out__docker0
END
phase network-removed

# An engine that starts again makes everything anew.
for family in ip ip6; do
	n delete table $family docker-bridges
	n -f /run/bases-$family
done
network ip br-one 172.18.0.0/16
n -j list ruleset
phase restarted
n 'delete table ip docker-bridges; delete table ip6 docker-bridges; delete table ip docker-bridges'
n delete table ip docker-bridges
n delete table ip6 docker-bridges
phase gone
