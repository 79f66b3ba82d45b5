package differ

import "github.com/chainwalk/chainwalk/fakeipt"

// tracer reads the kernel's account of what packets met.
type tracer interface {
	// prepare is called when the family has a new ruleset.
	prepare(f fakeipt.Family) error
	// read gives the lines that are there now.
	read() ([]traceLine, error)
	close()
}

// traceLine is one rule, policy or end of a chain, and the identification of the packet that met it.
type traceLine struct {
	id   uint32
	text string // as stepText spells it
	// group tells packets with the same identification apart. The nft kernel writes the line of a REJECT after those of
	// the packet that it sends, so that lines of several packets are mixed. Legacy lines are all of one group.
	group uint32
}

func newTracer(l *lab) (tracer, error) {
	if l.dialect == fakeipt.NFT {
		return newNFTTracer(l.node)
	}
	return newLegacyTracer()
}
