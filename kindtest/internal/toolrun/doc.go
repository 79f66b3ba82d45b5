// Package toolrun has the result of one run of an iptables tool, and compares the answers of the real tool and of the fake: it masks what
// differs each time, excuses what is not meant to be imitated, and shows the remaining differences line by line.
//
// It runs no tool. Callers decide what a difference means.
package toolrun
