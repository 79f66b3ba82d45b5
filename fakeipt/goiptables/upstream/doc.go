// Package upstream compares package goiptables with github.com/coreos/go-iptables: it makes the same calls to goiptables on the fake tools
// and to the library on the real ones, in a network namespace of the test's own. It is a module of its own, so that users of the fake do
// not download the library.
package upstream
