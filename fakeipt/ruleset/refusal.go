package ruleset

import (
	"syscall"
)

// Refusal is an operation that the ruleset refused: the errno of libiptc, with
// the operation's own words for it.
type Refusal struct {
	Errno syscall.Errno
	Msg   string
}

func (r *Refusal) Error() string { return r.Msg }

// The refusals of operations on chains and rules.
var (
	ErrNoChain       = &Refusal{syscall.ENOENT, "No chain/target/match by that name"}
	errChainExists   = &Refusal{syscall.EEXIST, "Chain already exists"}
	errNotEmpty      = &Refusal{syscall.ENOTEMPTY, "Directory not empty"}
	errReferenced    = &Refusal{syscall.EMLINK, "Too many links"}
	errNotBuiltin    = &Refusal{syscall.ENOENT, "Bad built-in chain name"}
	errBadPolicy     = &Refusal{syscall.EINVAL, "Bad policy name"}
	ErrBadRule       = &Refusal{syscall.ENOENT, "Bad rule (does a matching rule exist in that chain?)"}
	ErrDeleteIndex   = &Refusal{syscall.E2BIG, "Index of deletion too big"}
	ErrInsertIndex   = &Refusal{syscall.E2BIG, "Index of insertion too big"}
	ErrReplaceIndex  = &Refusal{syscall.E2BIG, "Index of replacement too big"}
	ErrCounterIndex  = &Refusal{syscall.E2BIG, "Index of counter too big"}
	errDeleteBuiltin = &Refusal{syscall.EINVAL, "Invalid argument"}
	ErrJumpToBuiltin = &Refusal{syscall.EINVAL, "Invalid argument"}
	errRenameExists  = &Refusal{syscall.EEXIST, "File exists"}
	errLongName      = &Refusal{syscall.EINVAL, "Invalid argument"}
)
