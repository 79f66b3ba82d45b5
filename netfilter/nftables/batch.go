package nftables

// elementBatch are the elements at the end of a transaction that the kernel keeps together: they are of one set, and are told of with the
// flags of the first one (nft_trans_try_collapse).
type elementBatch struct {
	of        *setID
	count     int
	exclusive bool
}

// batchLimit is how many elements are kept together: as many as fit into 2048 bytes (NFT_MAX_SET_NELEMS).
const batchLimit = 124

// takes takes in an element that is made, and says whether the kernel tells of it as of an exclusive one.
func (b *elementBatch) takes(set *Set, exclusive bool) bool {
	if b.of != set.id || b.count == batchLimit {
		*b = elementBatch{of: set.id, exclusive: exclusive}
	}
	b.count++
	return b.exclusive
}

// apart carries a change out. One that is no adding of elements ends the batch of those before, if it has changed anything.
func (tx *transaction) apart(c Change) *fault {
	if _, adds := c.(*AddElements); adds {
		return tx.change(c)
	}
	before := tx.changed
	tx.changed = false
	f := tx.change(c)
	if tx.changed {
		tx.batch = elementBatch{}
	}
	tx.changed = tx.changed || before
	return f
}
