package ailments

// Families are the address families of a ward.
type Families string

// The families.
const (
	V4   Families = "IPv4"
	V6   Families = "IPv6"
	Dual Families = "dual"
)

func (f Families) has(v6 bool) bool { return f == Dual || v6 == (f == V6) }

// each are false for IPv4 and true for IPv6, as far as the ward has them.
func (f Families) each() []bool {
	switch f {
	case V4:
		return []bool{false}
	case V6:
		return []bool{true}
	}
	return []bool{false, true}
}
