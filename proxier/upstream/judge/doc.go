// Package judge runs a case on both proxiers and compares them after each
// sync: every rule of every chain, what becomes of packets from every kind of
// client to everything that the objects name, the metrics, and what health
// checks answer.
//
// What kube-proxy leaves open is not compared: the order of the services in
// the shared chains, and when a large cluster loses its stale chains, which no
// packet can meet. Where kube-proxy's own answer depends on chance or on what
// was before, the difference is explained (explain.go).
package judge
