# firewalld with the iptables backend, over a bus of its own.
c() { firewall-cmd "$@" || echo "firewall-cmd $*: $?"; }

firewalld_bus
firewalld_start
phase start

c --get-default-zone
c --list-all-zones
c --zone=public --add-interface=eth0
c --zone=internal --add-interface=eth1
phase interfaces

c --zone=public --add-service=http
c --zone=public --add-service=https
c --zone=public --add-port=8000-8010/tcp
c --zone=public --add-port=5000/udp --timeout=600
c --zone=public --add-protocol=esp
c --zone=public --add-source-port=68/udp
c --zone=public --add-icmp-block=echo-request
c --zone=public --add-icmp-block-inversion
c --zone=public --add-forward
phase services

c --zone=public --add-masquerade
c --zone=public --add-forward-port=port=8080:proto=tcp:toport=80:toaddr=10.10.10.5
c --zone=public --add-forward-port=port=2222:proto=tcp:toport=22
phase nat

c --zone=public --add-rich-rule='rule family=ipv4 source address=198.51.100.0/24 service name=ssh log prefix="ssh: " level=info limit value=3/m accept'
c --zone=public --add-rich-rule='rule family=ipv4 source address=198.51.100.66 reject type=icmp-admin-prohibited'
c --zone=public --add-rich-rule='rule family=ipv6 source address=2001:db8:bad::/48 drop'
c --zone=public --add-rich-rule='rule family=ipv4 destination address=192.0.2.1 port port=53 protocol=udp audit accept'
c --zone=public --add-rich-rule='rule priority=-5 protocol value=igmp accept'
c --zone=public --add-rich-rule='rule family=ipv4 source not address=192.0.2.0/24 forward-port port=81 protocol=tcp to-port=8081 to-addr=10.10.10.6'
c --zone=public --add-rich-rule='rule icmp-type name=timestamp-request log limit value=1/s accept'
c --zone=public --add-rich-rule='rule family=ipv4 source address=203.0.113.0/24 mark set=0x10/0xff'
c --zone=public --add-rich-rule='rule service name=ftp nflog group=3 prefix="ftp" accept limit value=1/m'
phase rich-rules

c --permanent --new-ipset=bad --type=hash:net
c --permanent --ipset=bad --add-entry=198.51.100.128/25
c --permanent --new-ipset=bad6 --type=hash:ip --option=family=inet6
c --permanent --ipset=bad6 --add-entry=2001:db8::bad
c --permanent --zone=drop --add-source=ipset:bad
c --permanent --zone=drop --add-source=ipset:bad6
c --permanent --zone=trusted --add-source=10.20.0.0/16
c --reload
phase ipsets
c --ipset=bad --add-entry=203.0.113.64/26
c --ipset=bad --remove-entry=198.51.100.128/25
c --ipset=bad --get-entries
phase ipset-entries

c --permanent --new-policy=out
c --permanent --policy=out --add-ingress-zone=internal
c --permanent --policy=out --add-egress-zone=public
c --permanent --policy=out --set-target=ACCEPT
c --permanent --policy=out --add-rich-rule='rule family=ipv4 destination address=203.0.113.9 reject'
c --permanent --new-policy=host
c --permanent --policy=host --add-ingress-zone=HOST
c --permanent --policy=host --add-egress-zone=ANY
c --permanent --policy=host --add-service=dns
c --reload
phase policies

c --direct --add-chain ipv4 filter mine
c --direct --add-rule ipv4 filter INPUT 0 -p tcp --dport 9999 -j mine
c --direct --add-rule ipv4 filter mine 0 -s 198.51.100.0/24 -j ACCEPT
c --direct --add-rule ipv6 filter FORWARD 1 -p tcp --dport 25 -j REJECT
c --direct --add-rule ipv4 nat POSTROUTING 0 -s 10.30.0.0/16 -j MASQUERADE
c --direct --passthrough ipv4 -t mangle -A PREROUTING -p tcp --dport 22 -j TOS --set-tos 0x10
c --direct --passthrough ipv4 -t filter -L INPUT -n
c --direct --get-all-rules
phase direct
c --direct --remove-rule ipv4 filter INPUT 0 -p tcp --dport 9999 -j mine
c --direct --remove-rules ipv4 filter mine
c --direct --remove-chain ipv4 filter mine
phase direct-removed

c --set-log-denied=all
phase log-denied
c --set-log-denied=off
c --zone=public --remove-service=http
c --zone=public --remove-port=8000-8010/tcp
c --zone=public --remove-masquerade
c --zone=internal --change-interface=eth0
c --zone=public --set-target=DROP --permanent
c --set-default-zone=home
phase removed

c --panic-on
phase panic
c --panic-off
phase panic-off

c --runtime-to-permanent
c --reload
phase reload
c --complete-reload
phase complete-reload
sed -i 's/^IndividualCalls=.*/IndividualCalls=yes/' /etc/firewalld/firewalld.conf
c --reload
phase individual-calls

firewalld_stop
phase stop

for setting in IndividualCalls CleanupOnExit IPv6_rpfilter FlushAllOnReload; do
	sed -i "s/^$setting=.*/$setting=no/" /etc/firewalld/firewalld.conf
done
firewalld_start
phase restart
c --zone=home --add-port=1234/tcp
c --reload
phase reload-without-flush
firewalld_stop
phase end
