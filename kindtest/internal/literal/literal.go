// Package literal writes lists of addresses and prefixes in code. It is not for input: it panics at a text that is not an address or
// prefix.
package literal

import "net/netip"

// Addrs are addresses.
func Addrs(texts ...string) []netip.Addr { return each(texts, netip.MustParseAddr) }

// Prefixes are ranges of addresses.
func Prefixes(texts ...string) []netip.Prefix { return each(texts, netip.MustParsePrefix) }

func each[T any](texts []string, parse func(string) T) []T {
	var out []T
	for _, text := range texts {
		out = append(out, parse(text))
	}
	return out
}
