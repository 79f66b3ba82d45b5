// Package record writes Go values as bytes and reads them again. It writes the value itself, field by field, exported or not, so that
// reading gives an equal value, whatever is in it.
//
// A Codec is made from a type. It knows numbers, bool, string, netip.Addr, time.Time, atomic.Uint64, and structs, arrays, slices and
// pointers of these. Values behind an interface must be pointers to structs of a list that the interface was made known with (Types); one
// that several places point to is written once and read as one. Maps, functions and channels are refused when the codec is made.
//
// What was written carries a description of every type that is behind an interface; what a program with another type has written is refused
// and never misread. Damage is an error and never a panic, but the package does not look for it: callers who store records add a checksum.
package record
