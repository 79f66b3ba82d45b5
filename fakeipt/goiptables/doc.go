// Package goiptables has the methods of github.com/coreos/go-iptables/iptables over the fake tools, so that a program that calls that
// library is tested without root and without a kernel.
//
// A program that takes the library's type behind an interface of its own takes an IPTables as well: the methods have the same names,
// arguments and results. Where the library has types of its own, Protocol, Stat and Error, this package has its own with the same fields
// and methods, and does not import the library. Tests compare each call's commands, results and errors with the library on the real tools,
// of both dialects and families (the nested module upstream).
//
// Three things differ, and are better here: ListById of a rule that is not there is an error, where the library panics; Stats gives a rule
// without a target an empty one, where the library takes the protocol for it or panics, and reads a negated source of ip6tables, where the
// library shifts the fields. Refused are tools of a version before 1.4.20, which know neither --check nor --wait.
package goiptables
