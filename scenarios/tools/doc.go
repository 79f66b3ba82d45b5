// Package tools runs a node's tools for the backends: it knows the names of the
// iptables tools, and can make restores fail and keep what they are given.
package tools
