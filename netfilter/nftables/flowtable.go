package nftables

import (
	"slices"
	"syscall"
)

// FlowtableFlags are NFT_FLOWTABLE_*.
type FlowtableFlags uint32

// The flags of flowtables.
const (
	FlowtableOffload FlowtableFlags = 1 // to hardware
	FlowtableCounter FlowtableFlags = 2
)

const flowtableFlags = FlowtableOffload | FlowtableCounter

// FlowtableSpec is what a flowtable is made of: a table of connections whose packets pass by the rules on their way from one of the devices
// to another.
type FlowtableSpec struct {
	Name     string
	Hook     uint32 // 0, ingress, is the only one there is
	Priority int32
	Devices  []string
	Flags    FlowtableFlags
}

// Flowtable is a flowtable. One that a commit did not change is the same pointer afterwards.
type Flowtable struct {
	FlowtableSpec
	Handle uint64
}

// flowtableEntry is a flowtable and how many rules name it.
type flowtableEntry struct {
	flowtable *Flowtable
	uses      int32
}

// Flowtables are the table's flowtables in the order of creation.
func (t *Table) Flowtables() []*Flowtable {
	var all []*Flowtable
	for _, entry := range t.flowtables {
		all = append(all, entry.flowtable)
	}
	return all
}

// flowtableNamed is the flowtable of a name; nil if there is none.
func (t *Table) flowtableNamed(name string) *flowtableEntry {
	for i := range t.flowtables {
		if t.flowtables[i].flowtable.Name == name {
			return &t.flowtables[i]
		}
	}
	return nil
}

// addFlowtable is nf_tables_newflowtable.
func (tx *transaction) addFlowtable(c *AddFlowtable) *fault {
	spec := c.Flowtable
	t, f := tx.tableFor(c.Family, c.Table, spec.Name, PartName)
	if f != nil {
		return f
	}
	if entry := t.flowtableNamed(spec.Name); entry != nil {
		if c.Exclusive {
			return refuse(syscall.EEXIST, PartName)
		}
		return t.updateFlowtable(entry, &spec)
	}
	switch {
	case !t.Family.isIP() || tx.kernel.noFlowtables:
		return refuse(syscall.ENOENT, PartWhole) // no module has flowtables of the family
	case spec.Flags&^flowtableFlags != 0, spec.Hook != 0:
		return refuse(syscall.EOPNOTSUPP, PartWhole)
	case hasTwice(spec.Devices), t.occupied(spec.Devices, nil):
		return refuse(syscall.EEXIST, PartWhole)
	}
	t.flowtables = append(t.flowtables, flowtableEntry{flowtable: &Flowtable{FlowtableSpec: spec, Handle: t.nextHandle()}})
	tx.changed = true
	return nil
}

// updateFlowtable gives a flowtable that exists more devices and other flags (nft_flowtable_update).
func (t *tableEdit) updateFlowtable(entry *flowtableEntry, spec *FlowtableSpec) *fault {
	old := entry.flowtable
	switch {
	case spec.Hook != old.Hook, spec.Priority != old.Priority, spec.Flags&^flowtableFlags != 0,
		(spec.Flags^old.Flags)&FlowtableOffload != 0:
		return refuse(syscall.EOPNOTSUPP, PartWhole)
	case hasTwice(spec.Devices), t.occupied(spec.Devices, entry.flowtable):
		return refuse(syscall.EEXIST, PartWhole)
	}
	own := *old
	own.Devices, own.Flags = slices.Clone(old.Devices), spec.Flags
	for _, device := range spec.Devices {
		if !slices.Contains(own.Devices, device) {
			own.Devices = append(own.Devices, device)
		}
	}
	entry.flowtable = &own
	t.tx.changed = true
	return nil
}

func hasTwice(devices []string) bool {
	for i, device := range devices {
		if slices.Contains(devices[:i], device) {
			return true
		}
	}
	return false
}

// occupied says that another flowtable of the table has one of the devices (nft_register_flowtable_net_hooks).
func (t *Table) occupied(devices []string, but *Flowtable) bool {
	for _, entry := range t.flowtables {
		has := func(device string) bool { return slices.Contains(entry.flowtable.Devices, device) }
		if entry.flowtable != but && slices.ContainsFunc(devices, has) {
			return true
		}
	}
	return false
}

// deleteFlowtable is nf_tables_delflowtable.
func (tx *transaction) deleteFlowtable(c *DeleteFlowtable) *fault {
	t, f := tx.tableFor(c.Family, c.Table, c.Name, PartName)
	if f != nil {
		return f
	}
	part := PartName
	if c.Handle != 0 {
		part = PartHandle
	}
	at := slices.IndexFunc(t.flowtables, func(entry flowtableEntry) bool {
		if c.Handle != 0 {
			return entry.flowtable.Handle == c.Handle
		}
		return entry.flowtable.Name == c.Name
	})
	switch {
	case at < 0 && c.MayLack:
		return nil
	case at < 0:
		return refuse(syscall.ENOENT, part)
	case t.flowtables[at].uses > 0:
		return refuse(syscall.EBUSY, part)
	}
	t.flowtables = slices.Delete(t.flowtables, at, at+1)
	tx.changed = true
	return nil
}

// offloadsTo notes that one rule more, or with -1 one less, puts connections into a flowtable (nft_flow_offload_init).
func (t *tableEdit) offloadsTo(name string, more int32) syscall.Errno {
	entry := t.flowtableNamed(name)
	if entry == nil {
		return syscall.ENOENT
	}
	entry.uses += more
	return 0
}
