// Package model makes every routing decision of the proxier, and nothing else:
// which endpoints a service port uses on this node, what happens to traffic for
// each kind of its addresses, what is masqueraded and where node ports are
// served. It is pure: the same state gives the same Model.
//
// It stands between proxier/internal/changes, which says what the API holds, and proxier/internal/ipt and nft, which spell the Model as
// rules. It uses no chain names, no rule options and no files.
package model
