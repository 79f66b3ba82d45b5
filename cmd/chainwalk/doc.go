// Command chainwalk tells what a Kubernetes node does with a packet to a Service, and which rule decides. It reads the
// rules of a node, or runs kube-proxy (mode iptables or nftables) against a fake kernel, and walks packets through them.
//
// It is the end of the line: every command is a thin layer over one package (run and schema over scenarios, rules
// over proxier and fakeipt, trace and snapshot over packetsim). A command only decides where its input comes
// from, how its output is printed and the exit status: 0 passed, 1 failed, 2 bad usage or input.
//
// Nothing may import it.
package main
