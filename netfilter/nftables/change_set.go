package nftables

import (
	"cmp"
	"slices"
	"strings"
	"sync/atomic"
	"syscall"

	"github.com/chainwalk/chainwalk/internal/persist"
)

const (
	setFlags = SetAnonymous | SetConstant | SetInterval | SetMap | SetTimeout | SetEval | SetObject | SetConcat | SetExpr
	// maxData is the greatest length of a key or of data in bytes (NFT_DATA_VALUE_MAXLEN).
	maxData = 64
	// maxSetExprs is the greatest number of expressions of an element (NFT_SET_EXPR_MAX).
	maxSetExprs = 2
)

// verdictLen is the length of the data of a map of verdicts (struct nft_verdict).
const verdictLen = 16

// check says whether a set can be so (nf_tables_newset and nft_select_set_ops).
func (s *SetSpec) check() syscall.Errno {
	has := func(flags SetFlags) bool { return s.Flags&flags == flags }
	switch {
	case s.KeyLen == 0 || s.KeyLen > maxData:
		return syscall.EINVAL
	case s.Flags&^setFlags != 0, has(SetMap | SetObject), has(SetEval | SetObject),
		has(SetAnonymous|SetTimeout) && !has(SetEval), has(SetConstant | SetTimeout):
		return syscall.EOPNOTSUPP
	case has(SetMap) && s.DataType == 0 && s.DataLen == 0, !has(SetMap) && s.DataType != 0, has(SetObject) != (s.ObjectType != 0):
		return syscall.EINVAL
	case has(SetMap) && s.DataType != DataVerdict && (s.DataLen == 0 || s.DataLen > maxData):
		return syscall.EINVAL
	case !has(SetTimeout) && (s.Timeout != 0 || s.GCInterval != 0):
		return syscall.EINVAL
	case has(SetAnonymous) && s.Timeout != 0:
		return syscall.EOPNOTSUPP
	}
	return s.checkFields()
}

// checkFields says whether the parts of a concatenation fill the key (nft_set_desc_concat).
func (s *SetSpec) checkFields() syscall.Errno {
	sum := uint32(0)
	for _, length := range s.FieldLens {
		if length == 0 {
			return syscall.EINVAL
		}
		sum += (uint32(length) + 3) &^ 3
	}
	if len(s.FieldLens) > 0 && sum != s.KeyLen || (len(s.FieldLens) > 1) != (s.Flags&SetConcat != 0) {
		return syscall.EINVAL
	}
	return 0
}

// same says that a set can be added again as other (nft_set_is_same).
func (s *SetSpec) same(other *SetSpec) bool {
	if s.KeyType != other.KeyType || s.KeyLen != other.KeyLen || s.Flags != other.Flags || s.DataType != other.DataType ||
		s.DataType != DataVerdict && s.DataLen != other.DataLen || !slices.Equal(s.FieldLens, other.FieldLens) ||
		len(s.Exprs) != len(other.Exprs) {
		return false
	}
	for i, e := range s.Exprs {
		if e.Name() != other.Exprs[i].Name() {
			return false
		}
	}
	return true
}

// resizable says that packets can add elements: the set is one of net/netfilter/nft_set_hash.c that grows (nft_select_set_ops).
func (s *SetSpec) resizable() bool {
	const shortKey = 2 // a set of such keys is a bitmap
	switch {
	case s.Flags&SetInterval != 0 || s.isTree():
		return false
	case s.Flags&(SetEval|SetTimeout) != 0:
		return true
	case s.Size != 0:
		return false
	}
	return s.KeyLen > shortKey || s.Flags&(SetMap|SetObject) != 0 || len(s.Exprs) > 0
}

