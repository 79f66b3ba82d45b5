// Package record writes Go values as bytes and reads them again. The bytes are those of the value itself, field by field, exported or not,
// so that a value which was written is read as an equal one whatever is in it: nobody spells it, and nobody parses a spelling.
//
// A Codec is made from a type. It knows numbers, bool, string, netip.Addr, time.Time, atomic.Uint64, and structs, arrays, slices and
// pointers of these. Values behind an interface must be pointers to structs of a list that the interface was made known with (Types); one
// that several places point to is written once and read as one. Maps, functions and channels are refused when the codec is made.
//
// What was written carries a description of every type that is behind an interface; what a program with another type has written is
// refused and never misread. Damage is an error and never a panic, but it is not looked for: who stores records guards them by a checksum.
package record
