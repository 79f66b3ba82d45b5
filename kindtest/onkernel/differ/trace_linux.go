package differ

import (
	"github.com/chainwalk/chainwalk/internal/wire"
	"github.com/chainwalk/chainwalk/netfilter"
)

// tracer reads the kernel's account of what packets met.
type tracer interface {
	// prepare is called when the family has a new ruleset.
	prepare(f netfilter.Family) error
	// read gives the lines that are there now.
	read() ([]traceLine, error)
	close()
}

// traceLine is one rule, policy or end of a chain, and the identification of the packet that met it.
type traceLine struct {
	id   uint32
	text string // as stepText spells it
	made string // the packet as madeText has it, in nft where it begins to be traced as one that the node sends
	// group tells packets with the same identification apart. The nft kernel writes the line of a REJECT after those of
	// the packet that it sends, so that lines of several packets are mixed. Legacy lines are all of one group.
	group uint32
}

func newTracer(l *lab) (tracer, error) {
	if l.dialect == netfilter.NFT {
		return newNFTTracer(l.node)
	}
	return newLegacyTracer(l.node)
}

// madeTextOf is madeText of a packet's bytes, of which the end may be missing.
func madeTextOf(packet []byte) string {
	p, _, err := wire.Decode(packet)
	h, _, short := wire.DecodeHeader(packet)
	if p.Length = h.Length; err != nil || short != nil {
		return ""
	}
	return madeText(&p)
}

// identify is the identification of a packet, and whether the kernel sent it by itself.
func identify(packet []byte) (id uint32, unasked bool, err error) {
	h, transport, err := wire.DecodeHeader(packet)
	return h.ID, len(transport) > 0 && isUnasked(h.Proto, transport[0]), err
}
