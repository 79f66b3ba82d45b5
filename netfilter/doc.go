// Package netfilter is the netfilter of one network namespace, independent of the language of its rules. It has the types that fakeipt,
// fakenft and packetsim share.
package netfilter
