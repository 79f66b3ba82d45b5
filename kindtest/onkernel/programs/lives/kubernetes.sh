# What lives of kube-proxy share: an API server, the configuration of kube-proxy, endpoints.
folder=/var/lib/kube
store=http://127.0.0.1:2379 server=https://127.0.0.1:6443
k() { /opt/kubectl --server $server --token secret --insecure-skip-tls-verify "$@"; }
proxy() { /opt/kube-proxy --config $folder/config "$@" >>/chainwalk/server 2>&1; }

# kubernetes MODE: starts an API server with two nodes, and configures kube-proxy.
kubernetes() {
	mkdir -p $folder
	printf 'apiVersion: kubeadm.k8s.io/v1beta4\nkind: ClusterConfiguration\nkubernetesVersion: %s\ncertificatesDir: %s\n' \
		"$(/opt/kubeadm version -o short)" $folder >$folder/kubeadm
	/opt/kubeadm init phase certs sa --config $folder/kubeadm
	printf 'secret,admin,1,system:masters\n' >$folder/users.csv
	/opt/etcd --data-dir $folder/etcd --unsafe-no-fsync --log-level warn --listen-client-urls $store --advertise-client-urls $store \
		--listen-peer-urls http://127.0.0.1:2380 --initial-advertise-peer-urls http://127.0.0.1:2380 \
		--initial-cluster default=http://127.0.0.1:2380 >/chainwalk/etcd 2>&1 &
	/opt/kube-apiserver --etcd-servers $store --bind-address 127.0.0.1 --secure-port 6443 --cert-dir $folder/certificates \
		--token-auth-file $folder/users.csv --authorization-mode RBAC --service-account-issuer https://chainwalk \
		--service-account-key-file $folder/sa.pub --service-account-signing-key-file $folder/sa.key \
		--disable-admission-plugins ServiceAccount,TaintNodesByCondition --service-cluster-ip-range 172.30.0.0/16,fd00:172:30::/108 \
		--endpoint-reconciler-type none >/chainwalk/apiserver 2>&1 &
	await k get --raw /readyz

	cat >$folder/kubeconfig <<END
apiVersion: v1
kind: Config
clusters: [{name: c, cluster: {server: "$server", insecure-skip-tls-verify: true}}]
users: [{name: u, user: {token: secret}}]
contexts: [{name: x, context: {cluster: c, user: u}}]
current-context: x
END
	cat >$folder/config <<END
apiVersion: kubeproxy.config.k8s.io/v1alpha1
kind: KubeProxyConfiguration
mode: $1
hostnameOverride: here
clusterCIDR: 10.244.0.0/16,fd00:10:244::/64
clientConnection: {kubeconfig: $folder/kubeconfig}
conntrack: {maxPerCore: 0, min: 0}
$1: {minSyncPeriod: 100ms, syncPeriod: 3s}
END
	k apply -f - <<'END'
apiVersion: v1
kind: Node
metadata: {name: here, labels: {kubernetes.io/hostname: here, topology.kubernetes.io/zone: one}}
---
apiVersion: v1
kind: Node
metadata: {name: there}
END
	k patch node here --subresource=status --type=merge \
		-p '{"status": {"addresses": [{"type": "InternalIP", "address": "192.0.2.1"}, {"type": "InternalIP", "address": "2001:db8::1"}]}}'
}

# slice SERVICE FAMILY PORTS ADDRESS/NODE...: the endpoints of a service.
slice() {
	service=$1 family=$2 ports=$3
	shift 3
	{
		echo "{apiVersion: discovery.k8s.io/v1, kind: EndpointSlice, addressType: $family, ports: [$ports], endpoints: ["
		for endpoint in "$@"; do
			echo "{addresses: ['${endpoint%/*}'], nodeName: ${endpoint#*/}, conditions: {ready: true}},"
		done
		lower=$(echo "$family" | tr A-Z a-z)
		echo "], metadata: {name: $service-$lower, labels: {kubernetes.io/service-name: $service}}}"
	} | k apply -f -
}

# endpoints: those of the services web and dns.
endpoints() {
	slice web IPv4 '{name: http, port: 8080}, {name: s, port: 8443}' 10.244.0.11/here 10.244.1.11/there 10.244.1.12/there
	slice web IPv6 '{name: http, port: 8080}, {name: s, port: 8443}' fd00:10:244::11/here fd00:10:244:1::11/there
	slice dns IPv4 '{name: u, protocol: UDP, port: 5353}, {name: t, protocol: TCP, port: 5353}' 10.244.0.53/here
}

# edge: a load balancer of policy Local with source ranges, affinity and a health check, and node ports of three protocols.
edge() {
	k apply -f - <<'END'
apiVersion: v1
kind: Service
metadata: {name: edge}
spec:
  type: LoadBalancer
  clusterIP: 172.30.0.20
  externalIPs: [203.0.113.20]
  externalTrafficPolicy: Local
  internalTrafficPolicy: Local
  healthCheckNodePort: 30999
  sessionAffinity: ClientIP
  sessionAffinityConfig: {clientIP: {timeoutSeconds: 600}}
  loadBalancerSourceRanges: [198.51.100.0/24, 192.0.2.77/32]
  ports: [{name: p, port: 80, targetPort: 8080, nodePort: 30080}]
---
apiVersion: v1
kind: Service
metadata: {name: node}
spec:
  type: NodePort
  clusterIP: 172.30.0.21
  ports:
  - {name: t, port: 22, nodePort: 30022}
  - {name: u, protocol: UDP, port: 22, nodePort: 30022}
  - {name: s, protocol: SCTP, port: 22, nodePort: 30022}
END
	k patch service edge --subresource=status --type=merge -p '{"status": {"loadBalancer": {"ingress": [{"ip": "203.0.113.80"}]}}}'
	slice edge IPv4 '{name: p, port: 8080}' 10.244.0.21/here 10.244.1.21/there
	slice node IPv4 '{name: t, port: 2222}, {name: u, protocol: UDP, port: 2222}, {name: s, protocol: SCTP, port: 2222}' 10.244.1.22/there
}
