package cluster

import (
	"net"
	"path"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	kubeproxy "k8s.io/kube-proxy/config/v1alpha1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/yaml"
)

// What the proxy's objects are called, whichever proxy it is.
const (
	proxyName      = "service-proxy"
	proxyNamespace = metav1.NamespaceSystem
	nameLabel      = "app.kubernetes.io/name"
)

// Where a proxy's pod has its configurations, a file for each node by its name, and that of the API server; and the folder of its node
// with the file that it goes by, which is that of the ConfigMap as the pod starts.
const (
	configFolder   = "/etc/service-proxy"
	kubeconfigFile = "kubeconfig"
	givenFolder    = "/run/service-proxy"
	givenFile      = givenFolder + "/config.yaml"
	copiedFile     = "/config.yaml" // in the proxy's container
)

// ToolsFolder is a folder of each node that its proxy looks in first for its tools. It is empty, unless somebody wants one to be another
// program.
const ToolsFolder = "/var/lib/chainwalk/tools"

// minSyncPeriod is short, since tests wait for syncs. Zero would be the proxy's default, a second.
const minSyncPeriod = 10 * time.Millisecond

// The ports of a proxy, unless its configuration gives others.
const (
	healthzPort = "10256"
	metricsPort = "10249"
)

// apiServerPort is where kind has the API server listen on the control plane.
const apiServerPort = "6443"

// supervise runs a proxy with the configuration of its node, and runs it anew when that is another one, as proxies ask of whoever starts
// them: they end when their file changes, so that they are given a copy. A tool that the old one has begun may go on without it, and
// would write what the new one does not know: it is waited for, up to 5 seconds. A proxy that ends by itself ends the container. The
// shell, cmp, cp and sleep are the node's, as iptables is.
const supervise = `
given=$2 copy=$3
cp "$1" "$given"
shift 3
tools() {
	for file in /proc/[0-9]*/comm; do
		read -r name <"$file" || continue
		case $name in nft | iptables* | ip6tables*) return 0 ;; esac
	done 2>/dev/null
	return 1
}
watch() { while cmp -s "$given" "$copy"; do sleep 1; done; kill "$1"; }
trap 'kill "$proxy" "$watcher"; wait "$proxy"; exit' TERM INT
while :; do
	cp "$given" "$copy"
	"$@" --config "$copy" &
	proxy=$!
	watch "$proxy" &
	watcher=$!
	wait "$proxy"
	status=$?
	kill "$watcher" 2>/dev/null
	if cmp -s "$given" "$copy"; then exit "$status"; fi
	tries=100
	while tools && [ "$tries" -gt 0 ]; do
		tries=$((tries - 1))
		sleep 0.05
	done
done
`

// proxyAccount is who the proxy is for the API server, and proxyRights what it may do there.
func proxyAccount() *corev1.ServiceAccount {
	return &corev1.ServiceAccount{
		TypeMeta:   metav1.TypeMeta{APIVersion: "v1", Kind: "ServiceAccount"},
		ObjectMeta: metav1.ObjectMeta{Name: proxyName, Namespace: proxyNamespace},
	}
}

func proxyRights() *rbacv1.ClusterRoleBinding {
	return &rbacv1.ClusterRoleBinding{
		TypeMeta:   metav1.TypeMeta{APIVersion: rbacv1.SchemeGroupVersion.String(), Kind: "ClusterRoleBinding"},
		ObjectMeta: metav1.ObjectMeta{Name: proxyName},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: "system:node-proxier"},
		Subjects:   []rbacv1.Subject{{Kind: rbacv1.ServiceAccountKind, Name: proxyName, Namespace: proxyNamespace}},
	}
}

