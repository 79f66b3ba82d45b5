// Package healthcheck answers over HTTP whether this node should get traffic.
//
// Load balancers ask at two places. ServiceServer serves the
// healthCheckNodePort of each Service with externalTrafficPolicy Local: the
// node is to get traffic while it has ready endpoints of the Service and a
// healthy proxier. ProxyServer serves /healthz, for load balancers of Services
// with policy Cluster (KEP 3836), and /livez, by which a kubelet decides
// whether to restart the proxier.
//
// The package stands beside the line: the proxier tells it of queued and
// finished updates, of health check ports and of local endpoints. It decides
// nothing about rules.
//
// It has the paths, status codes, header and bodies of kube-proxy. Not here: the
// rule that lets the health check ports through (the proxier writes it), the
// listener of /healthz and /livez, /metrics, and when to try again after a port
// could not be bound.
package healthcheck
