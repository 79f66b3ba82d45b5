package nftables

import (
	"cmp"
	"math"
	"math/bits"
	"syscall"

	"github.com/chainwalk/chainwalk/netfilter"
	"github.com/chainwalk/chainwalk/netfilter/nftables/expr"
)

// copyOf is an expression that counts, limits and remembers on its own, as the kernel makes one of what a program sends. An expression that
// has nothing of that kind is itself.
func copyOf(e expr.Expr) expr.Expr {
	switch e := e.(type) {
	case *expr.Counter:
		own := &expr.Counter{Counters: &netfilter.Counters{}}
		if e.Counters != nil {
			own.Set(e.Packets(), e.Counters.Bytes())
		}
		return own
	case *expr.Quota:
		own := *e
		own.Consumed = &netfilter.Counters{}
		own.Consumed.Set(0, e.Used())
		return &own
	case *expr.Limit:
		return copied(e)
	case *expr.Connlimit:
		return copied(e)
	case *expr.Last:
		return copied(e)
	case *expr.Numgen:
		if !e.Random {
			return copied(e)
		}
	case *expr.Xt:
		return copied(e) // matches such as limit remember too
	}
	return e
}

func copied[T any](of *T) *T {
	own := *of
	return &own
}

// copies are copies of expressions.
func copies(exprs []expr.Expr) []expr.Expr {
	if exprs == nil {
		return nil
	}
	own := make([]expr.Expr, len(exprs))
	for i, e := range exprs {
		own[i] = copyOf(e)
	}
	return own
}

// natForm is a translation as the kernel keeps it: of one address or port it makes a range (nft_nat_init).
func natForm(e *expr.NAT) *expr.NAT {
	own := *e
	if own.AddrMin != 0 {
		own.Flags |= expr.NATMapIPs
		own.AddrMax = cmp.Or(own.AddrMax, own.AddrMin)
	}
	own.ProtoMax = portForm(own.ProtoMin, own.ProtoMax, &own.Flags)
	return &own
}

// portForm is the last port of a range, which the kernel makes of one port.
func portForm(low, high expr.Register, flags *expr.NATFlags) expr.Register {
	if low == 0 {
		return 0
	}
	*flags |= expr.NATProtoSpecified
	return cmp.Or(high, low)
}

func masqForm(e *expr.Masq) *expr.Masq {
	own := *e
	if own.ProtoMin != 0 {
		own.ProtoMax = cmp.Or(own.ProtoMax, own.ProtoMin)
	}
	return &own
}

func redirForm(e *expr.Redir) *expr.Redir {
	own := *e
	own.ProtoMax = portForm(own.ProtoMin, own.ProtoMax, &own.Flags)
	return &own
}

// limitBurst is a limit's burst in packets if none is given (NFT_LIMIT_PKT_BURST_DEFAULT).
const limitBurst = 5

// takeLimit is nft_limit_init.
func takeLimit(e *expr.Limit) (*expr.Limit, syscall.Errno) {
	if e.Rate == 0 || e.Unit <= 0 {
		return nil, syscall.EINVAL
	}
	own := *e
	if !e.Bytes && e.Burst == 0 {
		own.Burst = limitBurst
	}
	nanoseconds, burst := uint64(e.Unit), uint64(own.Burst)
	if e.Rate > math.MaxUint64-burst {
		return nil, syscall.EOVERFLOW
	}
	factor, other := nanoseconds/e.Rate, burst
	if e.Bytes {
		factor, other = nanoseconds, e.Rate+burst
	}
	if high, _ := bits.Mul64(factor, other); high != 0 {
		return nil, syscall.EOVERFLOW
	}
	return &own, 0
}

// checkMeta says whether the family knows a key (nft_meta_select_ops and nft_meta_bridge.c).
func (t *tableEdit) checkMeta(e *expr.Meta) syscall.Errno {
	switch e.Key {
	case expr.MetaBriIifname, expr.MetaBriOifname, expr.MetaBriIifpvid, expr.MetaBriIifvproto, expr.MetaBroute:
		if t.Family != Bridge {
			return syscall.EOPNOTSUPP
		}
	}
	return 0
}

// setFor is the set that an expression names: by its name, or by its number within the transaction.
func (t *tableEdit) setFor(name string, id uint32) *setEntry {
	if entry := t.sets.Ref(name); entry != nil {
		return entry
	}
	if id == 0 {
		return nil
	}
	return t.sets.Ref(t.tx.setIDs[transactionID{t.Handle, id}])
}

