// Package proxier is kube-proxy's iptables mode: it writes the rules that make
// Services work on one node.
//
// A sync is one straight line:
//
//	proxier/internal/changes   what the API holds, from the On... events
//	proxier/internal/model     every routing decision
//	proxier/internal/ipt       a writer of rules: the input of iptables-restore
//	proxier/iptables           the tools
//
// A Proxier serves one address family; DualStack gives events to two of them.
// Both are handlers for proxier/config. Neither starts goroutines or looks at
// the clock to decide when to sync: whoever owns a Proxier calls Sync, and may
// set Config.Changed to hear that there is a reason to.
//
// The language of the rules stands behind one seam, the interface writer
// (writer.go): it takes the model's decisions and makes the kernel hold the rules
// for them. Config.Rules chooses it; IPTables is the only one, and no other file of
// this package knows its words.
//
// What the rules need of the host besides the tools (sysctls, addresses, nfacct
// objects) is asked for through the small interfaces in host.go. Whoever wants to
// know what a sync has done implements one of those in report.go. After the rules
// are written, stale UDP connections are deleted (conntrack.go).
//
// It writes the rules of kube-proxy, text for text; the package tests and the
// dumps of a real cluster check this. The package refuses modes other than iptables, and
// configuration that kube-proxy would refuse.
package proxier
