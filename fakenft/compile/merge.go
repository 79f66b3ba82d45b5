package compile

import (
	"slices"

	"github.com/chainwalk/chainwalk/fakenft/syntax"
)

// maxMerged is how many matches of a rule nft looks at.
const maxMerged = 32

// comparison is a match of a header's bytes with a number.
type comparison struct {
	at    int // in the rule's statements
	match *syntax.Match
	of    *syntax.Relational
	bytes *syntax.Payload
	value *syntax.Value
	// protocol says that it compares what says which header comes next: a merged match stands in its place.
	protocol bool
}

// merged are the statements of a rule after adjacent bytes of a header that are compared for the same have become one comparison, as nft's
// evaluation leaves them (payload_try_merge in src/payload.c). The rule keeps what it has. nft does not look past a statement that is no
// match if there are two comparisons before it; past others it does.
func merged(stmts []syntax.Stmt) []syntax.Stmt {
	var room [8]comparison
	found := room[:0]
	result := stmts
	for i, s := range stmts {
		m, isMatch := s.(*syntax.Match)
		if !isMatch {
			if len(found) >= 2 {
				result = mergeFound(found, stmts, result)
				found = found[:0]
			}
			continue
		}
		if len(found) < maxMerged {
			if c, ok := comparable(i, m); ok {
				found = append(found, c)
			}
		}
	}
	if len(found) >= 2 {
		result = mergeFound(found, stmts, result)
	}
	if len(result) == 0 || &result[0] == &stmts[0] {
		return stmts
	}
	return slices.DeleteFunc(result, func(s syntax.Stmt) bool { return s == nil })
}

// mergeFound merges comparisons within the statements, which it copies before if they are still those of the rule.
func mergeFound(found []comparison, stmts, result []syntax.Stmt) []syntax.Stmt {
	slices.SortStableFunc(found, func(a, b comparison) int {
		if a.bytes.Base != b.bytes.Base {
			return int(a.bytes.Base) - int(b.bytes.Base)
		}
		return a.bytes.Offset - b.bytes.Offset
	})
	last := &found[0]
	for i := 1; i < len(found); i++ {
		this := &found[i]
		if !joins(last, this) {
			last = this
			continue
		}
		if &result[0] == &stmts[0] {
			result = slices.Clone(stmts)
		}
		last = join(last, this, result)
	}
	return result
}

func comparable(i int, m *syntax.Match) (c comparison, ok bool) {
	r, isRelational := m.Expr.(*syntax.Relational)
	if !isRelational || r.Op != syntax.OpEq && r.Op != syntax.OpImplicit && r.Op != syntax.OpNeq {
		return c, false
	}
	p, isPayload := r.Left.(*syntax.Payload)
	v, isValue := r.Right.(*syntax.Value)
	if !isPayload || !isValue || p.Offset%8 != 0 || p.Bits%8 != 0 {
		return c, false
	}
	return comparison{i, m, r, p, v, p.Header != nil && p.Field != nil && p.Header.Next == p.Field}, true
}

// fast is the size up to which the kernel compares in one step.
const fast = 32

func joins(last, this *comparison) bool {
	if last.bytes.Base != this.bytes.Base || last.bytes.Offset+last.bytes.Bits != this.bytes.Offset {
		return false
	}
	if (last.of.Op == syntax.OpNeq) != (this.of.Op == syntax.OpNeq) {
		return false
	}
	total := last.bytes.Bits + this.bytes.Bits
	if total > fast && last.bytes.Bits <= fast && this.bytes.Bits <= fast {
		return false
	}
	return total <= wholeRegister
}

// join puts a comparison of the bytes of both in the place of one, and takes the other away.
func join(last, this *comparison, result []syntax.Stmt) *comparison {
	bytes := *last.bytes
	bytes.Bits += this.bytes.Bits
	bytes.Field, bytes.Type = nil, nil
	value := *last.value
	value.Num = or(shiftLeft(value.Num, this.bytes.Bits), this.value.Num)
	value.Bits, value.Order, value.Type = bytes.Bits, syntax.BigEndian, nil
	keep, drop := last, this
	if this.protocol {
		keep, drop = this, last
	}
	of := *keep.of
	of.Left, of.Right = &bytes, &value
	if of.Op == syntax.OpImplicit {
		of.Op = syntax.OpEq
	}
	match := *keep.match
	match.Expr = &of
	result[keep.at], result[drop.at] = &match, nil
	return &comparison{at: keep.at, match: &match, of: &of, bytes: &bytes, value: &value}
}
