package nftables

import (
	"slices"
	"syscall"
	"time"

	"github.com/chainwalk/chainwalk/netfilter/nftables/expr"
)

// transaction is one under way. It writes to copies of the tables that it changes.
type transaction struct {
	// restores: what was there is made again, so that rules may look into a constant set before it has its elements.
	restores bool
	// adopts: a table of a guest becomes the kernel's.
	adopts bool
	kernel *Kernel
	guests []guestTable // those that are still the guests'
	// failed is why a table of a guest could not become the kernel's.
	failed  error
	now     time.Time
	edit    *edit
	tables  []*Table // as those of a State; copied before the first one is written to
	owned   bool
	edits   []*tableEdit
	last    *tableEdit // that was asked for
	changed bool
	// Each rule and element is checked against its table at once, to find the one that does not fit: in the table of this handle, and in
	// those that are made.
	checking bool
	suspect  uint64
	handle   uint64 // of the next table, if it had one before
	rules    map[uint32]*Rule
	chainIDs map[transactionID]string
	setIDs   map[transactionID]string
	late     []func()      // what holds only when all is done
	unbound  []func() bool // say that an anonymous set, or a chain without a name, is named by no rule
	updates  map[*Element]*Element
	sized    []sizedSet
	batch    elementBatch
}

// transactionID is a number of a chain or set within a transaction.
type transactionID struct {
	table uint64 // its handle
	id    uint32
}

// tableEdit is a table that a transaction writes to.
type tableEdit struct {
	*Table
	tx       *transaction
	numbered bool
	// What may reach farther than before: looked at when all changes are made.
	dirtyChains   []string
	dirtyVerdicts []dirtyVerdict
	deletedRules  []ruleID
	deleted       bool
	checking      bool     // as the transaction's
	updated       bool     // it has become dormant, or is so no more
	renamed       []string // names that chains have when all is taken
	pending       bool     // a chain was changed, or a base chain deleted (nft_table_pending_update)
	// What checked has found, and whether anything was taken away since.
	fault   syscall.Errno
	thinned bool
}

// ruleID is a rule by its chain and handle.
type ruleID struct {
	chain  string
	handle uint64
}

// dirtyVerdict is a verdict that a map has got.
type dirtyVerdict struct {
	set     string
	verdict *expr.Verdict
}

// fault is why a change is not taken.
type fault struct {
	errno syscall.Errno
	part  Part
	index int
}

func refuse(errno syscall.Errno, part Part) *fault { return &fault{errno: errno, part: part} }

// transact carries changes out. If the state that they make is not valid, it does so once more and looks at the tables after each rule and
// each element, as the kernel does, so that the refusal is that of the change that is to blame (nf_tables_validate).
func (k *Kernel) transact(changes []Change, keep bool) []Refusal {
	k.lock.Lock()
	defer k.lock.Unlock()
	tx := k.begin()
	refusals := tx.run(changes)
	if len(refusals) == 0 && tx.hasUnbound() {
		refusals = []Refusal{{Errno: syscall.EINVAL}} // the kernel says so of the first change
	}
	if invalid := tx.firstInvalid(); len(refusals) == 0 && invalid != nil {
		tx = k.begin()
		tx.checking, tx.suspect = true, invalid.Handle
		refusals = tx.run(changes)
	}
	if tx.failed != nil {
		refusals = []Refusal{{Errno: syscall.EOPNOTSUPP}}
	}
	if len(refusals) == 0 && keep {
		if tx.changed {
			k.state.Store(tx.settle(tx.state()))
		}
		return refusals
	}
	tx.handBack()
	k.keepSizes(tx.sized)
	return refusals
}

