# kube-proxy: services that come, change and go in an API server, and rules that others flush.
kubernetes iptables
proxy &
pid=$!
await shows KUBE-NODEPORTS iptables -t nat -S KUBE-SERVICES
await shows KUBE-PROXY-CANARY ip6tables -t mangle -S
await shows KUBE-NODEPORTS ip6tables -t nat -S KUBE-SERVICES
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
await shows 172.30.0.99/32 iptables -t filter -S KUBE-SERVICES
phase services

endpoints
await shows 10.244.1.12:8443 iptables -t nat -S
await shows fd00:10:244:1::11 ip6tables -t nat -S
await shows 10.244.0.53:5353 iptables -t nat -S
phase endpoints

edge
await shows 203.0.113.80 iptables -t nat -S KUBE-SERVICES
await shows 10.244.1.22:2222 iptables -t nat -S
await shows 10.244.0.21:8080 iptables -t nat -S
phase external

# complete: waits until kube-proxy has written again what others have flushed.
complete() {
	for tool in iptables ip6tables; do
		for table in nat filter mangle; do await shows KUBE-PROXY-CANARY $tool -t $table -S; done
		await shows KUBE-SERVICES $tool -t nat -S PREROUTING
		await shows KUBE-FORWARD $tool -t filter -S FORWARD
	done
	await shows 10.244.0.21:8080 iptables -t nat -S
}

ufw --force enable
ufw allow 22/tcp
ufw route deny in on eth0 to 10.244.0.0/16
phase ufw-beside
ufw reload
complete
phase ufw-reload-beside
ufw disable
complete
phase ufw-disabled

firewalld_bus
firewalld_start
complete
phase firewalld-beside
firewall-cmd --zone=public --add-port=30080/tcp
firewall-cmd --reload
complete
phase firewalld-reload-beside
firewalld_stop
complete
phase firewalld-stopped

slice web IPv4 '{name: http, port: 8080}, {name: s, port: 8443}' 10.244.1.12/there
await lacks 10.244.1.11 iptables -t nat -S
k delete endpointslice node-ipv4
await lacks 10.244.1.22 iptables -t nat -S
k delete service dns
await lacks 172.30.0.53 iptables -t nat -S
phase fewer

iptables -t nat -F
for tool in iptables ip6tables; do
	for table in nat filter mangle; do $tool -t $table -X KUBE-PROXY-CANARY; done
done
await shows 10.244.0.21:8080 iptables -t nat -S
await shows KUBE-PROXY-CANARY ip6tables -t mangle -S
phase flushed-by-others

kill $pid
wait $pid || true
k delete service node
proxy &
pid=$!
await lacks 172.30.0.21 iptables -t filter -S
await lacks KUBE-SVC-NODE iptables -t nat -S
sleep 4 # its monitors look once
phase restart

kill $pid
wait $pid || true
proxy --cleanup || true
phase cleanup
