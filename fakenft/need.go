package fakenft

import (
	"slices"

	"github.com/chainwalk/chainwalk/fakenft/check"
	"github.com/chainwalk/chainwalk/fakenft/syntax"
)

// need is what nft asks the kernel for before it evaluates commands (nft_cache_evaluate in src/cache.c; seen by strace). It knows of
// nothing else, and takes what it does not know for missing.
type need struct {
	tables, chains, sets, elements, flows, objects, rules bool
	// only is the table, chain and set that a listing is about: nothing else is asked for.
	only *syntax.Handle
	// flushed are the sets that some command flushes: nft asks for no elements of theirs (nft_cache_filter in src/cache.c).
	flushed map[setName]bool
}

// setName names a set or map.
type setName struct {
	table check.TableName
	name  string
}

// needOf is what commands need. What a ruleset that they flush has is not asked for.
func needOf(commands []*syntax.Command, echo bool) need {
	var n need
	for _, c := range commands {
		if n.only != nil && c.Op != syntax.OpList {
			n.only = nil
		}
		if c.Op == syntax.OpFlush && c.Kind == syntax.KindRuleset {
			return need{}
		}
		n.command(c, echo)
	}
	return n
}

// all is everything.
func (n *need) all() {
	n.tables, n.chains, n.sets, n.elements, n.flows, n.objects, n.rules = true, true, true, true, true, true, true
}

// most is all but elements and rules.
func (n *need) most() {
	n.tables, n.chains, n.sets, n.flows, n.objects = true, true, true, true, true
}

func (n *need) command(c *syntax.Command, echo bool) {
	switch c.Op {
	case syntax.OpAdd, syntax.OpInsert, syntax.OpCreate:
		n.add(c, echo)
	case syntax.OpReplace:
		n.all()
	case syntax.OpDelete:
		n.most()
		n.elements = n.elements || c.Kind == syntax.KindElements
	case syntax.OpGet:
		n.tables, n.sets, n.elements = true, true, true
	case syntax.OpReset, syntax.OpRename:
		n.tables = true
		n.chains = n.chains || c.Op == syntax.OpRename
	case syntax.OpFlush:
		if c.Kind == syntax.KindSet || c.Kind == syntax.KindMap || c.Kind == syntax.KindMeter {
			n.tables, n.sets = true, true
			if n.flushed == nil {
				n.flushed = map[setName]bool{}
			}
			n.flushed[setName{check.TableName{Family: c.Handle.Family, Name: c.Handle.Table}, c.Handle.Name}] = true
		}
	case syntax.OpList:
		n.list(c)
	case syntax.OpMonitor:
		n.all()
	}
}

func (n *need) add(c *syntax.Command, echo bool) {
	switch c.Kind {
	case syntax.KindElements:
		n.tables, n.chains, n.sets, n.elements, n.objects = true, true, true, true, true
	case syntax.KindRule:
		n.most()
		n.rules = n.rules || c.Handle.Placement().Index != 0 || c.Handle.Placement().Position != 0
	case syntax.KindTable:
		if c.Table != nil && c.Table.Loc.Written() { // with braces
			n.most()
			joins := func(s *syntax.SetDecl) bool { return s.AutoMerge }
			n.elements = n.elements || slices.ContainsFunc(c.Table.Sets, joins)
		}
	default:
		n.tables = true
	}
	if echo {
		n.all()
	}
}

func (n *need) list(c *syntax.Command) {
	switch c.Kind {
	case syntax.KindTable, syntax.KindChain:
		n.all()
	case syntax.KindSet, syntax.KindMap:
		n.tables, n.sets, n.elements = true, true, true
	case syntax.KindSets, syntax.KindMaps:
		n.tables, n.sets, n.elements = true, true, true
		return
	case syntax.KindChains:
		n.tables, n.chains = true, true
		return
	case syntax.KindFlowtables, syntax.KindFlowtable:
		n.tables, n.flows = true, true
		return
	default:
		n.all()
		return
	}
	if c.Handle.Table != "" {
		n.only = &c.Handle
	}
}
