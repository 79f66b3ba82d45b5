package nftables

import (
	"errors"
	"time"

	v1 "k8s.io/api/core/v1"
)

// Interface is what the proxier needs of nft, for the tables of one address family. A Runner implements it. All methods may be called
// from several goroutines; calls that run nft are made one after the other.
type Interface interface {
	// Family is the address family.
	Family() v1.IPFamily

	// Comments says whether tables, chains, sets and maps can have comments. Rules and elements always can.
	Comments() bool

	// Apply has nft carry out the commands, all or none of them. What it refuses is an error, which has the words of nft: the number of the
	// line, the line, and why.
	Apply(transaction []byte) error

	// Table says what the table holds, apart from rules and elements. A table that is not there is an ErrNotFound.
	Table(name string) (*Table, error)

	// Jumps says whether the chain has a rule that leads to the other chain. A chain or table that is not there has none. An error means
	// that it is not known.
	Jumps(table, chain, target string) (bool, error)

	// Monitor calls lost each time that it does not find the jump. It looks once in every interval, until stop is closed. Errors are logged,
	// and it looks again after the next interval.
	Monitor(jump Jump, lost func(), interval time.Duration, stop <-chan struct{})
}

// Jump is a rule of a chain that leads to another one.
type Jump struct {
	Table, Chain, Target string
}

// ErrNotFound is what an error is (errors.Is) if the kernel says that a table, or what a command names in it, is not there.
var ErrNotFound = errors.New("not there")
