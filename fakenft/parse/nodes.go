package parse

import "github.com/chainwalk/chainwalk/fakenft/syntax"

// slab hands out values of one type from blocks: there are so many small ones that the allocator would take longer than the parser.
type slab[T any] struct{ rest []T }

func (s *slab[T]) new() *T {
	if len(s.rest) == 0 {
		s.rest = make([]T, 32)
	}
	v := &s.rest[0]
	s.rest = s.rest[1:]
	return v
}

// nodes are the values that a text has most of.
type nodes struct {
	symbols   slab[syntax.Symbol]
	payloads  slab[syntax.Payload]
	metas     slab[syntax.Meta]
	relations slab[syntax.Relational]
	matches   slab[syntax.Match]
	verdicts  slab[syntax.Verdict]
	ends      slab[syntax.VerdictStmt]
	elems     slab[syntax.Element]
	mappings  slab[syntax.Mapping]
	rules     slab[syntax.Rule]
	cmds      slab[syntax.Command]
}

// symbol makes a symbol.
func (n *nodes) symbol(at syntax.Loc, name string) *syntax.Symbol {
	s := n.symbols.new()
	s.Loc, s.Name = at, name
	return s
}
