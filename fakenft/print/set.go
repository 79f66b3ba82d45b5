package print

import (
	"slices"

	"github.com/chainwalk/chainwalk/fakenft/syntax"
	"github.com/chainwalk/chainwalk/netfilter/nftables"
)

// inlineItems are the elements of a set that has no name, and its declaration; nil for one that is printed by its name.
func inlineItems(r *syntax.SetRef) (*syntax.Set, *syntax.SetDecl) {
	if r.Set == nil || r.Set.Flags&nftables.SetAnonymous == 0 {
		return nil, nil
	}
	items, _ := r.Set.Elements.(*syntax.Set)
	return items, r.Set
}

func hasIntervals(decl *syntax.SetDecl) bool {
	return decl != nil && decl.Flags&nftables.SetInterval != 0
}

// inline prints a set within a rule: all elements on one line.
func (p *exprPrinter) inline(s *syntax.Set, decl *syntax.SetDecl) {
	p.str("{ ")
	if s != nil {
		for i, item := range p.order.sorted(s.Items, hasIntervals(decl)) {
			if i > 0 {
				p.str(", ")
			}
			p.expr(item)
		}
	}
	p.str(" }")
}

func (p *exprPrinter) element(e *syntax.Element) {
	p.expr(e.Key)
	for _, s := range e.Stmts {
		p.b = append(p.b, ' ')
		p.stmts.stmt(s)
	}
	if e.HasTimeout {
		p.str(" timeout ")
		p.values.duration(e.Timeout)
	}
	if e.HasExpires && !p.Stateless {
		p.str(" expires ")
		p.values.duration(e.Expires)
	}
	if e.HasComment {
		p.str(` comment "`)
		p.str(e.Comment)
		p.b = append(p.b, '"')
	}
}

// perLine is how many elements of a type stand in a line (calculate_delim of nft).
func perLine(t *syntax.Datatype) int {
	if t == nil || len(t.Parts) > 0 {
		return 1
	}
	switch t.ID {
	case syntax.TypeNFProto.ID, syntax.TypeInteger.ID, syntax.TypeARPOp.ID, syntax.TypeInetProto.ID, syntax.TypeInetService.ID,
		syntax.TypeTCPFlag.ID, syntax.TypeDCCPType.ID, syntax.TypeMark.ID, syntax.TypeIfindex.ID, syntax.TypeClassid.ID,
		syntax.TypeUID.ID, syntax.TypeGID.ID, syntax.TypeCTDir.ID:
		return 5
	case syntax.TypeIPv4Addr.ID, syntax.TypeCTState.ID, syntax.TypeCTStatus.ID, syntax.TypePktType.ID:
		return 2
	}
	return 1
}

func (p *tablePrinter) elements(decl *syntax.SetDecl, s *syntax.Set) {
	p.str("\t\telements = { ")
	width := perLine(keyType(decl))
	for i, item := range p.order.sorted(s.Items, hasIntervals(decl)) {
		if i > 0 {
			if i%width == 0 {
				p.str(",\n\t\t\t     ")
			} else {
				p.str(", ")
			}
		}
		p.exprs.expr(item)
	}
	p.str(" }\n")
}

func keyType(decl *syntax.SetDecl) *syntax.Datatype {
	if decl.Key == nil {
		return nil
	}
	return decl.Key.Info().Type
}

// setFlags are the flags that are written, in the order of text.
var setFlags = [...]struct {
	flag nftables.SetFlags
	word string
}{
	{nftables.SetConstant, "constant"}, {nftables.SetEval, "dynamic"}, {nftables.SetInterval, "interval"}, {nftables.SetTimeout, "timeout"},
}

// isMeter says that a set was made by a statement meter.
func isMeter(flags nftables.SetFlags) bool {
	return flags&(nftables.SetAnonymous|nftables.SetEval) == nftables.SetAnonymous|nftables.SetEval
}

func setWord(decl *syntax.SetDecl) string {
	switch {
	case isMeter(decl.Flags):
		return "meter"
	case decl.Map || decl.Flags&(nftables.SetMap|nftables.SetObject) != 0:
		return "map"
	}
	return "set"
}