func (tx *transaction) addSet(c *AddSet) *fault {
	if f := cmp.Or(badName(c.Table, PartTable), badName(c.Set.Name, PartName)); f != nil {
		return f
	}
	if errno := c.Set.check(); errno != 0 {
		return refuse(errno, PartWhole)
	}
	t, f := tx.tableFor(c.Family, c.Table, c.Set.Name, PartName)
	if f != nil {
		return f
	}
	if entry := t.sets.Ref(c.Set.Name); entry != nil {
		return t.updateSet(entry.set, c)
	}
	if c.Set.Flags&(SetInterval|SetEval) == SetInterval|SetEval { // no structure for that (nft_select_set_ops)
		return refuse(syscall.EOPNOTSUPP, PartWhole)
	}
	name := c.Set.Name
	if strings.Contains(name, "%") {
		if strings.Count(name, "%") > 1 || !strings.Contains(name, "%d") {
			return refuse(syscall.EINVAL, PartWhole)
		}
		name = t.nameSet(name)
	}
	if len(c.Set.Exprs) > maxSetExprs {
		return refuse(syscall.E2BIG, PartWhole)
	}
	own := &Set{SetSpec: c.Set, Handle: t.nextHandle(), members: &atomic.Pointer[members]{}, id: &setID{}, made: tx.edit,
		grows: c.Set.resizable()}
	own.members.Store(newMembers(own.chosen()))
	own.Exprs = copies(c.Set.Exprs)
	own.Name, own.ID = name, 0
	if own.DataType == DataVerdict {
		own.DataLen = verdictLen
	}
	if c.Set.ID != 0 {
		tx.setIDs = note(tx.setIDs, transactionID{t.Handle, c.Set.ID}, name)
	}
	t.sets.Put(name, setEntry{set: own})
	t.setList.Append(own)
	if own.Flags&SetAnonymous != 0 {
		tx.unbound = append(tx.unbound, func() bool {
			entry, _ := t.sets.Get(name)
			return !t.deleted && entry.set != nil && entry.set.id == own.id && entry.uses == 0
		})
	}
	tx.changed = true
	if c.Notify != nil {
		c.Notify(t.Table, own)
	}
	return nil
}

// updateSet adds a set that is there (nf_tables_newset).
func (t *tableEdit) updateSet(set *Set, c *AddSet) *fault {
	switch {
	case c.Exclusive:
		return refuse(syscall.EEXIST, PartName)
	case set.Flags&SetAnonymous != 0:
		return refuse(syscall.EOPNOTSUPP, PartWhole)
	case !set.same(&c.Set):
		return refuse(syscall.EEXIST, PartName)
	}
	t.tx.changed = true
	if c.Set.ID != 0 {
		t.tx.setIDs = note(t.tx.setIDs, transactionID{t.Handle, c.Set.ID}, set.Name)
	}
	t.tx.late = append(t.tx.late, func() {
		if now := t.Set(c.Set.Name); now != nil && now.id == set.id && !t.deleted {
			own := t.ownSet(now.Name, 0)
			own.Timeout, own.GCInterval = c.Set.Timeout, c.Set.GCInterval
			if c.Set.Size != 0 {
				own.Size = c.Set.Size
			}
		}
	})
	if c.Notify != nil {
		c.Notify(t.Table, set)
	}
	return nil
}

// ownSet is a set that is there, to be written to, with room for some elements more.
func (t *tableEdit) ownSet(name string, extra int) *Set {
	entry := t.sets.Ref(name)
	old := entry.set
	if old.made == t.tx.edit {
		old.members.Load().reserve(extra)
		return old
	}
	own := &Set{SetSpec: old.SetSpec, Handle: old.Handle, members: &atomic.Pointer[members]{}, id: old.id, made: t.tx.edit,
		grows: old.grows}
	m := old.members.Load().edit(extra)
	own.members.Store(m)
	entry.set = own
	t.setList.Set(t.setPlace(own.Handle), own)
	if own.Flags&SetTimeout != 0 && m.structure() != hashing {
		t.expireSet(own)
	}
	return own
}

func (t *tableEdit) setPlace(handle uint64) persist.Place {
	return t.setList.Search(func(s *Set) bool { return s.Handle < handle })
}

func (tx *transaction) deleteSet(c *DeleteSet) *fault {
	t, f := tx.tableFor(c.Family, c.Table, c.Name, PartName)
	if f != nil {
		return f
	}
	part, entry := PartName, t.sets.Ref(c.Name)
	if c.Handle != 0 {
		part, entry = PartHandle, nil
		if s, found := t.setList.At(t.setPlace(c.Handle)); found && s.Handle == c.Handle {
			entry = t.sets.Ref(s.Name)
		}
	}
	switch {
	case entry == nil && c.MayLack:
		return nil
	case entry == nil:
		return refuse(syscall.ENOENT, part)
	case entry.uses > 0:
		return refuse(syscall.EBUSY, part)
	}
	t.dropSet(entry.set)
	return nil
}

// dropSet takes a set out with its elements.
func (t *tableEdit) dropSet(set *Set) {
	t.releaseElements(set)
	t.sets.Remove(set.Name)
	t.setList.Remove(t.setPlace(set.Handle))
	if set.Flags&SetAnonymous != 0 {
		t.freeName(set.Name)
	}
	t.tx.changed = true
}
