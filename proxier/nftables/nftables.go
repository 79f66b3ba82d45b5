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

	// Sets returns the sets of the table by name, without their elements. A table that is not there is an ErrNotFound.
	Sets(table string) (map[string]Set, error)

	// Chains returns the chains of the table by name. A table that is not there has none.
	Chains(table string) (map[string]Chain, error)

	// InUse says whether a rule or an element leads to the chain. A chain, or table, that is not there is not in use. An error means that it
	// is not known. It takes a hundredth of the time that a listing of a chain takes, for which nft reads all rules of a table.
	InUse(table, chain string) (bool, error)

	// Monitor calls lost each time that it finds the chain not in use. It looks once in every interval, until stop is closed. Errors are
	// logged, and it looks again after the next interval.
	Monitor(table, chain string, lost func(), interval time.Duration, stop <-chan struct{})
}

// Chain is a chain. Only one at a hook has a type, a hook and a priority.
type Chain struct {
	Type, Hook string
	Priority   int
}

// Set is a set.
type Set struct {
	// Type is that of the elements. The parts of a concatenation are joined by " . ".
	Type string
	// Timeout is how many seconds an element lives; 0: for ever.
	Timeout int
	// Timeouts says that elements may have a timeout.
	Timeouts bool
}

// ErrNotFound is what an error is (errors.Is) if the kernel says that a table, or what a command names in it, is not there.
var ErrNotFound = errors.New("not there")