// proxyConfigMap has a configuration for each node. The API server is the control plane's own address, since a Service's address works only
// once a proxy does, and a name only as long as nobody flushes Docker's rules for DNS.
func proxyConfigMap(server string, byNode map[string]string) *corev1.ConfigMap {
	data := map[string]string{kubeconfigFile: kubeconfig(server)}
	for node, text := range byNode {
		data[node] = text
	}
	return &corev1.ConfigMap{
		TypeMeta:   metav1.TypeMeta{APIVersion: "v1", Kind: "ConfigMap"},
		ObjectMeta: metav1.ObjectMeta{Name: proxyName, Namespace: proxyNamespace},
		Data:       data,
	}
}

func kubeconfig(server string) string {
	const secrets = "/var/run/secrets/kubernetes.io/serviceaccount/"
	return `apiVersion: v1
kind: Config
clusters:
- name: default
  cluster: {certificate-authority: ` + secrets + `ca.crt, server: "` + server + `"}
users:
- name: default
  user: {tokenFile: ` + secrets + `token}
contexts:
- name: default
  context: {cluster: default, user: default}
current-context: default
`
}

// ownFields are a configuration with what belongs to the cluster: how the API server is reached, the mode, addresses that the harness can
// ask for health and metrics, and no limit of tracked connections, which belongs to the whole machine. The time between syncs is
// short unless it is given. The argument stays as it is.
func ownFields(given *kubeproxy.KubeProxyConfiguration, mode string, ipv6 bool) *kubeproxy.KubeProxyConfiguration {
	c := given.DeepCopy()
	c.APIVersion, c.Kind = kubeproxy.SchemeGroupVersion.String(), "KubeProxyConfiguration"
	c.ClientConnection.Kubeconfig = path.Join(configFolder, kubeconfigFile)
	c.Mode = kubeproxy.ProxyMode(mode)
	c.HealthzBindAddress = onAllAddresses(c.HealthzBindAddress, healthzPort, ipv6)
	c.MetricsBindAddress = onAllAddresses(c.MetricsBindAddress, metricsPort, ipv6)
	c.Conntrack.MaxPerCore, c.Conntrack.Min = ptr.To[int32](0), ptr.To[int32](0)
	c.IPTables.MinSyncPeriod.Duration = or(c.IPTables.MinSyncPeriod.Duration, minSyncPeriod)
	c.NFTables.MinSyncPeriod.Duration = or(c.NFTables.MinSyncPeriod.Duration, minSyncPeriod)
	return c
}

// onAllAddresses keeps the port.
func onAllAddresses(address, port string, ipv6 bool) string {
	if _, given, err := net.SplitHostPort(address); err == nil {
		port = given
	}
	if ipv6 {
		return net.JoinHostPort("::", port)
	}
	return net.JoinHostPort("0.0.0.0", port)
}

// configurationText is the file of a node. A proxy that reads it strictly finds no field that it does not know.
func configurationText(c *kubeproxy.KubeProxyConfiguration) (string, error) {
	text, err := yaml.Marshal(c)
	return string(text), err
}

// proxyDaemonSet runs a program as the service proxy of every node. It is on the node's network, and has all privileges for what is in
// /proc/sys and for the tables of the kernel, as kubeadm's kube-proxy has.
func proxyDaemonSet(proxy Proxy, image string) *appsv1.DaemonSet {
	labels := map[string]string{nameLabel: proxyName}
	everywhere := intstr.FromString("100%")
	return &appsv1.DaemonSet{
		TypeMeta:   metav1.TypeMeta{APIVersion: appsv1.SchemeGroupVersion.String(), Kind: "DaemonSet"},
		ObjectMeta: metav1.ObjectMeta{Name: proxyName, Namespace: proxyNamespace, Labels: map[string]string{writerLabel: proxy.writer()}},
		Spec: appsv1.DaemonSetSpec{
			Selector: &metav1.LabelSelector{MatchLabels: labels},
			UpdateStrategy: appsv1.DaemonSetUpdateStrategy{
				Type: appsv1.RollingUpdateDaemonSetStrategyType, RollingUpdate: &appsv1.RollingUpdateDaemonSet{MaxUnavailable: &everywhere},
			},
			Template: corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: labels}, Spec: proxyPod(proxy.Name, image)},
		},
	}
}