// keepSizes gives sets the size that a rule of a transaction gave them, which the kernel does not take back when it undoes the rest
// (nft_dynset_init).
func (k *Kernel) keepSizes(sized []sizedSet) {
	if len(sized) == 0 {
		return
	}
	tx := k.begin()
	for _, s := range sized {
		t := tx.table(s.family, s.table)
		if t == nil || t.Handle != s.tableHandle {
			continue
		}
		if entry := t.sets.Ref(s.set); entry != nil && entry.set.Handle == s.handle && entry.set.Size == 0 {
			t.ownSet(s.set, 0).Size = dynsetSize
			tx.changed = true
		}
	}
	if !tx.changed {
		return
	}
	state := tx.state()
	state.Generation = k.State().Generation
	k.state.Store(state)
}

// sizedSet is a set that a rule gave a size.
type sizedSet struct {
	family              Family
	table, set          string
	tableHandle, handle uint64
}

func (k *Kernel) begin() *transaction {
	return &transaction{kernel: k, now: k.clock.Now(), edit: &edit{}, tables: k.State().tables, guests: k.guestTables()}
}

func (tx *transaction) run(changes []Change) []Refusal {
	var refusals []Refusal
	for i, c := range changes {
		if f := tx.apart(c); f != nil {
			refusals = append(refusals, Refusal{Change: i, Errno: f.errno, Part: f.part, Index: f.index})
		}
	}
	return refusals
}

func (tx *transaction) change(c Change) *fault {
	switch c := c.(type) {
	case *AddTable:
		return tx.addTable(c)
	case *DeleteTable:
		return tx.deleteTable(c)
	case *AddChain:
		return tx.addChain(c)
	case *DeleteChain:
		return tx.deleteChain(c)
	case *AddRule:
		return tx.addRule(c)
	case *DeleteRule:
		return tx.deleteRule(c)
	case *AddSet:
		return tx.addSet(c)
	case *DeleteSet:
		return tx.deleteSet(c)
	case *AddElements:
		return tx.addElements(c)
	case *DeleteElements:
		return tx.deleteElements(c)
	case *AddObject:
		return tx.addObject(c)
	case *DeleteObject:
		return tx.deleteObject(c)
	case *AddFlowtable:
		return tx.addFlowtable(c)
	case *DeleteFlowtable:
		return tx.deleteFlowtable(c)
	}
	return refuse(syscall.EINVAL, PartWhole)
}

func (tx *transaction) hasUnbound() bool {
	return slices.ContainsFunc(tx.unbound, func(is func() bool) bool { return is() })
}

// state is what the transaction has made.
func (tx *transaction) state() *State {
	for _, f := range tx.late {
		f()
	}
	for _, t := range tx.edits {
		t.register()
	}
	return (&State{Generation: tx.kernel.State().Generation + 1, tables: tx.tables}).sealed()
}

// table is a table that is there, to be written to; nil if there is none.
func (tx *transaction) table(f Family, name string) *tableEdit {
	if t := tx.last; t != nil && t.Family == f && t.Name == name && !t.deleted {
		return t
	}
	at, found := findTable(tx.tables, f, name)
	if !found {
		if at, found = tx.adopt(f, name); !found {
			return nil
		}
	}
	tx.last = tx.editOf(at)
	return tx.last
}

// editOf is the table of that place in tables, to be written to.
func (tx *transaction) editOf(at int) *tableEdit {
	t := tx.tables[at]
	for _, e := range tx.edits {
		if e.Table == t {
			return e
		}
	}
	own := *t
	own.chains, own.sets, own.objects = t.chains.Edit(0), t.sets.Edit(0), t.objects.Edit(0)
	own.chainList, own.setList, own.objectList = t.chainList.Edit(), t.setList.Edit(), t.objectList.Edit()
	own.bases, own.flowtables = slices.Clip(t.bases), slices.Clone(t.flowtables)
	tx.own()
	tx.tables[at] = &own
	e := &tableEdit{Table: &own, tx: tx, checking: tx.checking && own.Handle == tx.suspect}
	tx.edits = append(tx.edits, e)
	return e
}

// own makes the slice of tables the transaction's own.
func (tx *transaction) own() {
	if !tx.owned {
		tx.tables, tx.owned = slices.Clone(tx.tables), true
	}
}
