// Command chainwalk runs kube-proxy's iptables mode against a fake kernel, walks packets through the rules it
// wrote and says what happens to each one and why.
//
// It is the end of the line: every command is a thin layer over one package (run and schema over scenarios, rules
// over proxier and fakeipt, trace and snapshot over packetsim). What a command decides is only where its input comes
// from, how its output is printed and the exit status: 0 held, 1 did not hold, 2 bad usage or input.
//
// Nothing may import it.
package main
