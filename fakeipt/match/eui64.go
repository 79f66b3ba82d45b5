package match

import (
	"github.com/chainwalk/chainwalk/fakeipt/xtables"
	"github.com/chainwalk/chainwalk/netfilter"
)

// EUI64 is -m eui64 (IPv6 only): the lower half of the source address is made of the link-layer address that the packet came from.
type EUI64 struct{}

// Name is "eui64".
func (*EUI64) Name() string { return "eui64" }

func (*EUI64) AppendSave(dst []byte, _ netfilter.Family, _ netfilter.Dialect) []byte { return dst }

// AppendList appends nothing for the nft tools, which do not ask a match without a value.
func (*EUI64) AppendList(dst []byte, style xtables.ListStyle) []byte {
	if style.Dialect == netfilter.NFT {
		return dst
	}
	return append(dst, "eui64 "...)
}

func (*EUI64) AllowedHooks(bool) xtables.HookMask {
	return xtables.HookPrerouting | xtables.HookInput | xtables.HookForward
}

var eui64Extension = &xtables.Extension{
	Name:     "eui64",
	OnlyIn:   netfilter.IPv6,
	NewMatch: xtables.MatchOf(xtables.ValueParser[EUI64]{}),
}
