// Package target has the targets of rules, one file for each: the struct with what the kernel holds, its options, its texts and the
// kernel's checks. Find looks a target up by its name after -j. Package packetsim applies targets to packets.
package target
