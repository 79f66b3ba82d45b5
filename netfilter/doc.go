// Package netfilter holds the netfilter of one network namespace, independent of the language of its rules: what fakeipt and packetsim
// share and neither may own.
package netfilter
