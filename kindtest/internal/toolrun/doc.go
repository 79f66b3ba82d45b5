// Package toolrun is what one run of an iptables tool gave, and how the answers of the real tool and of the fake are compared: what is
// another each time is masked, what is not meant to be imitated is excused, and what is left is shown line by line.
//
// It runs no tool. Who compares decides what a difference means.
package toolrun
