// Package target has the targets of rules, one file for each: the struct that is what the kernel holds, its options, its texts and the
// kernel's checks. Find knows them by the names behind -j. What a target does with a packet is packetsim's.
package target
