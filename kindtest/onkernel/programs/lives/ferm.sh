# ferm: its examples one after the other, with and without iptables-restore, and a configuration of Debian's.
if [ "$(cat /chainwalk/dialect)" = nft ]; then
	rm /usr/sbin/ip*tables-legacy* # which it prefers
fi
mkdir -p /tmp/examples
cp /usr/share/doc/ferm/examples/*.ferm /tmp/examples/
for example in /tmp/examples/*.ferm; do
	case $example in
	*/arptables.ferm | */ebtables.ferm) continue ;; # other tools
	*/resolve.ferm) continue ;;                     # asks a name server
	esac
	name=$(basename "$example" .ferm)
	# Some are of other versions, which ferm says itself.
	ferm --lines --noexec "$example" >"/tmp/$name" || continue
	ferm "$example" || echo "$name: $?" # a service that Debian has no name for
	phase "$name"
	ferm --slow "$example" || echo "$name, slow: $?"
	phase "$name-slow"
	ferm --flush "$example" || echo "$name, flush: $?"
	phase "$name-flush"
done

ferm /etc/ferm/ferm.conf
phase debian
ferm --slow /etc/ferm/ferm.conf
phase debian-slow
ferm --domain ip6 --flush /etc/ferm/ferm.conf
phase debian-flush-ip6

cat >/tmp/more.ferm <<'END'
def $inside = (10.10.10.0/24 10.20.0.0/16);
def &open($proto, $ports) = { proto $proto mod multiport destination-ports $ports ACCEPT; }
domain ip table filter {
	chain INPUT {
		policy DROP;
		mod conntrack ctstate (ESTABLISHED RELATED) ACCEPT;
		&open(tcp, (22 80 443));
		&open(udp, (53 500 4500));
		saddr $inside @subchain "inside" {
			proto tcp dport (139 445) ACCEPT;
			proto icmp icmp-type echo-request mod limit limit 5/s limit-burst 10 ACCEPT;
			mod hashlimit hashlimit-above 20/min hashlimit-mode srcip hashlimit-name inside DROP;
		}
		saddr ! 192.0.2.0/24 mod comment comment "from elsewhere" mod recent name seen set NOP;
		mod recent name seen update seconds 60 hitcount 4 REJECT reject-with icmp-admin-prohibited;
		mod set set (known src) LOG log-prefix "known: " log-level debug;
		mod set match-set known src DROP;
	}
	chain FORWARD policy DROP;
	chain (FORWARD OUTPUT) { proto tcp tcp-flags (SYN RST) SYN TCPMSS clamp-mss-to-pmtu; }
}
domain ip table nat {
	chain PREROUTING interface eth0 proto tcp dport 8080 DNAT to 10.10.10.5:80;
	chain POSTROUTING outerface eth0 saddr $inside SNAT to 192.0.2.1-192.0.2.4;
}
domain (ip ip6) table mangle chain PREROUTING proto tcp dport 22 TOS set-tos 0x10;
domain (ip ip6) table raw chain PREROUTING proto udp dport 53 CT notrack;
END
sed -i '/set (known/d' /tmp/more.ferm
ipset create known hash:net
ipset add known 198.51.100.0/24
ferm --slow /tmp/more.ferm || echo "slow: $?"
phase more-slow
ferm /tmp/more.ferm || echo "fast: $?"
phase more
ferm --flush /tmp/more.ferm || true
phase more-flush
ferm --interactive --timeout 1 /etc/ferm/ferm.conf </dev/null || true
phase rolled-back
