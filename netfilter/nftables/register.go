package nftables

import "fmt"

// Register registers a base chain anew: of the chains of its hook and priority packets meet it first from now on. The kernel has no such
// command; it is for a namespace that is made after another one.
func (k *Kernel) Register(f Family, table, chain string) error {
	k.lock.Lock()
	defer k.lock.Unlock()
	tx := k.begin()
	t := tx.table(f, table)
	if t == nil || t.Chain(chain) == nil || t.Chain(chain).Turn == 0 {
		return fmt.Errorf("the kernel has no base chain %s in a table %s %s", chain, f, table)
	}
	t.ownChain(chain).Turn = k.nextTurn()
	k.state.Store(tx.state())
	return nil
}
