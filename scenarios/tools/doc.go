// Package tools runs a node's iptables tools for the backends: it knows their
// names, and can make restores fail and keep what they are given.
package tools
