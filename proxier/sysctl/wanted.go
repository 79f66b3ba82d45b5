package sysctl

import (
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	kubeproxy "k8s.io/kube-proxy/config/v1alpha1"
)

// Setting is a kernel setting and the value that it should have.
type Setting struct {
	// Path is the file of the setting, without the / at the beginning.
	Path  string
	Value int
	// atLeast leaves a higher value as it is.
	atLeast bool
}

const (
	procSys   = "proc/sys/"
	conntrack = procSys + "net/netfilter/nf_conntrack_"

	routeLocalnet = procSys + "net/ipv4/conf/all/route_localnet"
	hashSize      = "sys/module/nf_conntrack/parameters/hashsize"
)

// entriesPerBucket is how many connections there may be for each bucket of conntrack's hash table, and mostEntries how many
// connections a number per core may come to: a hash table for more takes too much memory. Both are kube-proxy's numbers.
const (
	entriesPerBucket = 4
	mostEntries      = 1 << 20
)

// Wanted returns the settings that kube-proxy makes when it starts, in its order. cores counts the machine's processors, not those of this
// process. localhostNodePorts is true if node ports are served at 127.0.0.0/8. What the configuration leaves to the kernel
// (no value, 0, or false for tcpBeLiberal) is not among them. A higher limit of connections stays, as with kube-proxy since v1.37.
func Wanted(config *kubeproxy.KubeProxyConntrackConfiguration, cores int, localhostNodePorts bool) []Setting {
	var settings []Setting
	want := func(path string, value int) {
		if value > 0 {
			settings = append(settings, Setting{Path: path, Value: value})
		}
	}
	entries := conntrackMax(config, cores)
	if entries > 0 {
		settings = append(settings,
			Setting{Path: conntrack + "max", Value: entries, atLeast: true},
			Setting{Path: hashSize, Value: entries / entriesPerBucket, atLeast: true})
	}
	want(conntrack+"tcp_timeout_established", seconds(config.TCPEstablishedTimeout))
	want(conntrack+"tcp_timeout_close_wait", seconds(config.TCPCloseWaitTimeout))
	if config.TCPBeLiberal {
		want(conntrack+"tcp_be_liberal", 1)
	}
	want(conntrack+"udp_timeout", seconds(&config.UDPTimeout))
	want(conntrack+"udp_timeout_stream", seconds(&config.UDPStreamTimeout))
	if localhostNodePorts {
		want(routeLocalnet, 1)
	}
	return settings
}

// conntrackMax is how many connections may be tracked; 0 leaves it to the kernel. The minimum counts only where there is a
// number per core, and not beyond the number that is too much for a machine with many cores.
func conntrackMax(config *kubeproxy.KubeProxyConntrackConfiguration, cores int) int {
	if config.MaxPerCore == nil || *config.MaxPerCore <= 0 {
		return 0
	}
	scaled := int(*config.MaxPerCore) * cores
	if scaled > mostEntries {
		return mostEntries
	}
	if config.Min != nil {
		return max(scaled, int(*config.Min))
	}
	return scaled
}

// seconds cuts off parts of a second.
func seconds(d *metav1.Duration) int {
	if d == nil {
		return 0
	}
	return int(d.Duration / time.Second)
}
