# ufw: a host's firewall from its first rule to its reset.
ufw --force enable
phase enable

ufw default deny incoming
ufw default allow outgoing
ufw default reject routed
phase default

ufw allow 22/tcp
ufw limit ssh comment 'not too often'
ufw allow in on eth0 to any port 80,443 proto tcp
ufw deny from 198.51.100.0/24
ufw reject out to 203.0.113.9 port 25 proto tcp
ufw allow from 2001:db8:1::/48 to any port 6000:6010 proto udp
ufw insert 1 deny from 198.51.100.77 to any port 443 proto tcp
ufw allow log 8080/tcp
ufw deny log-all proto udp from any to any port 137,138
ufw allow proto esp from 192.0.2.7
ufw allow proto ah from 192.0.2.7
ufw allow proto gre from 192.0.2.8
ufw allow proto igmp from 192.0.2.8
ufw allow out on eth1 to 10.10.10.0/24
ufw allow 'WWW Full'  || ufw app list
ufw prepend deny from 2001:db8:bad::/48
phase rules

ufw route allow in on eth1 out on eth0 from 10.10.10.0/24
ufw route deny in on eth0 out on eth1 to 10.10.10.9 port 3389 proto tcp
ufw route insert 1 reject in on eth0 from 198.51.100.0/24
ufw route limit in on eth0 out on eth1 to 10.10.10.5 port 22 proto tcp
phase route

ufw status
ufw status verbose
ufw status numbered
ufw show raw
ufw show builtins
ufw show before-rules
ufw show user-rules
ufw show after-rules
ufw show logging-rules
ufw show added
ufw show listening
phase show

for level in low medium high full off on; do
	ufw logging $level
done
phase logging

ufw delete allow 22/tcp
ufw --force delete 1
ufw route delete deny in on eth0 out on eth1 to 10.10.10.9 port 3389 proto tcp
ufw delete limit ssh
ufw delete allow 22/tcp || true
phase delete

ufw reload
phase reload

cat >>/etc/ufw/before.rules <<'END'
*nat
:POSTROUTING ACCEPT [0:0]
-A POSTROUTING -s 10.10.10.0/24 -o eth0 -j MASQUERADE
COMMIT
END
ufw reload
phase nat

/lib/ufw/ufw-init flush-all
phase flush-all
/lib/ufw/ufw-init force-reload
phase force-reload
/lib/ufw/ufw-init status

ufw disable
phase disable

ufw --force enable
ufw --force reset
phase reset
