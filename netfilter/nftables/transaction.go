package nftables

// reach is from where packets come to a chain or a set.
type reach struct {
	bases uint32
	depth int8
}

func (k *Kernel) transact(changes []Change, keep bool) []Refusal { panic("soon") }
