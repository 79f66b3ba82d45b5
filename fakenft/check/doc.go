// Package check does what nft does with commands once it has read them, before it asks the kernel (its "evaluation"): it gives words their
// values by the types that are expected, brings numbers into the right order of bytes, adds the matches that others need (tcp for its
// ports), makes sets of what stands in braces, merges intervals, and finds mistakes, with nft's messages and places.
//
// It changes commands in place. What it leaves is what package compile takes.
package check
