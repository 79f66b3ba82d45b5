// Package nlattr reads and writes netlink attributes, of which the messages of netfilter and of routing consist: a type, a length and
// a value. Types and lengths are in the machine's byte order, numbers in values in that of the network, as netfilter has
// them. Reading allocates nothing.
//
// Callers decide what the attributes mean. An attribute that is longer than its message, or a
// number of another size than requested, is an ErrMessage.
package nlattr
