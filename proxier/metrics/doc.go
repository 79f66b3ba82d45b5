// Package metrics has the metrics of kube-proxy's iptables mode, under kube-proxy's names, so that dashboards and alerts for kube-proxy
// work.
//
// New registers them at a registry that the caller brings. The proxier of each
// family reports through Metrics.ForFamily; the health server counts its
// answers through CountHealthz and CountLivez. RegisterPacketCounters adds the
// two that are read from the kernel's accounting objects while they are
// scraped.
//
// A metric with labels shows up with its first value, as in kube-proxy: a
// timestamp of zero would look like a proxy that has hung since 1970.
//
// Not here: the metrics of other modes, serving them over HTTP, and those of
// client-go and of the Go runtime.
package metrics
