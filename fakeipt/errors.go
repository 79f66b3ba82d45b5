package fakeipt

import (
	"errors"
	"fmt"
	"strings"
	"syscall"
)

// ParseError is input that is not understood, with its place.
type ParseError struct {
	File         string
	Line, Column int // from 1; 0 where it is not known
	Token        string
	Msg          string
}

// Error is "FILE:LINE:COLUMN: MESSAGE (at TOKEN)".
func (e *ParseError) Error() string {
	var b strings.Builder
	b.WriteString(e.File)
	if e.Line > 0 {
		fmt.Fprintf(&b, ":%d", e.Line)
	}
	if e.Column > 0 {
		fmt.Fprintf(&b, ":%d", e.Column)
	}
	b.WriteString(": ")
	b.WriteString(e.Msg)
	if e.Token != "" {
		fmt.Fprintf(&b, " (at %q)", e.Token)
	}
	return b.String()
}

// The exit statuses of the tools.
const (
	statusOther     = 1 // also of an operation that the ruleset refused
	statusParameter = 2
	statusVersion   = 3
	statusResource  = 4 // of a batch that the kernel refused (nft), of a lock that another program holds (legacy)
)

// problem is an error of usage: the tool prints its name and version, the message and how to get help.
type problem struct {
	status int
	msg    string
	// bare leaves the tool's name and version out.
	bare bool
}

func (p *problem) Error() string { return strings.TrimSpace(p.msg) }

// badParameter is a problem with exit status 2.
func badParameter(format string, args ...any) error {
	return &problem{status: statusParameter, msg: fmt.Sprintf(format, args...)}
}

// badArgument is a word that is no option and belongs to none.
func badArgument(word []byte) error {
	return &problem{status: statusParameter, msg: fmt.Sprintf("Bad argument `%s'", word), bare: true}
}

// refusal is an operation that the ruleset refused: the errno of libiptc, with
// the operation's own words for it.
type refusal struct {
	errno syscall.Errno
	msg   string
}

func (r *refusal) Error() string { return r.msg }

// The refusals of operations on chains and rules.
var (
	errNoChain       = &refusal{syscall.ENOENT, "No chain/target/match by that name"}
	errChainExists   = &refusal{syscall.EEXIST, "Chain already exists"}
	errNotEmpty      = &refusal{syscall.ENOTEMPTY, "Directory not empty"}
	errReferenced    = &refusal{syscall.EMLINK, "Too many links"}
	errNotBuiltin    = &refusal{syscall.ENOENT, "Bad built-in chain name"}
	errBadPolicy     = &refusal{syscall.EINVAL, "Bad policy name"}
	errBadRule       = &refusal{syscall.ENOENT, "Bad rule (does a matching rule exist in that chain?)"}
	errDeleteIndex   = &refusal{syscall.E2BIG, "Index of deletion too big"}
	errInsertIndex   = &refusal{syscall.E2BIG, "Index of insertion too big"}
	errReplaceIndex  = &refusal{syscall.E2BIG, "Index of replacement too big"}
	errCounterIndex  = &refusal{syscall.E2BIG, "Index of counter too big"}
	errDeleteBuiltin = &refusal{syscall.EINVAL, "Invalid argument"}
	errJumpToBuiltin = &refusal{syscall.EINVAL, "Invalid argument"}
	errRenameExists  = &refusal{syscall.EEXIST, "File exists"}
	errLongName      = &refusal{syscall.EINVAL, "Invalid argument"}
)

// asProblem is the usage error in err, if it is one.
func asProblem(err error) (*problem, bool) {
	var p *problem
	ok := errors.As(err, &p)
	return p, ok
}

// missingChain is a jump to a chain that is not there (nft, which notices when it commits).
type missingChain struct{ name string }

func (m *missingChain) Error() string { return fmt.Sprintf("Chain '%s' does not exist", m.name) }
