package print

import (
	"github.com/chainwalk/chainwalk/fakenft/syntax"
	"github.com/chainwalk/chainwalk/netfilter/nftables"
	"github.com/chainwalk/chainwalk/netfilter/nftables/expr"
)

// AppendTables appends what "nft list tables" prints: names alone, without handles.
func AppendTables(dst []byte, tables []*syntax.TableDecl) []byte {
	p := &buffer{dst}
	for _, t := range tables {
		p.str("table ")
		p.str(t.Handle.Family.String())
		p.b = append(p.b, ' ')
		p.str(t.Handle.Table)
		p.b = append(p.b, '\n')
	}
	return p.b
}

// AppendChains appends what "nft list chains" prints: the chains of each table without their rules.
func AppendChains(dst []byte, tables []*syntax.TableDecl, o *Options) ([]byte, error) {
	return appendBlocks(dst, tables, o, func(p *tablePrinter, t *syntax.TableDecl) {
		for _, c := range t.Chains {
			if !c.Anonymous {
				p.chain(c, false)
			}
		}
	})
}

// AppendChain appends what "nft list chain" prints of one chain of a table.
func AppendChain(dst []byte, t *syntax.TableDecl, c *syntax.ChainDecl, o *Options) ([]byte, error) {
	return appendBlocks(dst, []*syntax.TableDecl{t}, o, func(p *tablePrinter, _ *syntax.TableDecl) { p.chain(c, true) })
}

// AppendSets appends what "nft list sets", "list maps" and "list meters" print, by the kind: KindSets, KindMaps, KindMeters. With KindSet
// all sets that are given are printed: "nft list set", "list map", "get element" of one.
func AppendSets(dst []byte, tables []*syntax.TableDecl, kind syntax.Kind, o *Options) ([]byte, error) {
	return appendBlocks(dst, tables, o, func(p *tablePrinter, t *syntax.TableDecl) {
		for _, s := range t.Sets {
			if isOfKind(s, kind) {
				p.set(s)
			}
		}
	})
}

// isOfKind says whether a listing of a kind has a set.
func isOfKind(s *syntax.SetDecl, kind syntax.Kind) bool {
	meter := isMeter(s.Flags)
	isMap := s.Map || s.Flags&(nftables.SetMap|nftables.SetObject) != 0
	switch kind {
	case syntax.KindSet:
		return true
	case syntax.KindMeters, syntax.KindMeter:
		return meter
	case syntax.KindMaps:
		return !meter && isMap && isListed(s)
	}
	return !meter && !isMap && isListed(s)
}

// AppendObjects appends what "nft list counters" and its like print: the objects of a kind.
func AppendObjects(dst []byte, tables []*syntax.TableDecl, kind expr.ObjectType, o *Options) ([]byte, error) {
	return appendBlocks(dst, tables, o, func(p *tablePrinter, t *syntax.TableDecl) {
		for _, object := range t.Objects {
			if object.Type == kind {
				p.objectDecl(object)
			}
		}
	})
}

// AppendFlowtables appends what "nft list flowtables" prints.
func AppendFlowtables(dst []byte, tables []*syntax.TableDecl, o *Options) ([]byte, error) {
	return appendBlocks(dst, tables, o, func(p *tablePrinter, t *syntax.TableDecl) {
		for _, f := range t.Flows {
			p.flowtable(f)
		}
	})
}

// appendBlocks appends a block for each table, which has no handle and no blank lines in these listings.
func appendBlocks(dst []byte, tables []*syntax.TableDecl, o *Options, body func(*tablePrinter, *syntax.TableDecl)) (_ []byte, err error) {
	p := newPrinter(dst, o)
	err = guard(func() {
		for _, t := range tables {
			p.tables.open(t, false)
			body(&p.tables, t)
			p.str("}\n")
		}
	})
	return p.b, err
}
