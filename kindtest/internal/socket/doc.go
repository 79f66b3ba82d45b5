// Package socket opens sockets of the real kernel as probes need them, beyond what Go's net package offers: each bound and not blocking,
// with the address that a datagram was sent to, with ICMP errors, and with ends that the other side does not hear of. Linux only.
package socket
