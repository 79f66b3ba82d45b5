package ipset

// Ref is a set with the sides of the packet that are looked up in it: "NAME src,dst".
type Ref struct {
	Set string
	// Dim is the number of sides given, 1 to 6.
	Dim uint8
	// SrcSides has bit i set where side i, from 0, is "src"; the others are "dst".
	SrcSides uint8
}

// src says that the part of that number is taken from the packet's source.
func (r *Ref) src(part int) bool { return r.SrcSides&(1<<part) != 0 }

// Query is what -m set asks of a packet.
type Query struct {
	Ref
	Invert bool
	// ReturnNomatch is --return-nomatch: an entry with nomatch matches, and others do not.
	ReturnNomatch bool
	// KeepCounters and KeepSubcounters are "! --update-counters" and "! --update-subcounters".
	KeepCounters, KeepSubcounters bool
	Packets, Bytes                Counter
}

// Counter is a condition of a Query on a counter of the entry that was found.
type Counter struct {
	Op    CounterOp
	Value uint64
}

// CounterOp is how a counter is compared.
type CounterOp uint8

// The comparisons. CounterAny is none.
const (
	CounterAny CounterOp = iota
	CounterEQ            // --packets-eq
	CounterNE            // ! --packets-eq
	CounterLT            // --packets-lt
	CounterGT            // --packets-gt
)

// Change is what -j SET does to sets for a packet. A Ref without a set asks for nothing.
type Change struct {
	Add, Del   Ref
	Exist      bool // an entry that is there gets its timeout anew
	HasTimeout bool
	Timeout    uint32 // of the added entry, in seconds
}
