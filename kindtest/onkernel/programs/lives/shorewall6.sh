# shorewall6: the examples that it comes with, one after the other.
examples=/usr/share/doc/shorewall6/examples
mkdir -p /var/lock/subsys /var/lib/shorewall6
: >/var/log/messages
ip link add eth2 type bridge mcast_snooping 0
ip link set eth2 addrgenmode none up
ip addr add fd00:11::254/64 dev eth2 nodad

# take EXAMPLE: makes an example the configuration.
take() {
	rm -rf /etc/shorewall6
	mkdir /etc/shorewall6
	cp "$examples/$1"/* /etc/shorewall6/
	rm -f /etc/shorewall6/*.annotated
	sed -i 's/^STARTUP_ENABLED=.*/STARTUP_ENABLED=Yes/' /etc/shorewall6/shorewall6.conf
}

for example in one-interface two-interfaces three-interfaces Universal; do
	take $example
	shorewall6 check
	shorewall6 start
	phase "$example"
	shorewall6 status
	shorewall6 show
	shorewall6 show mangle
	shorewall6 show raw
	shorewall6 show capabilities
	shorewall6 stop
	phase "$example-stop"
	shorewall6 clear
	phase "$example-clear"
done

take two-interfaces
cat >>/etc/shorewall6/rules <<'END'
SSH(ACCEPT)	net:<2001:db8:9::/48>	$FW
ACCEPT:info	net	$FW	udp	500,4500
ACCEPT	loc	$FW	tcp	5000:5010	-	-	s:10/min:5
DROP	net	$FW	ipv6-icmp	128
LOG:debug	$FW	net	tcp	6667
END
cat >/etc/shorewall6/mangle <<'END'
MARK(1)	<fd00:10::/64>	::/0	tcp	443
TOS(16)	::/0	::/0	tcp	22
END
cat >/etc/shorewall6/blrules <<'END'
DROP	net:<2001:db8:bad::1>	all
END
shorewall6 start
phase start
shorewall6 drop 2001:db8:7::1
shorewall6 reject 2001:db8:7::2
shorewall6 show dynamic
phase dynamic
shorewall6 allow 2001:db8:7::1
shorewall6 save
phase save
shorewall6 reload
phase reload
shorewall6 restart
phase restart
shorewall6 restore
phase restore
shorewall6 reset
phase reset
shorewall6 dump >/dev/null
shorewall6 stop
phase stop
shorewall6 clear
phase clear
