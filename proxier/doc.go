// Package proxier is kube-proxy in mode iptables or nftables: it writes the rules that make Services work on one node.
//
// A sync is one straight line:
//
//	proxier/internal/changes   what the API holds, from the On... events
//	proxier/internal/model     every routing decision
//	proxier/internal/ipt       a writer of rules: the input of iptables-restore
//	proxier/iptables           the tools
//
// A Proxier serves one address family; DualStack gives events to two of them. Both are handlers for proxier/config. Neither starts
// goroutines or looks at the clock to decide when to sync: the owner of a Proxier calls Sync, and may set Config.Changed to hear that a
// sync is due.
//
// The language of the rules stands behind one seam, the interface writer (writer.go): it takes the model's decisions and makes the kernel
// hold the rules for them. Config.Rules chooses it: IPTables or NFTables. No other file of this package depends on the language.
//
// The small interfaces in host.go stand for the rest of the host that the rules need (sysctls, addresses, nfacct objects). To hear what a
// sync has done, implement one of the interfaces in report.go. After it has written the rules, a Proxier deletes stale UDP connections
// (conntrack.go).
//
// In mode iptables it writes the rules of kube-proxy, text for text; the package tests and the dumps of a real cluster check this. The
// package refuses other modes than these two, and configurations that kube-proxy would refuse.
package proxier
