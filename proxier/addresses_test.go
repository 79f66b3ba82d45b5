package proxier_test

import "net/netip"

func addr(text string) netip.Addr { return netip.MustParseAddr(text) }

func prefix(text string) netip.Prefix { return netip.MustParsePrefix(text) }

func prefixes(texts ...string) []netip.Prefix {
	var list []netip.Prefix
	for _, text := range texts {
		list = append(list, prefix(text))
	}
	return list
}
