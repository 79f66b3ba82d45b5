package nftables

import (
	"slices"
	"syscall"

	"github.com/chainwalk/chainwalk/internal/persist"
	"github.com/chainwalk/chainwalk/netfilter/nftables/expr"
)

const chainFlags = ChainHWOffload | ChainBinding

// tableFor is the table of a change that is about something of it, or the fault that it is not there.
func (tx *transaction) tableFor(f Family, table, name string, part Part) (*tableEdit, *fault) {
	if f := badName(table, PartTable); f != nil {
		return nil, f
	}
	if f := badName(name, part); f != nil {
		return nil, f
	}
	t := tx.table(f, table)
	if t == nil {
		return nil, refuse(syscall.ENOENT, PartTable)
	}
	return t, nil
}

// ownChain is a chain that is there, to be written to.
func (t *tableEdit) ownChain(name string) *Chain {
	entry := t.chains.Ref(name)
	if entry.chain.made == t.tx.edit {
		return entry.chain
	}
	old := entry.chain
	own := &Chain{ChainSpec: old.ChainSpec, Handle: old.Handle, Turn: old.Turn, Rules: slices.Clip(old.Rules), made: t.tx.edit}
	entry.chain = own
	t.chainList.Set(t.chainPlace(own.Handle), own)
	if i := slices.Index(t.bases, old); i >= 0 {
		t.bases = slices.Clone(t.bases)
		t.bases[i] = own
	}
	return own
}

func (t *tableEdit) chainPlace(handle uint64) persist.Place {
	return t.chainList.Search(func(c *Chain) bool { return c.Handle < handle })
}

func (t *tableEdit) chainOfHandle(handle uint64) *Chain {
	if c, found := t.chainList.At(t.chainPlace(handle)); found && c.Handle == handle {
		return c
	}
	return nil
}

func (tx *transaction) addChain(c *AddChain) *fault {
	t, f := tx.tableFor(c.Family, c.Table, c.Chain.Name, PartChain)
	if f != nil {
		return f
	}
	part, chain := PartChain, t.Chain(c.Chain.Name)
	switch {
	case c.Handle != 0:
		if part, chain = PartHandle, t.chainOfHandle(c.Handle); chain == nil {
			return refuse(syscall.ENOENT, PartHandle)
		}
	case c.Chain.Name == "" && c.Chain.ID == 0:
		return refuse(syscall.EINVAL, PartWhole)
	case chain == nil && slices.Contains(t.renamed, c.Chain.Name):
		return refuse(syscall.EEXIST, PartChain) // the kernel takes it, and then has two chains of one name
	}
	if p := c.Chain.Policy; p != nil {
		if chain != nil && chain.Hooking == nil || chain == nil && c.Chain.Hooking == nil {
			return refuse(syscall.EOPNOTSUPP, PartPolicy)
		}
		if *p != expr.Drop && *p != expr.Accept {
			return refuse(syscall.EINVAL, PartWhole)
		}
	}
	if c.Chain.Flags&^chainFlags != 0 {
		return refuse(syscall.EOPNOTSUPP, PartWhole)
	}
	if chain == nil {
		return t.makeChain(c)
	}
	switch {
	case chain.Flags&ChainBinding != 0:
		return refuse(syscall.EINVAL, PartWhole)
	case c.Exclusive:
		return refuse(syscall.EEXIST, part)
	}
	return t.updateChain(chain, c, part)
}

// makeChain is nf_tables_addchain.
func (t *tableEdit) makeChain(c *AddChain) *fault {
	spec := &c.Chain
	own := &Chain{ChainSpec: *spec, made: t.tx.edit}
	own.ID = 0
	switch {
	case spec.Hooking != nil:
		if t.updated {
			return refuse(syscall.EINVAL, PartWhole)
		}
		if spec.Flags&ChainBinding != 0 {
			return refuse(syscall.EOPNOTSUPP, PartWhole)
		}
		if f := spec.Hooking.check(t.Family); f != nil {
			return f
		}
		if t.Flags&TableDormant == 0 {
			own.Turn = t.tx.kernel.nextTurn()
		}
	case spec.Flags&ChainHWOffload != 0:
		return refuse(syscall.EOPNOTSUPP, PartWhole)
	case spec.Name == "" && spec.Flags&ChainBinding == 0:
		return refuse(syscall.EINVAL, PartWhole)
	}
	if own.Name == "" {
		t.tx.kernel.chainNames++
		own.Name = anonymousChain(t.tx.kernel.chainNames)
	}
	if own.Handle = t.nextHandle(); spec.ID != 0 {
		t.tx.chainIDs = note(t.tx.chainIDs, transactionID{t.Handle, spec.ID}, own.Name)
	}
	entry := chainEntry{chain: own}
	if own.Hooking != nil {
		entry.reach = reach{bases: own.Hooking.context()}
		t.bases = append(t.bases, own)
	}
	t.chains.Put(own.Name, entry)
	t.chainList.Append(own)
	if own.Flags&ChainBinding != 0 {
		t.tx.unbound = append(t.tx.unbound, func() bool { return !t.deleted && t.chainOfHandle(own.Handle) != nil && t.usesOf(own.Name) == 0 })
	}
	t.tx.changed = true
	if c.Notify != nil {
		c.Notify(t.Table, own)
	}
	return nil
}

