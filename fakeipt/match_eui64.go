package fakeipt

import "github.com/chainwalk/chainwalk/netfilter"

// MatchEUI64 is -m eui64 (IPv6 only): the lower half of the source address is made of the link-layer address that the packet came from.
type MatchEUI64 struct{}

// Name is "eui64".
func (*MatchEUI64) Name() string { return "eui64" }

func (*MatchEUI64) appendSave(dst []byte, _ netfilter.Family, _ netfilter.Dialect) []byte { return dst }

// appendList appends nothing for the nft tools, which do not ask a match without a value.
func (*MatchEUI64) appendList(dst []byte, style listStyle) []byte {
	if style.dialect == netfilter.NFT {
		return dst
	}
	return append(dst, "eui64 "...)
}

func (*MatchEUI64) allowedHooks(bool) hookMask { return hookPrerouting | hookInput | hookForward }

var eui64Extension = &extension{
	name:     "eui64",
	onlyIn:   netfilter.IPv6,
	newMatch: matchOf(valueParser[MatchEUI64]{}),
}
