// Package anonymise gives a cluster other names and addresses, the same ones everywhere, so that its dump may be given away and still
// behaves as the cluster does.
//
// A Renamer goes through what is to be renamed twice: first it collects what there is, then it renames. New objects, snapshots and rules
// are made of the fields and words that are known to say nothing of a cluster, and of renamed ones; what is not known is left out, or
// refused with its place. So a field that Kubernetes gets tomorrow is not given away.
//
// Addresses are renamed bit by bit, by a key: two of them share as many leading bits after as before, so that networks, routes and ranges
// hold what they held. Without the key nobody can compute them again. What remains visible is in docs/gather.md.
package anonymise
