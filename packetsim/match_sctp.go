package packetsim

import (
	"errors"

	"github.com/chainwalk/chainwalk/fakeipt/match"
	"github.com/chainwalk/chainwalk/packetsim/inet"
)

var errNoChunks = errors.New(`packet: a rule asks for its SCTP chunks: add "chunks TYPE"`)

// matchSCTP is -m sctp (net/netfilter/xt_sctp.c).
func (mt *matcher) matchSCTP(s *skb, m *match.SCTP) bool {
	if !matchPorts(s, inet.SCTP, m.SrcPorts, m.InvSrc, m.DstPorts, m.InvDst) {
		return false
	}
	if m.Chunks == nil {
		return true
	}
	if len(s.Chunks) == 0 {
		mt.fail(errNoChunks)
		return false
	}
	return chunksMatch(s.Chunks, m.Chunks) != m.Chunks.Invert
}

// chunksMatch compares the packet's chunks with the types that the rule lists.
func chunksMatch(chunks []inet.SCTPChunk, m *match.SCTPChunks) bool {
	var found [256]bool
	for _, c := range chunks {
		listed := m.All || chunkListed(c, m.Types)
		switch {
		case listed && m.Mode == match.SCTPChunksAny:
			return true
		case !listed && m.Mode == match.SCTPChunksOnly:
			return false
		}
		found[c.Type] = found[c.Type] || listed
	}
	if m.Mode != match.SCTPChunksAll {
		return m.Mode == match.SCTPChunksOnly
	}
	for _, t := range m.Types {
		if !found[t.Type] {
			return false
		}
	}
	return !m.All // no packet has every type there is
}

func chunkListed(c inet.SCTPChunk, types []match.SCTPChunk) bool {
	for _, t := range types {
		if uint8(c.Type) == t.Type {
			return c.Flags&t.FlagMask == t.Flags
		}
	}
	return false
}
