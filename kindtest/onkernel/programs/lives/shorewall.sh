# shorewall: the examples that it comes with, one after the other.
examples=/usr/share/doc/shorewall/examples
mkdir -p /var/lock/subsys /var/lib/shorewall
: >/var/log/messages
ip link add eth2 type bridge mcast_snooping 0
ip link set eth2 addrgenmode none up
ip addr add 10.10.11.254/24 dev eth2
sed -i 's/^\(LOAD_HELPERS_ONLY\)=.*/\1=Yes/' /etc/shorewall/shorewall.conf

# take EXAMPLE: makes an example the configuration.
take() {
	rm -rf /etc/shorewall
	mkdir /etc/shorewall
	cp "$examples/$1"/* /etc/shorewall/
	rm -f /etc/shorewall/*.annotated
	sed -i 's/^STARTUP_ENABLED=.*/STARTUP_ENABLED=Yes/' /etc/shorewall/shorewall.conf
}

for example in one-interface two-interfaces three-interfaces Universal; do
	take $example
	shorewall check
	shorewall start
	phase "$example"
	shorewall status
	shorewall show
	shorewall show nat
	shorewall show mangle
	shorewall show raw
	shorewall show policies
	shorewall show zones
	shorewall show capabilities
	shorewall stop
	phase "$example-stop"
	shorewall clear
	phase "$example-clear"
done

take two-interfaces
cat >>/etc/shorewall/rules <<'END'
SSH(ACCEPT)	net:198.51.100.0/24	$FW
DNAT	net	loc:10.10.10.5:80	tcp	8080
REDIRECT	loc	3128	tcp	www
ACCEPT:info	net	$FW	udp	500,4500
Limit:none:SSHA,3,60	net	$FW	tcp	22
ACCEPT	loc	$FW	tcp	5000:5010	-	-	10/min:5
DROP	net:!192.0.2.0/24	$FW	icmp	8
NONAT	loc	net:203.0.113.1	tcp	25
LOG:debug	$FW	net	tcp	6667
END
printf 'NFQUEUE(2)\tnet\t$FW\tudp\t5353\n' >>/etc/shorewall/rules
cat >/etc/shorewall/mangle <<'END'
MARK(1)	10.10.10.0/24	0.0.0.0/0	tcp	443
MARK(2):T	0.0.0.0/0	0.0.0.0/0	icmp
TOS(16)	0.0.0.0/0	0.0.0.0/0	tcp	22
END
cat >/etc/shorewall/blrules <<'END'
DROP	net:198.51.100.66	all
WHITELIST	net:198.51.100.67	all
END
cat >/etc/shorewall/conntrack <<'END'
?FORMAT 3
NOTRACK	eth1	10.10.10.254	udp	53
END
shorewall start
phase start
shorewall drop 198.51.100.200
shorewall reject 198.51.100.201
shorewall logdrop 198.51.100.202
shorewall show dynamic
phase dynamic
shorewall allow 198.51.100.200
shorewall save
phase save
shorewall reload
phase reload
shorewall restart
phase restart
shorewall restore
phase restore
shorewall reset
shorewall refresh || true
phase reset
shorewall iptrace -s 198.51.100.9 -p tcp || true
shorewall noiptrace -s 198.51.100.9 -p tcp || true
phase iptrace
shorewall dump >/dev/null
shorewall stop
phase stop
shorewall clear
phase clear

# With sets: a list that grows by commands and by packets, one of the configuration's own, and the sets kept over a stop.
sed -i 's/^DYNAMIC_BLACKLIST=.*/DYNAMIC_BLACKLIST="ipset,disconnect,timeout=600"/' /etc/shorewall/shorewall.conf
sed -i 's/^SAVE_IPSETS=.*/SAVE_IPSETS=Yes/' /etc/shorewall/shorewall.conf
ipset create friends hash:net,port
ipset add friends 198.51.100.0/24,tcp:8443
ipset add friends 203.0.113.0/28,udp:500-501
cat >>/etc/shorewall/rules <<'END'
ACCEPT	net:+friends[src,dst]	$FW
ADD(seen:src)	net	$FW	tcp	23
DEL(seen:src)	net	$FW	tcp	24
DROP	net:+seen	$FW
END
ipset create seen hash:ip timeout 300
shorewall start
phase sets
shorewall blacklist 198.51.100.9 timeout 60
shorewall blacklist 198.51.100.10
shorewall show dynamic
phase blacklist
shorewall allow 198.51.100.9
shorewall save
shorewall restart
phase sets-restart
shorewall stop
shorewall start
phase sets-restored
shorewall clear
phase sets-clear
