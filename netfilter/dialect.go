package netfilter

import (
	"fmt"
	"slices"
)

// Dialect says which of the two kinds of iptables' tools a ruleset belongs to. Each kind sees its own rules alone, and a node may have
// both. The two differ in error texts, exit status, save order and some of the checks. The tool nft and its rules are no dialect of
// iptables but the language nftables.
type Dialect string

// The dialects, as they stand in the names of the tools ("iptables-nft-save") and in files.
const (
	Legacy Dialect = "legacy" // iptables (legacy): the kernel's x_tables
	NFT    Dialect = "nft"    // iptables (nf_tables): the same command line over the kernel's nf_tables
)

// Dialects are all of them.
func Dialects() []Dialect { return []Dialect{Legacy, NFT} }

// Other is the dialect that d is not.
func (d Dialect) Other() Dialect {
	if d == NFT {
		return Legacy
	}
	return NFT
}

// ParseDialect reads the name of a dialect. Anything else is an error.
func ParseDialect(name string) (Dialect, error) {
	if d := Dialect(name); slices.Contains(Dialects(), d) {
		return d, nil
	}
	return "", fmt.Errorf("unknown dialect %q: want legacy or nft", name)
}
