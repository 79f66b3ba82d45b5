// Package upstream holds package goiptables against github.com/coreos/go-iptables: the same calls to the one on the fake tools and to the
// other on the real ones, in a network namespace of the test's own. It is a module of its own, so that who uses the fake does not download
// the library.
package upstream
