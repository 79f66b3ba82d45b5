// Package netfilter is the netfilter of one network namespace, independent of the language in which rules are written. It has what fakeipt
// and packetsim share and neither may own.
package netfilter
