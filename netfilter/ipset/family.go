package ipset

// Family is that of a set's addresses.
type Family uint8

// The families in the words of the tool. Their values are the versions of the protocol.
const (
	inet  Family = 4
	inet6 Family = 6
)

// bits is the length of an address; 32 for the types of set that have no family.
func (f Family) bits() int {
	if f == inet6 {
		return 128
	}
	return 32
}