// bind notes that one rule more names a set (nf_tables_bind_set).
func (entry *setEntry) bind() syscall.Errno {
	if entry.uses > 0 && entry.set.Flags&SetAnonymous != 0 {
		return syscall.EBUSY
	}
	entry.uses++
	return 0
}

// unbind says that one rule less names a set. An anonymous one goes with the rule.
func (t *tableEdit) unbind(name string) {
	entry := t.sets.Ref(name)
	if entry == nil {
		return
	}
	if entry.uses--; entry.uses == 0 && entry.set.Flags&SetAnonymous != 0 {
		t.dropSet(entry.set)
	}
}

// takeLookup is nft_lookup_init.
func (t *tableEdit) takeLookup(e *expr.Lookup) (expr.Expr, syscall.Errno) {
	entry := t.setFor(e.Set, e.SetID)
	if entry == nil {
		return nil, syscall.ENOENT
	}
	if e.Map && (entry.set.Flags&SetMap == 0 || e.Invert || (e.Dreg == expr.RegVerdict) != (entry.set.DataType == DataVerdict)) {
		return nil, syscall.EINVAL
	}
	name := entry.set.Name
	if errno := entry.bind(); errno != 0 {
		return nil, errno
	}
	if name == e.Set && e.SetID == 0 {
		return e, 0
	}
	own := *e
	own.Set, own.SetID = name, 0
	return &own, 0
}

// dynsetSize is the size that a set gets which packets change, if it has none.
const dynsetSize = 65535

// takeDynset is nft_dynset_init.
func (t *tableEdit) takeDynset(e *expr.Dynset) (expr.Expr, syscall.Errno) {
	entry := t.setFor(e.Set, e.SetID)
	if entry == nil {
		return nil, syscall.ENOENT
	}
	set := entry.set
	switch {
	case set.Flags&SetObject != 0 || !set.grows:
		return nil, syscall.EOPNOTSUPP
	case set.Flags&SetConstant != 0:
		return nil, syscall.EBUSY
	case set.Flags&SetTimeout == 0 && e.Timeout != 0:
		return nil, syscall.EOPNOTSUPP
	case e.HasData && (set.Flags&SetMap == 0 || set.DataType == DataVerdict):
		return nil, syscall.EOPNOTSUPP
	case !e.HasData && set.Flags&SetMap != 0:
		return nil, syscall.EINVAL
	}
	if errno := dynsetExprs(e, set); errno != 0 {
		return nil, errno
	}
	if errno := entry.bind(); errno != 0 {
		return nil, errno
	}
	if set.Size == 0 {
		t.ownSet(set.Name, 0).Size = dynsetSize
		t.tx.sized = append(t.tx.sized, sizedSet{t.Family, t.Name, set.Name, t.Handle, set.Handle})
	}
	own := *e
	own.Set, own.SetID, own.Exprs = set.Name, 0, copies(e.Exprs)
	return &own, 0
}

// dynsetExprs says whether the set's elements can have the expressions.
func dynsetExprs(e *expr.Dynset, set *Set) syscall.Errno {
	if len(e.Exprs) == 0 {
		return 0
	}
	if set.Flags&SetEval == 0 {
		return syscall.EINVAL
	}
	if len(set.Exprs) == 0 {
		return 0
	}
	if len(set.Exprs) != len(e.Exprs) {
		return syscall.EOPNOTSUPP
	}
	for i, x := range e.Exprs {
		if x.Name() != set.Exprs[i].Name() {
			return syscall.EOPNOTSUPP
		}
	}
	return 0
}

// takeObjref is nft_objref_init and nft_objref_map_init.
func (t *tableEdit) takeObjref(e *expr.Objref) (expr.Expr, syscall.Errno) {
	if e.Set == "" && e.SetID == 0 {
		o := t.objects.Ref(objectKey(e.Type, e.Object))
		if o == nil {
			return nil, syscall.ENOENT
		}
		o.uses++
		return e, 0
	}
	entry := t.setFor(e.Set, e.SetID)
	if entry == nil {
		return nil, syscall.ENOENT
	}
	if entry.set.Flags&SetObject == 0 {
		return nil, syscall.EINVAL
	}
	if errno := entry.bind(); errno != 0 {
		return nil, errno
	}
	own := *e
	own.Set, own.SetID = entry.set.Name, 0
	return &own, 0
}
