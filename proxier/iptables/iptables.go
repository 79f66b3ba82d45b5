package iptables

import (
	"bytes"
	"time"
)

// Interface is what the proxier needs of the iptables tools of one IP family. A Runner implements it. All methods may be
// called from several goroutines; calls that run a tool are made one after the other.
//
// Errors of a tool that ran, or could not be run, are a *commandError in the chain of errors.
type Interface interface {
	// EnsureChain makes the chain if it is not there, and says whether it was there before. Built-in chains are always
	// there.
	EnsureChain(table Table, chain Chain) (existed bool, err error)

	// FlushChain removes the rules of the chain. A chain that is not there is an ErrNotFound.
	FlushChain(table Table, chain Chain) error

	// DeleteChain removes the chain, which must be empty and no rule may jump to it. A chain that is not there is an
	// ErrNotFound.
	DeleteChain(table Table, chain Chain) error

	// ChainExists says whether the chain is there. An error means that it is not known.
	ChainExists(table Table, chain Chain) (bool, error)

	// EnsureRule adds the rule at the position, if the chain does not hold the same rule anywhere, and says whether it
	// was there before. args are the rule after "-A CHAIN": matches, then "-j" and its target. A chain that is not there
	// is an ErrNotFound.
	EnsureRule(position RulePosition, table Table, chain Chain, args ...string) (existed bool, err error)

	// RuleExists says whether the chain holds the rule. A chain that is not there holds none, and no rule jumps to a chain
	// that is not there. An error means that it is not known.
	RuleExists(table Table, chain Chain, args ...string) (bool, error)

	// DeleteRule removes the first rule that equals args. It is no error if there is none, or if the chain, or the chain
	// that the rule jumps to, is not there.
	DeleteRule(table Table, chain Chain, args ...string) error

	// IsIPv6 says whether the tools are for IPv6.
	IsIPv6() bool

	// Protocol is the IP family of the tools.
	Protocol() Protocol

	// SaveInto appends the iptables-save text of the table to the buffer. After an error the buffer may hold a part of
	// it. Tables that hold rules only nft understands are left out by the tool with a comment, and that is no error.
	SaveInto(table Table, buffer *bytes.Buffer) error

	// Restore gives data to iptables-restore, which reads this one table of it. Input that the tool refuses is a
	// *RestoreError, and the table is as it was.
	Restore(table Table, data []byte, flush FlushFlag, counters RestoreCountersFlag) error

	// RestoreAll gives data to iptables-restore, with all the tables in it. Input that the tool refuses is a
	// *RestoreError: the tables that end before the named line are changed, that table and those after it are not.
	RestoreAll(data []byte, flush FlushFlag, counters RestoreCountersFlag) error

	// Monitor calls reloadFunc each time somebody else flushed the tables, and returns after stopCh is closed.
	//
	// It keeps the chain canary, which nothing else may use, in each of the tables. Every interval it looks for the one
	// in the first table. When that is gone, it waits until the others are gone too (5 seconds at most), so that reloadFunc
	// does not write into a flush that still goes on, then makes the canaries anew and calls reloadFunc. A flush that
	// leaves the chains and empties them (iptables -F) is noticed by the rules, which reloadFunc must have made: if one
	// is gone while the canary is there, it calls reloadFunc at once. When it ends, it removes the canaries. Errors of the
	// tools are logged and tried again after the interval. Without tables it returns at once.
	Monitor(canary Chain, tables []Table, rules []Rule, reloadFunc func(), interval time.Duration, stopCh <-chan struct{})

	// HasRandomFully says whether MASQUERADE takes --random-fully.
	HasRandomFully() bool

	// Present returns nil if the tools work with this kernel: if POSTROUTING of the nat table can be listed.
	Present() error
}

// Protocol is an IP family, spelled as in the Kubernetes API.
type Protocol string

// The IP families.
const (
	ProtocolIPv4 Protocol = "IPv4"
	ProtocolIPv6 Protocol = "IPv6"
)

// Table is the name of a table.
type Table string

// The tables that a proxy uses.
const (
	TableNAT    Table = "nat"
	TableFilter Table = "filter"
	TableMangle Table = "mangle"
)

// Chain is the name of a chain.
type Chain string

// The built-in chains. Not every table has all of them.
const (
	ChainPrerouting  Chain = "PREROUTING"
	ChainInput       Chain = "INPUT"
	ChainForward     Chain = "FORWARD"
	ChainOutput      Chain = "OUTPUT"
	ChainPostrouting Chain = "POSTROUTING"
)

// RulePosition is where EnsureRule adds a rule. Its value is the option of iptables.
type RulePosition string

// The positions: before the first rule of the chain, after the last.
const (
	Prepend RulePosition = "-I"
	Append  RulePosition = "-A"
)

// FlushFlag says whether a restore empties the tables first.
type FlushFlag bool

const (
	// FlushTables empties each table that the input has, with all user chains, before its lines are read.
	FlushTables FlushFlag = true
	// NoFlushTables keeps what is there, apart from the chains that the input declares.
	NoFlushTables FlushFlag = false
)

// RestoreCountersFlag says whether a restore sets packet and byte counters.
type RestoreCountersFlag bool

const (
	// RestoreCounters sets counters to what the input says.
	RestoreCounters RestoreCountersFlag = true
	// NoRestoreCounters starts counters at zero.
	NoRestoreCounters RestoreCountersFlag = false
)
