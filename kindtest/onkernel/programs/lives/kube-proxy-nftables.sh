# kube-proxy in mode nftables: services that come, change and go in an API server, beside tables of others, and a table that others delete.
kubernetes nftables
table() { real nft list table "$1" kube-proxy; }
# has FAMILY TEXT, lost FAMILY TEXT: kube-proxy's table has the text in it, or has not.
has() { table "$1" | grep -qF -e "$2"; }
lost() { ! has "$@"; }

proxy &
pid=$!
await has ip nodeport-ips
await has ip6 nodeport-ips
phase start

k apply -f - <<'END'
apiVersion: v1
kind: Service
metadata: {name: web}
spec:
  clusterIP: 172.30.0.10
  clusterIPs: [172.30.0.10, "fd00:172:30::10"]
  ipFamilyPolicy: RequireDualStack
  ports: [{name: http, port: 80, targetPort: 8080}, {name: s, port: 443, targetPort: 8443}]
---
apiVersion: v1
kind: Service
metadata: {name: dns}
spec: {clusterIP: 172.30.0.53, ports: [{name: u, protocol: UDP, port: 53}, {name: t, protocol: TCP, port: 53}]}
---
apiVersion: v1
kind: Service
metadata: {name: empty}
spec: {clusterIP: 172.30.0.99, ports: [{port: 99}]}
END
await has ip '172.30.0.99 . tcp . 99'
await has ip6 'fd00:172:30::10 . tcp . 443'
phase services

endpoints
await has ip '10.244.1.12 . 8443'
await has ip6 'fd00:10:244:1::11 . 8443'
await has ip '10.244.0.53 . 5353'
phase endpoints

edge
await has ip '203.0.113.80 . tcp . 80'
await has ip '10.244.1.22 . 2222'
await has ip '10.244.0.21:8080'
phase external

nft -f - <<'END'
table inet mine {
	chain forward {
		type filter hook forward priority 10; policy drop;
		ct status dnat accept
		ct state established,related accept
	}
}
END
iptables -A FORWARD -m conntrack --ctstate DNAT -j ACCEPT
phase beside-others

slice web IPv4 '{name: http, port: 8080}, {name: s, port: 8443}' 10.244.1.12/there
await lost ip '10.244.1.11 . 8443'
k delete endpointslice node-ipv4
await lost ip '10.244.1.22'
k delete service dns
await lost ip 172.30.0.53
sleep 2 # it deletes the chains of what is gone a second later
phase fewer

nft delete table ip kube-proxy
nft 'add chain ip6 kube-proxy foreign; add rule ip6 kube-proxy services counter'
k patch service web --type=merge -p '{"metadata": {"labels": {"changed": "yes"}}, "spec": {"sessionAffinity": "ClientIP"}}'
await has ip '10.244.1.12:8443' # affinity has a chain for each endpoint
await has ip '10.244.0.21:8080'
phase deleted-by-others

kill $pid
wait $pid || true
k delete service node
proxy &
pid=$!
await lost ip 172.30.0.21
sleep 2
phase restart

kill $pid
wait $pid || true
proxy --cleanup || true
phase cleanup
