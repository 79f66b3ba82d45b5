// Package namespace makes network namespaces of the real kernel, in which comparisons and backends run.
//
// A namespace has no name in the file system. Only the descriptor of this process and the sockets opened in it hold it. So it is gone with
// the process, however that ends, and two runs cannot meet. The process must be root on Linux; on other systems the package is empty. The
// iptables tools that run in a namespace have a lock of their own, since their usual one is the whole machine's.
//
// It is not for namespaces that somebody else made.
package namespace
