package certificate

import (
	"fmt"
	"net/netip"
	"sort"

	"github.com/chainwalk/chainwalk/fakeipt/ruleset"
	"github.com/chainwalk/chainwalk/fakeipt/xtables"
	"github.com/chainwalk/chainwalk/netfilter"
	"github.com/chainwalk/chainwalk/netfilter/nftables"
	"github.com/chainwalk/chainwalk/packetsim"
)

// host is a host, with what a check looks up of it for one family.
type host struct {
	name    string
	host    *packetsim.Host
	terrain *packetsim.Terrain
	six     bool
	tables  []iptTable
	native  []*nftables.Table
	edges   []value // where what routing says of an address may change: the first values of pieces, from 0 on
	answers map[question][][]int32
	numbers map[any]int32
	sets    map[*nftables.Set]*keys
}

// iptTable is a table of iptables.
type iptTable struct {
	rules *ruleset.Ruleset
	table *ruleset.Table
}

// look looks the host up for a family.
func (h *host) look(family netfilter.Family) (err error) {
	if h.terrain, err = h.host.Terrain(family); err != nil {
		return err
	}
	h.six, h.tables, h.native, h.edges = family == netfilter.IPv6, nil, nil, nil
	h.answers, h.numbers, h.sets = map[question][][]int32{}, map[any]int32{}, map[*nftables.Set]*keys{}
	for at := range netfilter.NumHooks {
		for _, e := range h.terrain.Entries(netfilter.Hook(at)) {
			for _, c := range e.Chains {
				if c.Chain != nil {
					h.tables = append(h.tables, iptTable{c.Rules, c.Table})
				} else {
					h.native = append(h.native, c.NFTTable)
				}
			}
		}
	}
	for _, a := range h.terrain.Cuts() {
		h.edges = append(h.edges, valueOf(a))
	}
	return nil
}

// iptRule is the rule of iptables at a place.
func (h *host) iptRule(dialect netfilter.Dialect, table, chain string, number int) (*xtables.Rule, error) {
	for _, t := range h.tables {
		if t.table.Name() != table || dialect != "" && t.rules.Dialect() != dialect {
			continue
		}
		if c := t.table.Chain(chain); c != nil && number <= len(c.Rules) {
			return c.Rules[number-1], nil
		}
	}
	return nil, fmt.Errorf("there is no rule %s:%s:%d", table, chain, number)
}

// nftRule is the rule of nf_tables with a handle, and its table.
func (h *host) nftRule(family, table, chain string, handle uint64) (*nftables.Rule, *nftables.Table, error) {
	for _, t := range h.native {
		if t.Name != table || t.Family.String() != family {
			continue
		}
		if c := t.Chain(chain); c != nil {
			for _, r := range c.Rules {
				if r.Handle == handle {
					return r, t, nil
				}
			}
		}
	}
	return nil, nil, fmt.Errorf("there is no rule %s %s:%s:%d", family, table, chain, handle)
}

// piece is the number of the piece that has an address.
func (h *host) piece(v value) int {
	return sort.Search(len(h.edges), func(i int) bool { return v.less(h.edges[i]) }) - 1
}

// question is something that is asked of the terrain, for a destination or its piece: its answers are the same within a piece of sources.
type question struct {
	what  any // which can be compared
	exact bool
	dst   value
	mark  uint32
}

// asked is what a terrain is asked, and of which parts of a packet the answer depends.
type asked struct {
	what    any
	mark    uint32
	src, in bool
	of      func(dst, src netip.Addr, in string) any
}

// row is the answers for a destination: by the pieces of the source, then by the devices of the host, the host itself first.
func (h *host) row(a *asked, dst value, isPiece bool) [][]int32 {
	q := question{a.what, !isPiece, dst, a.mark}
	if known, is := h.answers[q]; is {
		return known
	}
	devices := append([]string{Host}, names(h.terrain.Devices())...)
	srcs := h.edges
	if !a.src {
		srcs = srcs[:1]
	}
	if !a.in {
		devices = devices[:1]
	}
	out := make([][]int32, len(srcs))
	for i, s := range srcs {
		out[i] = make([]int32, len(devices))
		for k, d := range devices {
			answer := a.of(dst.addr(h.six), s.addr(h.six), d)
			n, is := h.numbers[answer]
			if !is {
				n = int32(len(h.numbers))
				h.numbers[answer] = n
			}
			out[i][k] = n
		}
	}
	h.answers[q] = out
	return out
}

func names(devices []packetsim.Device) []string {
	out := make([]string, len(devices))
	for i := range devices {
		out[i] = devices[i].Name
	}
	return out
}
