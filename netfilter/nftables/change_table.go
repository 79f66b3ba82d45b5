package nftables

import (
	"slices"
	"syscall"
)

// maxName is the longest name of a table, chain, set or object (NFT_NAME_MAXLEN less the 0 at its end).
const maxName = 255

// badName says that a name is longer than the kernel reads.
func badName(name string, part Part) *fault {
	if len(name) > maxName {
		return refuse(syscall.ERANGE, part)
	}
	return nil
}

const tableFlags = TableDormant | TableOwner

func (tx *transaction) addTable(c *AddTable) *fault {
	if f := badName(c.Name, PartTable); f != nil {
		return f
	}
	if t := tx.table(c.Family, c.Name); t != nil {
		if c.Exclusive {
			return refuse(syscall.EEXIST, PartTable)
		}
		return t.update(c)
	}
	if c.Flags&^tableFlags != 0 {
		return refuse(syscall.EOPNOTSUPP, PartWhole)
	}
	t := newTable(c.TableSpec, tx.nextTable())
	at, _ := findTable(tx.tables, c.Family, c.Name)
	tx.own()
	tx.tables = slices.Insert(tx.tables, at, t)
	e := tx.editOf(at)
	e.checking = tx.checking
	tx.changed = true
	if c.Notify != nil {
		c.Notify(e.Table)
	}
	return nil
}

// update changes a table's flags (nf_tables_updtable).
func (t *tableEdit) update(c *AddTable) *fault {
	switch flags := c.Flags; {
	case flags&^tableFlags != 0, t.Flags&TableOwner != 0 && flags&TableOwner == 0:
		return refuse(syscall.EOPNOTSUPP, PartWhole)
	case flags == t.Flags:
		return nil
	}
	if t.updated || t.pending {
		return refuse(syscall.EINVAL, PartWhole)
	}
	t.updated = (c.Flags^t.Flags)&TableDormant != 0
	t.Flags = c.Flags
	t.tx.changed = true
	if c.Notify != nil {
		c.Notify(t.Table)
	}
	return nil
}

func (tx *transaction) deleteTable(c *DeleteTable) *fault {
	if f := badName(c.Name, PartTable); f != nil {
		return f
	}
	if c.Name == "" && c.Handle == 0 || c.Family == 0 {
		tx.dropTables(func(t *Table) bool { return c.Family == 0 || t.Family == c.Family })
		return nil
	}
	found := false
	tx.dropTables(func(t *Table) bool {
		this := t.Family == c.Family && (c.Handle == 0 && t.Name == c.Name || c.Handle != 0 && t.Handle == c.Handle)
		found = found || this
		return this
	})
	switch {
	case found || c.MayLack:
		return nil
	case c.Handle != 0:
		return refuse(syscall.ENOENT, PartHandle)
	}
	return refuse(syscall.ENOENT, PartTable)
}

func (tx *transaction) dropTables(which func(*Table) bool) {
	tx.guests = slices.DeleteFunc(tx.guests, func(g guestTable) bool {
		gone := which(g.table)
		tx.changed = tx.changed || gone
		return gone
	})
	if !slices.ContainsFunc(tx.tables, which) {
		return
	}
	tx.own()
	tx.changed = true
	tx.tables = slices.DeleteFunc(tx.tables, which)
	for _, e := range tx.edits {
		e.deleted = e.deleted || !slices.Contains(tx.tables, e.Table)
	}
}

// register registers the base chains of a table that is dormant no more, and takes those of one that has become dormant away.
func (t *tableEdit) register() {
	if t.deleted || !t.updated {
		return
	}
	dormant := t.Flags&TableDormant != 0
	for _, c := range slices.Clone(t.bases) {
		if dormant == (c.Turn == 0) {
			continue
		}
		own := t.ownChain(c.Name)
		if own.Turn = 0; !dormant {
			own.Turn = t.tx.kernel.nextTurn()
		}
	}
}
