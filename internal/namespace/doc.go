// Package namespace is a network namespace of the real kernel: what comparisons with it, and backends on it, run in.
//
// A namespace has no name in the file system. The descriptor of this process and the sockets opened in it are all that hold it, so that it
// is gone with the process, however that ends, and two runs cannot meet. Who asks for one must be root on Linux; on other systems the
// package is empty. The iptables tools that run in a namespace have a lock of their own, since their usual one is the whole machine's.
//
// It is not for namespaces that somebody else made.
package namespace
