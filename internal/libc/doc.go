// Package libc has the functions of the C library that the real tools use: numbers (strtoul, atoi, scanf), the reading of a command line
// (getopt_long), names of services, protocols and errors, and addresses as inet_aton, inet_pton, inet_ntop and getaddrinfo read and write
// them. It is glibc in the C locale, on a host without a resolver.
//
// It stands below fakeipt, netfilter/ipset and netfilter/nfacct, and does not deal with rules or sets: code for one tool stays with that
// tool.
//
// It refuses names of hosts, which it never looks up, and names of services and protocols that are not in its lists.
package libc