// set prints a declaration. Its elements come after it unless they are not wanted.
func (p *tablePrinter) set(decl *syntax.SetDecl) {
	p.b = append(p.b, '\t')
	p.str(setWord(decl))
	p.b = append(p.b, ' ')
	p.str(decl.Handle.Name)
	p.str(" {")
	p.stmts.handle(decl.Handle.Number)
	p.b = append(p.b, '\n')
	p.setProperties(decl)
	if s, ok := decl.Elements.(*syntax.Set); ok && len(s.Items) > 0 && !p.Terse {
		p.elements(decl, s)
	}
	p.str("\t}\n")
}

func (p *tablePrinter) setProperties(decl *syntax.SetDecl) {
	p.setType(decl)
	if decl.Flags&nftables.SetConstant == 0 {
		if decl.Policy == policyMemory {
			p.str("\t\tpolicy memory\n")
		}
		if decl.Size != 0 {
			p.str("\t\tsize ")
			p.uint(uint64(decl.Size))
			p.b = append(p.b, '\n')
		}
	}
	if decl.Timeout == 0 || decl.Flags&(nftables.SetConstant|nftables.SetEval|nftables.SetInterval) != 0 {
		p.setFlags(decl.Flags) // a timeout says the flag alone
	}
	for _, s := range decl.Stmts {
		p.str("\t\t")
		p.stateless(func() { p.stmts.stmt(s) })
		p.b = append(p.b, '\n')
	}
	if decl.AutoMerge {
		p.str("\t\tauto-merge\n")
	}
	p.time("timeout", decl.Timeout)
	p.time("gc-interval", decl.GCInterval)
	p.comment(decl.Comment, decl.HasComment)
}

// policyMemory is NFT_SET_POL_MEMORY.
const policyMemory = 1

func (p *tablePrinter) time(word string, ms uint64) {
	if ms != 0 {
		p.str("\t\t")
		p.str(word)
		p.b = append(p.b, ' ')
		p.values.duration(ms)
		p.b = append(p.b, '\n')
	}
}

func (p *tablePrinter) comment(text string, has bool) {
	if has {
		p.str("\t\tcomment \"")
		p.str(text)
		p.str("\"\n")
	}
}

func (p *tablePrinter) setFlags(flags nftables.SetFlags) {
	separator := "\t\tflags "
	for _, f := range setFlags {
		if flags&f.flag != 0 {
			p.str(separator)
			p.str(f.word)
			separator = ","
		}
	}
	if separator == "," {
		p.b = append(p.b, '\n')
	}
}

func (p *tablePrinter) setType(decl *syntax.SetDecl) {
	if decl.Typeof {
		p.str("\t\ttypeof ")
		p.exprs.expr(decl.Key)
	} else {
		p.str("\t\ttype ")
		p.str(typeName(decl.Key))
	}
	switch {
	case decl.Object != 0:
		p.str(" : ")
		p.str(objectWord(decl.Object))
	case decl.Data != nil:
		p.str(" : ")
		if decl.IntervalData {
			p.str("interval ")
		}
		if decl.Typeof && !isVerdict(decl.Data) {
			p.exprs.expr(decl.Data)
		} else {
			p.str(typeName(decl.Data))
		}
	}
	p.b = append(p.b, '\n')
}

func isVerdict(e syntax.Expr) bool { return e.Info().Type == syntax.TypeVerdict }

func typeName(e syntax.Expr) string {
	if e == nil || e.Info().Type == nil {
		unsupported("a set whose type is not known")
	}
	return e.Info().Type.Name
}

// isListed says that a set is listed among those of its table.
func isListed(decl *syntax.SetDecl) bool { return decl.Flags&nftables.SetAnonymous == 0 }

// listed are the sets of a table that have a name.
func listed(sets []*syntax.SetDecl) []*syntax.SetDecl {
	if !slices.ContainsFunc(sets, func(s *syntax.SetDecl) bool { return !isListed(s) }) {
		return sets
	}
	return slices.DeleteFunc(slices.Clone(sets), func(s *syntax.SetDecl) bool { return !isListed(s) })
}
