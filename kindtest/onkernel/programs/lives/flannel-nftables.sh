# The rules of flannel with EnableNFTables (pkg/trafficmngr/nftables), as sigs.k8s.io/knftables writes them: flannel is no package of Debian, so that a
# script stands in for it. It writes them again at each start and when its lease changes.
n() { nft "$@" || echo "nft $*: $?"; }

# traffic FAMILY TABLE NETWORK LEASE MULTICAST: all rules of a family, in one transaction.
traffic() {
	nft -f - <<END || echo "refused: $?"
add table $1 $2 { comment "rules for $2" ; }
add chain $1 $2 forward { type filter hook forward priority 0 ; comment "chain to accept flannel traffic" ; }
flush chain $1 $2 forward
add rule $1 $2 forward $1 saddr $3 accept
add rule $1 $2 forward $1 daddr $3 accept
add chain $1 $2 postrtg { type nat hook postrouting priority 100 ; comment "chain to manage traffic masquerading by flannel" ; }
flush chain $1 $2 postrtg
add rule $1 $2 postrtg meta mark 0x4000 return
add rule $1 $2 postrtg $1 saddr $4 $1 daddr $3 return
add rule $1 $2 postrtg $1 saddr $3 $1 daddr $4 return
add rule $1 $2 postrtg $1 saddr != $4 $1 daddr $3 return
add rule $1 $2 postrtg $1 saddr $3 $1 daddr != $5 masquerade fully-random
add rule $1 $2 postrtg $1 saddr != $3 $1 daddr $3 masquerade fully-random
END
}

n --check -f - <<'END'
add table ip flannel-ipv4 { comment "test" ; }
END
traffic ip flannel-ipv4 10.244.0.0/16 10.244.3.0/24 224.0.0.0/4
traffic ip6 flannel-ipv6 fd00:10:244::/56 fd00:10:244:3::/64 ff00::/8
n --json list chains ip
phase start
traffic ip flannel-ipv4 10.244.0.0/16 10.244.7.0/24 224.0.0.0/4
n -a list table ip flannel-ipv4
phase another-lease
iptables -t nat -A POSTROUTING -s 10.244.0.0/16 -j MASQUERADE
n flush table ip flannel-ipv4
traffic ip flannel-ipv4 10.244.0.0/16 10.244.7.0/24 224.0.0.0/4
phase flushed-by-others
n delete table ip flannel-ipv4
n delete table ip6 flannel-ipv6
n delete table ip6 flannel-ipv6
phase cleanup
