package cluster

import (
	"slices"

	"sigs.k8s.io/kind/pkg/apis/config/v1alpha4"

	"github.com/chainwalk/chainwalk/scenarios"
)

// The ranges of pods and services.
const (
	podsIPv4     = "10.244.0.0/16"
	podsIPv6     = "fd00:10:244::/56"
	servicesIPv4 = "10.96.0.0/12"
	servicesIPv6 = "fd00:10:96::/112"
)

// zoneLabel is the label of a node that says its zone.
const zoneLabel = "topology.kubernetes.io/zone"

// initPatch makes the control plane a node as any other, and leaves out what tests of a proxy do not need. Preflight checks and
// kube-proxy are left out by kind itself, but a list is replaced as a whole.
const initPatch = `kind: InitConfiguration
nodeRegistration:
  taints: []
skipPhases: [preflight, addon/kube-proxy, addon/coredns]
`

// patiencePatches are for machines that have more to do: kubeadm would give up a control plane that does not answer within a minute.
// Before v1beta4, which kind writes for Kubernetes v1.36, it cannot be told.
var patiencePatches = []string{patiencePatch("InitConfiguration"), patiencePatch("JoinConfiguration")}

func patiencePatch(kind string) string {
	return "apiVersion: kubeadm.k8s.io/v1beta4\nkind: " + kind + "\ntimeouts: {kubernetesAPICall: 5m0s}\n"
}

// kubeletPatch lets the kubelet run on hosts with cgroup v1, which it refuses by default from v1.35 on.
const kubeletPatch = `kind: KubeletConfiguration
failCgroupV1: false
`

// hastePatches have etcd not wait until the disk has what it writes. A cluster that outlives no crash of its machine need not, and what
// is written waits for it one after the other, some milliseconds each.
var hastePatches = []string{
	hastePatch("v1beta4", `[{name: unsafe-no-fsync, value: "true"}]`),
	hastePatch("v1beta3", `{unsafe-no-fsync: "true"}`),
}

func hastePatch(version, arguments string) string {
	return "apiVersion: kubeadm.k8s.io/" + version + "\nkind: ClusterConfiguration\netcd: {local: {extraArgs: " + arguments + "}}\n"
}

// oldSpellings have the API server take what versions before v1.36 take by default: addresses with leading zeros, and ranges with bits
// beyond the prefix length. Objects that have them stay in clusters that get a newer version, and scenarios are about what proxies make
// of them.
var oldSpellings = []string{
	spellingPatch("v1beta4", `[{name: feature-gates, value: "StrictIPCIDRValidation=false"}]`),
	spellingPatch("v1beta3", `{feature-gates: "StrictIPCIDRValidation=false"}`),
}

func spellingPatch(version, arguments string) string {
	return "apiVersion: kubeadm.k8s.io/" + version + "\nkind: ClusterConfiguration\napiServer: {extraArgs: " + arguments + "}\n"
}

// kindConfig is the cluster as kind is told to make it. The control plane is in zone a, the workers in those that follow.
func kindConfig(c Config) *v1alpha4.Cluster {
	pods, services := ranges(c.Family)
	cluster := &v1alpha4.Cluster{
		TypeMeta: v1alpha4.TypeMeta{Kind: "Cluster", APIVersion: "kind.x-k8s.io/v1alpha4"},
		Name:     c.Name,
		Networking: v1alpha4.Networking{
			IPFamily:          v1alpha4.ClusterIPFamily(c.Family),
			PodSubnet:         pods,
			ServiceSubnet:     services,
			DisableDefaultCNI: true,
			KubeProxyMode:     v1alpha4.ProxyMode("none"),
		},
		KubeadmConfigPatches: slices.Concat([]string{initPatch, kubeletPatch}, patiencePatches, hastePatches, oldSpellings),
	}
	for i := range c.Workers + 1 {
		role := v1alpha4.WorkerRole
		if i == 0 {
			role = v1alpha4.ControlPlaneRole
		}
		zone := string(rune('a' + i))
		cluster.Nodes = append(cluster.Nodes, v1alpha4.Node{Role: role, Image: c.Image, Labels: map[string]string{zoneLabel: zone}})
	}
	v1alpha4.SetDefaultsCluster(cluster)
	return cluster
}

// ranges are the ranges of pods and of services, as Kubernetes writes them.
func ranges(family scenarios.IPFamily) (pods, services string) {
	switch family {
	case scenarios.FamilyIPv4:
		return podsIPv4, servicesIPv4
	case scenarios.FamilyIPv6:
		return podsIPv6, servicesIPv6
	default:
		return podsIPv4 + "," + podsIPv6, servicesIPv4 + "," + servicesIPv6
	}
}
