package forall

import (
	"github.com/chainwalk/chainwalk/forall/internal/diagram"
	"github.com/chainwalk/chainwalk/netfilter/nftables"
)

type boxes struct{}

type nftRule struct{ *nftables.Rule }

func (r *nftRule) destinations() diagram.Set { return nil }
func (r *nftRule) leadsTo() []string         { return nil }
func (r *nftRule) run(b *builder, c *chain, number int, st state) diagram.ID {
	return b.unmodelled("nft")
}
func (b *builder) nftChain(t *nftables.Table, c *nftables.Chain) *chain {
	return &chain{}
}
func (b *builder) nftAsks(c *chain, r *nftRule) ([]diagram.Interval, reads) { return nil, 0 }
