// Package print writes tables, chains, rules, sets, elements and objects as nft 1.0.6 lists them: as text (nft list), and as the JSON of
// libnftables (nft -j list). It takes trees whose types are known, such as package decompile makes of what the kernel holds.
package print
