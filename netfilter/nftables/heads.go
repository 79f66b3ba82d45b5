package nftables

// StatePart is the name of the part that has the tables of nf_tables in the folder that tools keep their state in (internal/statefolder),
// and StateVersion the version of its format.
const (
	StatePart    = "nftables"
	StateVersion = 2
)

// heads are the tables without what is in them, which stand in front of a state: other tools need to know no more. Of chains they have
// the base chains, and one other if there is any.
func (s *State) heads() []savedTable {
	var heads []savedTable
	for _, t := range s.Tables() {
		head := savedTable{Spec: t.TableSpec, Handle: t.Handle, Last: t.handle}
		other := false
		for _, c := range t.Chains() {
			if c.Hooking == nil && other {
				continue
			}
			other = other || c.Hooking == nil
			head.Chains = append(head.Chains, savedChain{Spec: c.ChainSpec, Handle: c.Handle, Turn: c.Turn})
		}
		heads = append(heads, head)
	}
	return heads
}

// ReadHeads fills a kernel without tables with those that AppendState has written, but with nothing in them. It is for tools that only
// need to know that they are there: base chains are among the chains, and one other if there is any. If one of them is wanted, all are read
// as ReadState does, and whole is true. It returns the turn of the base chain that was registered last.
func (k *Kernel) ReadHeads(text []byte, wanted func(Family, string) bool) (lastTurn uint64, whole bool, err error) {
	var heads savedState
	r, err := savedTypes().Reader(text)
	if err == nil {
		err = r.Read(&heads)
	}
	if err != nil {
		return 0, false, err
	}
	for i := range heads.Tables {
		if wanted(heads.Tables[i].Spec.Family, heads.Tables[i].Spec.Name) {
			lastTurn, err = k.ReadState(text)
			return lastTurn, true, err
		}
	}
	lastTurn, err = k.restore(&heads)
	return lastTurn, false, err
}
