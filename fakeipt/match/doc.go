// Package match has the matches of rules, one file for each: the struct that is what the kernel holds, its options, its texts and the
// kernel's checks. Find knows them by the names behind -m. What a match does with a packet is packetsim's.
package match
