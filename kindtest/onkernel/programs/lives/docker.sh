# Docker's engine: networks that come and go, over rules that are there or flushed. No container runs.
engine() {
	dockerd --data-root /tmp/docker --exec-root /run/docker --storage-driver vfs --pidfile /run/docker.pid --host unix:///run/docker.sock \
		--experimental --ip6tables "$@" >>/chainwalk/server 2>&1 &
	pid=$!
	await docker info
}
# halt: ends the engine, and waits for it.
halt() {
	kill $pid
	wait $pid || true
}

echo 0 >/proc/sys/net/ipv4/ip_forward # which it switches on, and closes FORWARD then
engine
phase start
docker network ls
docker network inspect bridge

docker network create one
docker network create --subnet 10.99.0.0/24 --gateway 10.99.0.1 -o com.docker.network.bridge.name=two two
docker network create --internal --subnet 10.98.0.0/24 inside
docker network create --subnet 10.97.0.0/24 -o com.docker.network.bridge.enable_ip_masquerade=false unmasked
docker network create --subnet 10.96.0.0/24 -o com.docker.network.bridge.enable_icc=false apart
docker network create --subnet 10.95.0.0/24 -o com.docker.network.host_ipv4=192.0.2.1 source
docker network create --ipv6 --subnet 10.94.0.0/24 --subnet fd00:94::/64 six
phase networks

iptables -I DOCKER-USER -s 198.51.100.0/24 -j DROP
docker network rm one two
docker network create three
phase fewer

halt
phase stop
engine
phase restart

halt
iptables -t nat -F
iptables -F
iptables -X DOCKER-ISOLATION-STAGE-2 || true
engine --bip 172.29.0.1/16 --icc=false --ip-masq=false
phase flushed-by-others

docker network rm inside unmasked apart source six three
phase none
halt

engine --iptables=false --ip6tables=false
phase without-rules
halt
phase end
