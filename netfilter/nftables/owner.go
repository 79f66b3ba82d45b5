package nftables

// Disown deletes the tables that belong to a program, as the kernel does when the program's socket is closed (nft_rcv_nl_event). It is no
// transaction: the generation stays as it is.
func (k *Kernel) Disown() {
	k.lock.Lock()
	defer k.lock.Unlock()
	tx := k.begin()
	tx.dropTables(func(t *Table) bool { return t.Flags&TableOwner != 0 })
	if tx.changed {
		state := tx.state()
		state.Generation = k.State().Generation
		k.state.Store(state)
	}
}