func proxyPod(program, image string) corev1.PodSpec {
	config := corev1.VolumeSource{ConfigMap: &corev1.ConfigMapVolumeSource{LocalObjectReference: corev1.LocalObjectReference{Name: proxyName}}}
	volumes := []corev1.Volume{{Name: "config", VolumeSource: config}}
	mounts := []corev1.VolumeMount{{Name: "config", MountPath: configFolder}}
	for _, tool := range nodeFolders {
		source := corev1.HostPathVolumeSource{Path: tool.path, Type: &tool.kind}
		volumes = append(volumes, corev1.Volume{Name: tool.name, VolumeSource: corev1.VolumeSource{HostPath: &source}})
		mounts = append(mounts, corev1.VolumeMount{Name: tool.name, MountPath: tool.path, ReadOnly: tool.readOnly})
	}
	return corev1.PodSpec{
		ServiceAccountName:            proxyName,
		HostNetwork:                   true,
		PriorityClassName:             "system-node-critical",
		TerminationGracePeriodSeconds: ptr.To[int64](1),
		Tolerations:                   []corev1.Toleration{{Operator: corev1.TolerationOpExists}},
		Volumes:                       volumes,
		Containers: []corev1.Container{{
			Name:            program,
			Image:           image,
			ImagePullPolicy: corev1.PullNever,
			Command:         []string{"/usr/bin/sh", "-c", supervise, proxyName, configFolder + "/$(NODE_NAME)", givenFile, copiedFile},
			Args:            proxyCommand(program),
			Env: []corev1.EnvVar{
				{Name: "NODE_NAME", ValueFrom: &corev1.EnvVarSource{FieldRef: &corev1.ObjectFieldSelector{FieldPath: "spec.nodeName"}}},
				{Name: "PATH", Value: ToolsFolder + ":/usr/sbin:/usr/bin"},
			},
			SecurityContext: &corev1.SecurityContext{Privileged: ptr.To(true)},
			VolumeMounts:    mounts,
			ReadinessProbe: &corev1.Probe{
				ProbeHandler:  corev1.ProbeHandler{HTTPGet: &corev1.HTTPGetAction{Path: "/healthz", Port: intstr.Parse(healthzPort)}},
				PeriodSeconds: 5,
			},
		}},
	}
}

// proxyCommand is how a proxy is started, but for its configuration.
func proxyCommand(program string) []string {
	command := []string{"/" + program}
	if program == Chainwalk {
		command = append(command, "proxy")
	}
	return append(command, "--hostname-override=$(NODE_NAME)")
}

// nodeFolders are what a proxy's pod has of its node: what the node's tools consist of, and where it is given its configuration. The
// proxy's image has no tools, and those of another machine might write another variant of iptables' rules than the node's other programs
// do. Without the names of protocols nft prints their numbers, and kube-proxy in mode nftables, which reads back what it has written by
// names, deletes what it has just added.
var nodeFolders = []struct {
	name, path string
	kind       corev1.HostPathType
	readOnly   bool
}{
	{name: "programs", path: "/usr", kind: corev1.HostPathDirectory, readOnly: true},
	{name: "libraries", path: "/lib", kind: corev1.HostPathUnset, readOnly: true},
	{name: "loader", path: "/lib64", kind: corev1.HostPathUnset, readOnly: true},
	{name: "protocols", path: "/etc/protocols", kind: corev1.HostPathFile, readOnly: true},
	{name: "alternatives", path: "/etc/alternatives", kind: corev1.HostPathUnset, readOnly: true},
	{name: "given", path: givenFolder, kind: corev1.HostPathDirectoryOrCreate},
	{name: "tools", path: ToolsFolder, kind: corev1.HostPathDirectoryOrCreate},
	{name: "lock", path: "/run/xtables.lock", kind: corev1.HostPathFileOrCreate},
}
