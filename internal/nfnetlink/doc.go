// Package nfnetlink speaks with the netfilter of one network namespace of the real kernel: a Socket for the messages of all its subsystems,
// and the reports of NFLOG, by which the rules with TRACE of the legacy tables are read.
//
// By default the kernel writes the lines of TRACE to its log, which all namespaces and drivers of the machine share, and which has the
// lines of other programs that trace packets. In a namespace with LogSysctls it reports that to the namespace's own sockets alone: whatever
// a Socket gets is of its namespace, and nothing has to be set for the whole machine. The target LOG writes to the kernel's log all the
// same.
//
// It only handles messages: callers decide what an entry of conntrack or a trace of nf_tables means. On systems other
// than Linux the package is empty.
package nfnetlink
