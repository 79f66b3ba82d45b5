// Package netfilter is one network namespace's netfilter, below every language that its rules are written in: what fakeipt and packetsim
// share and neither may own.
package netfilter
