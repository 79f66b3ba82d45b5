// Package anonymise gives a cluster other names and addresses, the same ones everywhere, so that its dump may be given away and still
// behaves as the cluster does.
//
// A Renamer goes through its input twice: first it collects the names and addresses, then it renames. New objects, snapshots and rules have
// only renamed fields and words, and those that are known to say nothing about a cluster. Other fields are left out, or refused with their
// place. So a future field of Kubernetes is not given away.
//
// Addresses are renamed bit by bit, by a key: two of them share as many leading bits after as before, so that networks, routes and ranges
// hold what they held. Without the key nobody can compute them again. What remains visible is in docs/gather.md.
package anonymise
