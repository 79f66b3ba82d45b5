package match

import "math"

// costToBytes is the rate of bytes that the kernel's number stands for.
func costToBytes(cost uint64) uint64 {
	r := uint64(math.MaxUint32)
	if cost != 0 {
		r /= cost
	}
	return (r - 1) << hashlimitByteShift
}

// bytesToCost is the kernel's number for a rate of bytes, 0 for the greatest one: with that the tool divides by 0, and is killed.
func bytesToCost(n uint64) uint64 {
	per := uint32(n>>hashlimitByteShift) + 1
	if per == 0 {
		return 0
	}
	return uint64(math.MaxUint32 / per)
}

// byteUnits are the units in which a rate of bytes is printed.
var byteUnits = [...]struct {
	name string
	size uint64
}{{"m", 1 << 20}, {"k", 1 << 10}, {"", 1}}

// byteFactor is what the letter behind a number of bytes stands for.
func byteFactor(rest []byte) uint64 {
	if len(rest) > 0 {
		for _, u := range byteUnits[:2] {
			if u.name[0] == rest[0] {
				return u.size
			}
		}
	}
	return 1
}
