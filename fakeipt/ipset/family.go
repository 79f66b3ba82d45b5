package ipset

// Family is that of a set's addresses.
type Family uint8

// The families, by the version of the protocol.
const (
	IPv4 Family = 4
	IPv6 Family = 6
)

// bits is the length of an address; 32 for the types of set that have no family.
func (f Family) bits() int {
	if f == IPv6 {
		return 128
	}
	return 32
}
