package nftnetlink

import (
	"fmt"

	"golang.org/x/sys/unix"

	"github.com/chainwalk/chainwalk/internal/nlattr"
	"github.com/chainwalk/chainwalk/netfilter/nftables"
	"github.com/chainwalk/chainwalk/netfilter/nftables/expr"
)

// Attributes of sets and elements that package unix does not have (include/uapi/linux/netfilter/nf_tables.h).
const (
	setObjType      = 15
	setHandle       = 16
	setExpr         = 17
	setExpressions  = 18
	descConcat      = 2
	fieldLen        = 1
	elemObjref      = 9
	elemKeyEnd      = 10
	elemExpressions = 11
)

func (r *reader) takeSet(family nftables.Family, t *attributes) error {
	table, err := r.table(family, t)
	if err != nil {
		return err
	}
	s := &Set{Handle: t.u64(setHandle)}
	s.SetSpec = nftables.SetSpec{
		Name: t.text(unix.NFTA_SET_NAME), Flags: nftables.SetFlags(t.u32(unix.NFTA_SET_FLAGS)),
		KeyType: t.u32(unix.NFTA_SET_KEY_TYPE), KeyLen: t.u32(unix.NFTA_SET_KEY_LEN),
		DataType: t.u32(unix.NFTA_SET_DATA_TYPE), DataLen: t.u32(unix.NFTA_SET_DATA_LEN), ObjectType: expr.ObjectType(t.u32(setObjType)),
		Timeout: t.milliseconds(unix.NFTA_SET_TIMEOUT), GCInterval: t.shortMilliseconds(unix.NFTA_SET_GC_INTERVAL),
		Policy: t.u32(unix.NFTA_SET_POLICY), UserData: t.bytes(unix.NFTA_SET_USERDATA),
	}
	desc := t.nested(unix.NFTA_SET_DESC)
	s.Size = desc.u32(unix.NFTA_SET_DESC_SIZE)
	if desc.has[descConcat] {
		for _, a := range desc.all(descConcat) {
			s.FieldLens = append(s.FieldLens, uint8(split(a.Value).u32(fieldLen)))
		}
	}
	switch {
	case t.has[setExpressions]:
		s.Exprs = t.exprs(setExpressions)
	case t.has[setExpr]:
		s.Exprs = []expr.Expr{t.expr(t.values[setExpr])}
	}
	table.Sets = append(table.Sets, s)
	return nil
}

func (r *reader) readElements(table *Table, s *Set) error {
	request := nlattr.Append(nil, unix.NFTA_SET_ELEM_LIST_TABLE, append([]byte(table.Name), 0)...)
	request = nlattr.Append(request, unix.NFTA_SET_ELEM_LIST_SET, append([]byte(s.Name), 0)...)
	err := r.dump(unix.NFT_MSG_GETSETELEM, uint8(table.Family), request, func(_ nftables.Family, t *attributes) error {
		if !t.has[unix.NFTA_SET_ELEM_LIST_ELEMENTS] {
			return nil
		}
		for _, a := range t.all(unix.NFTA_SET_ELEM_LIST_ELEMENTS) {
			e, err := r.element(s, split(a.Value))
			if err != nil {
				return err
			}
			s.Elements = append(s.Elements, e)
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("set %s of table %s: %w", s.Name, table.Name, err)
	}
	return nil
}

func (r *reader) element(s *Set, t *attributes) (*nftables.Element, error) {
	e := new(nftables.Element)
	e.Flags = nftables.ElementFlags(t.u32(unix.NFTA_SET_ELEM_FLAGS))
	e.UserData = t.bytes(unix.NFTA_SET_ELEM_USERDATA)
	e.Object = t.text(elemObjref)
	e.Timeout, e.HasTimeout = t.milliseconds(unix.NFTA_SET_ELEM_TIMEOUT), t.has[unix.NFTA_SET_ELEM_TIMEOUT]
	if !e.HasTimeout {
		e.Timeout = s.Timeout
	}
	if t.has[unix.NFTA_SET_ELEM_EXPIRATION] {
		e.Expires = t.milliseconds(unix.NFTA_SET_ELEM_EXPIRATION)
		e.Deadline = r.now.Add(e.Expires)
	}
	if t.has[unix.NFTA_SET_ELEM_KEY] {
		e.Key = t.value(unix.NFTA_SET_ELEM_KEY)
	}
	if t.has[elemKeyEnd] {
		e.KeyEnd = t.value(elemKeyEnd)
	}
	if t.has[unix.NFTA_SET_ELEM_DATA] {
		data := t.data(unix.NFTA_SET_ELEM_DATA)
		e.Data = &data
	}
	switch {
	case t.has[elemExpressions]:
		e.Exprs = t.exprs(elemExpressions)
	case t.has[unix.NFTA_SET_ELEM_EXPR]:
		e.Exprs = []expr.Expr{t.expr(t.values[unix.NFTA_SET_ELEM_EXPR])}
	}
	return e, t.err
}
