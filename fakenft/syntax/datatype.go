package syntax

// ByteOrder is the order in which the bytes of a number lie in a register (enum byteorder in nft).
type ByteOrder uint8

// The orders.
const (
	NoOrder ByteOrder = iota
	HostOrder
	BigEndian
)

// TypeID is the number of a type of data, which a set keeps in the kernel (enum datatypes in nft). That of a concatenation has six bits for
// each of its parts.
type TypeID uint32

// Datatype is a type of data. Two are the same if they are equal as pointers; those of concatenations come from ConcatType.
type Datatype struct {
	ID    TypeID
	Name  string // as in "type ipv4_addr"
	Desc  string // as in messages: "IPv4 address"
	Order ByteOrder
	Bits  int // 0: none of its own
	// Base is the type that it is a kind of; nil for the basic ones.
	Base *Datatype
	// Prefix says that prefixes are written as such.
	Prefix bool
	// Symbols are the names of values; nil if it has none.
	Symbols *Symbols
	// Parts are the types of a concatenation.
	Parts []*Datatype
}

// Symbols are names of values of a type, in the order in which nft looks them up and lists them.
type Symbols struct {
	// Base is how a value without a name is printed: 10 or 16.
	Base int
	List []NamedValue
}

// NamedValue is a value and its name.
type NamedValue struct {
	Name  string
	Value uint64
}
