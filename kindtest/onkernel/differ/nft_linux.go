package differ

import (
	"fmt"
	"slices"
	"time"

	"github.com/chainwalk/chainwalk/internal/nfnetlink"
	"github.com/chainwalk/chainwalk/internal/nftnetlink"
	"github.com/chainwalk/chainwalk/netfilter/nftables"
	"github.com/chainwalk/chainwalk/netfilter/nftables/expr"
)

// native reads the nf_tables of the node.
func (k *labKernel) native() (r *nftnetlink.Ruleset, err error) {
	err = k.node.Do(func() error {
		s, err := nfnetlink.Open()
		if err != nil {
			return err
		}
		defer func() { _ = s.Close() }()
		r, err = nftnetlink.Read(s, time.Now())
		return err
	})
	return r, err
}

// nativeChanges are the changes that make the tables of the node, but for those of iptables-nft.
func (k *labKernel) nativeChanges() ([]nftables.Change, error) {
	r, err := k.native()
	if err != nil {
		return nil, err
	}
	return changesOf(r), nil
}

// changesOf are the changes that make a ruleset: what others refer to is made first.
func changesOf(r *nftnetlink.Ruleset) []nftables.Change {
	var changes []nftables.Change
	for _, t := range r.Tables {
		changes = append(changes, &nftables.AddTable{TableSpec: t.TableSpec})
	}
	for _, t := range r.Tables {
		for _, c := range t.Chains {
			changes = append(changes, &nftables.AddChain{Family: t.Family, Table: t.Name, Chain: c.ChainSpec})
		}
		for _, o := range t.Objects {
			changes = append(changes, &nftables.AddObject{Family: t.Family, Table: t.Name, Object: o.ObjectSpec, Elsewhere: true})
		}
		for _, f := range t.Flowtables {
			changes = append(changes, &nftables.AddFlowtable{Family: t.Family, Table: t.Name, Flowtable: f.FlowtableSpec})
		}
	}
	id := uint32(0)
	for _, t := range r.Tables {
		for _, s := range t.Sets {
			id++
			s.ID = id
			changes = append(changes, &nftables.AddSet{Family: t.Family, Table: t.Name, Set: s.SetSpec})
			add := &nftables.AddElements{Family: t.Family, Table: t.Name, Set: s.Name}
			for _, e := range s.Elements {
				add.Elements = append(add.Elements, e.ElementSpec)
			}
			if len(add.Elements) > 0 {
				changes = append(changes, add)
			}
		}
		for _, c := range t.Chains {
			for _, rule := range c.Rules {
				changes = append(changes, &nftables.AddRule{Family: t.Family, Table: t.Name, Chain: c.Name, Exprs: rule.Exprs, UserData: rule.UserData})
			}
		}
	}
	return changes
}

// nativeEnd is what the packets have left in the tables of the node.
func (k *labKernel) nativeEnd() ([]string, error) {
	r, err := k.native()
	if err != nil {
		return nil, err
	}
	var lines []string
	for _, t := range r.Tables {
		for _, c := range t.Chains {
			for i, rule := range c.Rules {
				lines = append(lines, countedIn(fmt.Sprintf("%s %s rule %d", t.Name, c.Name, i+1), rule.Exprs)...)
			}
		}
		for _, s := range t.Sets {
			if s.Flags&nftables.SetAnonymous != 0 {
				continue
			}
			for _, e := range s.Elements {
				lines = append(lines, elementLine(t.Name, s.Name, e))
			}
		}
		for _, o := range t.Objects {
			lines = append(lines, countedIn(t.Name+" "+o.Name, []expr.Expr{o.Value})...)
		}
	}
	slices.Sort(lines)
	return lines, nil
}
