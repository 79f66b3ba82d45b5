package large

import (
	"fmt"
	"net/netip"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	kubeproxyconfig "k8s.io/kube-proxy/config/v1alpha1"

	"github.com/chainwalk/chainwalk/packetsim/snapshot"
	"github.com/chainwalk/chainwalk/scenarios/format/manifest"
)

// Cluster is what is known of a cluster.
type Cluster struct {
	Objects   []manifest.Object
	Config    *kubeproxyconfig.KubeProxyConfiguration // of every node
	Snapshots []*snapshot.NodeSnapshot                // of every node, in the nodes' order
}

// nodes is how many nodes a cluster has.
const nodes = 3

// maxServices keeps cluster IPs, pods and node ports apart.
const maxServices = 20_000

// New makes a sound cluster of three nodes. Each service has a cluster IP and so many endpoints, pods that the nodes share; every tenth
// has a node port.
func New(services, endpoints int) (*Cluster, error) {
	if services < 1 || services > maxServices || endpoints < 0 || services*endpoints > 3*60_000 {
		return nil, fmt.Errorf("no cluster of %d services with %d endpoints: want 1 to %d services and at most 180000 endpoints in all",
			services, endpoints, maxServices)
	}
	b := builder{cluster: &Cluster{Config: &kubeproxyconfig.KubeProxyConfiguration{ClusterCIDR: "10.128.0.0/9"}}}
	for n := range nodes {
		if err := b.addNode(n); err != nil {
			return nil, err
		}
	}
	clusterIP := netip.MustParseAddr("10.96.0.9")
	for i := range services {
		clusterIP = clusterIP.Next()
		if err := b.addService(i, clusterIP, endpoints); err != nil {
			return nil, err
		}
	}
	for n := range nodes {
		taken, err := b.snapshot(n)
		if err != nil {
			return nil, err
		}
		b.cluster.Snapshots = append(b.cluster.Snapshots, taken)
	}
	return b.cluster, nil
}

// builder makes a cluster.
type builder struct {
	cluster *Cluster
	nodes   []*corev1.Node
	pods    [nodes][]netip.Addr // of each node, in order
}

func (b *builder) add(objects ...runtime.Object) error {
	for _, o := range objects {
		object, err := manifest.New(o)
		if err != nil {
			return err
		}
		b.cluster.Objects = append(b.cluster.Objects, object)
	}
	return nil
}

func (b *builder) addNode(n int) error {
	node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprintf("node%d", n+1)}}
	node.Spec.PodCIDR = podNetwork(n).String()
	node.Spec.PodCIDRs = []string{node.Spec.PodCIDR}
	node.Status.Addresses = []corev1.NodeAddress{{Type: corev1.NodeInternalIP, Address: nodeAddress(n).String()}}
	b.nodes = append(b.nodes, node)
	return b.add(node)
}

// podNetwork is the network of a node's pods, nodeAddress the node's own address.
func podNetwork(n int) netip.Prefix { return netip.MustParsePrefix(fmt.Sprintf("10.%d.0.0/16", 129+n)) }
func nodeAddress(n int) netip.Addr  { return netip.MustParseAddr(fmt.Sprintf("192.168.0.%d", 2+n)) }

// addService adds the service with a number, its pods and its slice.
func (b *builder) addService(i int, clusterIP netip.Addr, endpoints int) error {
	const namespace, name, tcp = "shop", "http", corev1.ProtocolTCP
	service := &corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: fmt.Sprintf("web-%d", i)}}
	service.Spec = corev1.ServiceSpec{Type: corev1.ServiceTypeClusterIP, ClusterIP: clusterIP.String(),
		ClusterIPs: []string{clusterIP.String()}, Ports: []corev1.ServicePort{{Name: name, Protocol: tcp, Port: 80}}}
	if i%10 == 0 {
		service.Spec.Type, service.Spec.Ports[0].NodePort = corev1.ServiceTypeNodePort, int32(30000+i/10)
	}
	slice := &discoveryv1.EndpointSlice{AddressType: discoveryv1.AddressTypeIPv4,
		Ports: []discoveryv1.EndpointPort{{Name: new(name), Protocol: new(tcp), Port: new(int32(8080))}}}
	slice.Namespace, slice.Name = namespace, service.Name+"-1"
	slice.Labels = map[string]string{discoveryv1.LabelServiceName: service.Name}
	for k := range endpoints {
		n := (i + k) % nodes
		pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: fmt.Sprintf("web-%d-%d", i, k)}}
		pod.Spec.NodeName, pod.Status.PodIPs = b.nodes[n].Name, []corev1.PodIP{{IP: b.nextPod(n).String()}}
		if err := b.add(pod); err != nil {
			return err
		}
		slice.Endpoints = append(slice.Endpoints, discoveryv1.Endpoint{Addresses: []string{pod.Status.PodIPs[0].IP},
			NodeName: &b.nodes[n].Name, Conditions: discoveryv1.EndpointConditions{Ready: new(true)}})
	}
	return b.add(service, slice)
}

// nextPod is the address of a node's next pod.
func (b *builder) nextPod(n int) netip.Addr {
	next := netip.MustParseAddr(fmt.Sprintf("10.%d.0.10", 129+n))
	if have := b.pods[n]; len(have) > 0 {
		next = have[len(have)-1].Next()
	}
	b.pods[n] = append(b.pods[n], next)
	return next
}
