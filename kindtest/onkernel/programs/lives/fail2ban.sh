# fail2ban: a jail for each of its actions that runs the tools, addresses of both families banned and let go.
: >/var/log/none.log
rm -f /etc/fail2ban/jail.d/*
cat >/etc/fail2ban/jail.local <<'END'
[DEFAULT]
backend = polling
logpath = /var/log/none.log
filter = sshd
bantime = 600
findtime = 600
maxretry = 5

[one-port]
enabled = true
action = iptables[name=one-port, port=ssh, protocol=tcp]

[some-ports]
enabled = true
action = iptables-multiport[name=some-ports, port="80,443,8000:8010", protocol=tcp]

[udp-ports]
enabled = true
action = iptables-multiport[name=udp-ports, port="53,123", protocol=udp, blocktype=DROP]

[all-ports]
enabled = true
action = iptables-allports[name=all-ports, protocol=all]

[new]
enabled = true
action = iptables-new[name=new, port=25, protocol=tcp]

[logged]
enabled = true
action = iptables-multiport-log[name=logged, port="110,143", protocol=tcp]

[set]
enabled = true
action = iptables-ipset[name=set, port=22, protocol=tcp]

[six]
enabled = true
action = iptables-ipset-proto6[name=six, port="993,995", protocol=tcp]

[whole]
enabled = true
action = iptables-ipset-proto6-allports[name=whole]

[recent]
enabled = true
action = iptables-xt_recent-echo[name=recent, port=3306, protocol=tcp]
END
jails="one-port some-ports udp-ports all-ports new logged set six whole recent"
client() { fail2ban-client "$@"; }
start() {
	fail2ban-server -f start >>/chainwalk/server 2>&1 &
	await client ping
}

# banned JAIL ADDRESS: the address is in the rules or sets of the jail.
banned() { { real iptables -S; real ip6tables -S; real ipset save; } | grep -F -e "f2b-$1" | grep -qF -e "$2"; }
free() { ! banned "$@"; }

mkdir -p /run/fail2ban
start
phase start

for jail in $jails; do
	addresses="198.51.100.7 198.51.100.8 2001:db8:1::7"
	case $jail in
	set | six | whole) ;; # of single addresses
	*) addresses="$addresses 203.0.113.0/28 2001:db8:2::/64" ;;
	esac
	client set "$jail" banip $addresses
	for address in $addresses; do
		[ "$jail" = recent ] || await banned "$jail" "$address"
	done
	client status "$jail"
done
phase ban

client set one-port banip 198.51.100.7
for jail in $jails; do
	client set "$jail" unbanip 198.51.100.7 2001:db8:1::7
	[ "$jail" = recent ] || { await free "$jail" 198.51.100.7; await free "$jail" 2001:db8:1::7; }
done
client set one-port unbanip 192.0.2.200 || true
phase unban

client set one-port bantime 1
client set one-port banip 198.51.100.99
await free one-port 198.51.100.99
phase expire

client unban --all
for jail in $jails; do await free "$jail" 198.51.100.8; done
phase unban-all

client set some-ports banip 198.51.100.20
await banned some-ports 198.51.100.20
client restart some-ports
client reload
client reload --restart
await client ping
phase reload

iptables -F
client set some-ports banip 198.51.100.21
client set all-ports banip 198.51.100.21
await banned all-ports 198.51.100.21
phase flushed-by-others

client stop six
client stop one-port
phase stop-jail

client stop
wait
phase stop

start
phase restart
client stop
wait
phase end
