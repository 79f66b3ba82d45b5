package jsontext

import (
	"fmt"

	"github.com/chainwalk/chainwalk/fakenft/syntax"
	"github.com/chainwalk/chainwalk/netfilter/nftables"
)

// report is what is wrong with the JSON.
type report struct {
	mistakes []*syntax.Mistake
	// shown is where the messages about forms point: the text itself, or nothing of it if it came by standard input.
	shown *syntax.Input
}

// wrong notes an error without a place. It is false, for what its caller gives back.
func (r *report) wrong(format string, args ...any) bool {
	r.mistakes = append(r.mistakes, syntax.Wrong(fmt.Sprintf(format, args...), nowhere))
	return false
}

// unpack takes a value apart, and notes an error if it does not have the form: with the column of the form as its place, as nft has it.
func (r *report) unpack(v *value, form string, args ...any) bool {
	failed := unpack(v, form, args...)
	if failed == nil {
		return true
	}
	at := syntax.Loc{In: r.shown, Line: 1, First: int32(failed.column), Last: int32(failed.column)}
	r.mistakes = append(r.mistakes, syntax.Wrong(failed.text, at))
	return false
}

// family reads the name of a family.
func (r *report) family(name string, h *syntax.Handle) bool {
	f, ok := familyNamed(name)
	if !ok {
		return r.wrong("Unknown family '%s'.", name)
	}
	h.Family, h.FamilyGiven = f, f != 0
	return true
}

func familyNamed(name string) (nftables.Family, bool) {
	if name == "unspec" {
		return 0, true
	}
	return syntax.FamilyNamed(name)
}

// none notes an error and is no expression.
func (r *report) none(format string, args ...any) syntax.Expr {
	r.wrong(format, args...)
	return nil
}

// noStmt notes an error and is no statement.
func (r *report) noStmt(format string, args ...any) syntax.Stmt {
	r.wrong(format, args...)
	return nil
}

// only is the only property of an object, which says what kind it is of.
func (r *report) only(v *value) (*value, bool) {
	if v.kind != object || len(v.items) != 1 {
		return nil, r.wrong("Malformed object (too many properties): '%s'.", dump(v))
	}
	return &v.items[0], true
}
