// Package decompile makes syntax of what the kernel holds: rules of the bytecode that was made of them, sets with their elements, chains,
// objects and tables. It does what nft 1.0.6 does before it lists them (src/netlink_delinearize.c and src/netlink.c have the same work): it
// finds the fields of headers by the protocols that the rule has asked for, leaves out the matches that these imply, and makes prefixes,
// ranges, flags and concatenations of masks and comparisons. What it cannot spell becomes syntax.OpaqueStmt.
package decompile
