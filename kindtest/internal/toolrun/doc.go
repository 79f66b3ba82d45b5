// Package toolrun has the result of one run of an iptables tool, and compares the answers of the real tool and of the fake: it masks values
// that differ each time, excuses differences that are not imitated on purpose, and shows the others line by line.
//
// It runs no tool. Callers decide what a difference means.
package toolrun