// note notes the name of what has a number within the transaction; the first one stays.
func note(names map[transactionID]string, id transactionID, name string) map[transactionID]string {
	if names == nil {
		names = map[transactionID]string{}
	}
	if _, taken := names[id]; !taken {
		names[id] = name
	}
	return names
}

// updateChain is nf_tables_updchain.
func (t *tableEdit) updateChain(chain *Chain, c *AddChain, part Part) *fault {
	spec := &c.Chain
	if spec.Flags != 0 && chain.Flags != spec.Flags {
		return refuse(syscall.EOPNOTSUPP, PartWhole)
	}
	if spec.Hooking != nil {
		if chain.Hooking == nil {
			return refuse(syscall.EEXIST, part)
		}
		if f := chain.Hooking.again(t.Family, spec.Hooking); f != nil {
			if f.part == PartChain {
				f.part = part
			}
			return f
		}
	}
	if c.Handle != 0 && spec.Name != "" {
		if t.Chain(spec.Name) != nil || slices.Contains(t.renamed, spec.Name) {
			return refuse(syscall.EEXIST, PartChain)
		}
		t.renameLate(chain.Handle, spec.Name)
	}
	if p := spec.Policy; p != nil && (chain.Policy == nil || *chain.Policy != *p) {
		t.ownChain(chain.Name).Policy = p
	}
	t.tx.changed, t.pending = true, true
	if c.Notify != nil {
		c.Notify(t.Table, t.Chain(chain.Name))
	}
	return nil
}

// renameLate gives a chain another name when the transaction has been taken: until then it is found by its old one (nf_tables_commit).
func (t *tableEdit) renameLate(handle uint64, name string) {
	t.renamed = append(t.renamed, name)
	t.tx.late = append(t.tx.late, func() {
		if chain := t.chainOfHandle(handle); chain != nil && !t.deleted {
			t.rename(chain, name)
		}
	})
}

// rename gives a chain another name, and all verdicts that lead to it.
func (t *tableEdit) rename(chain *Chain, name string) {
	old := chain.Name
	own := t.ownChain(old)
	entry, _ := t.chains.Get(old)
	own.Name = name
	t.chains.Remove(old)
	t.chains.Put(name, entry)
	if entry.uses > 0 {
		t.renameVerdicts(old, name)
	}
}

func (tx *transaction) deleteChain(c *DeleteChain) *fault {
	t, f := tx.tableFor(c.Family, c.Table, c.Name, PartChain)
	if f != nil {
		return f
	}
	part, chain := PartChain, t.Chain(c.Name)
	if c.Handle != 0 {
		part, chain = PartHandle, t.chainOfHandle(c.Handle)
	}
	switch {
	case chain == nil && c.MayLack:
		return nil
	case chain == nil:
		return refuse(syscall.ENOENT, part)
	case chain.Flags&ChainBinding != 0:
		return refuse(syscall.EOPNOTSUPP, PartWhole)
	}
	if t.usesOf(chain.Name) > 0 {
		t.expireVerdicts()
	}
	// A rule of its own that leads to it keeps it too.
	uses := t.usesOf(chain.Name)
	t.flushChain(chain)
	if uses > 0 {
		return refuse(syscall.EBUSY, part)
	}
	t.dropChain(t.Chain(chain.Name))
	return nil
}

func (t *tableEdit) usesOf(chain string) int32 {
	entry, _ := t.chains.Get(chain)
	return entry.uses
}

// dropChain takes a chain out that has no rules and that nothing leads to.
func (t *tableEdit) dropChain(chain *Chain) {
	t.chains.Remove(chain.Name)
	t.chainList.Remove(t.chainPlace(chain.Handle))
	if i := slices.Index(t.bases, chain); i >= 0 {
		t.bases = slices.Delete(slices.Clone(t.bases), i, i+1)
		t.pending = true
	}
	t.tx.changed = true
}
