package toolstate

import (
	"fmt"

	"github.com/chainwalk/chainwalk/fakeipt"
	"github.com/chainwalk/chainwalk/fakeipt/ruleset"
	"github.com/chainwalk/chainwalk/netfilter"
)

// Join puts the stored tables of iptables-nft into a namespace, for a tool of another language that works on them. The caller holds the
// lock. finish stores what the tool has changed.
func (s *Store) Join(n *netfilter.Namespace) (finish func() error, err error) {
	k := fakeipt.New(fakeipt.Options{Dialect: netfilter.NFT, Namespace: n, Etc: s.etc})
	parts := []part{objects}
	for _, f := range netfilter.Families() {
		parts = append(parts, part{f, netfilter.NFT})
	}
	for _, p := range parts {
		if _, err := s.load(k, p, view{}); err != nil {
			return nil, fmt.Errorf("reading %s: %w", s.path(p), err)
		}
	}
	if err := s.readHandles(n); err != nil {
		return nil, fmt.Errorf("reading %s: %w", handlesPart, err)
	}
	last := n.LastTable()
	var before []*ruleset.Ruleset
	for _, f := range netfilter.Families() {
		before = append(before, k.Ruleset(f))
	}
	return func() error {
		for i, f := range netfilter.Families() {
			p := part{f, netfilter.NFT}
			if k.Ruleset(f) == before[i] {
				continue
			}
			if err := s.write(p, body(k, p)); err != nil {
				return err
			}
		}
		return s.writeHandles(n, last)
	}, nil
}
