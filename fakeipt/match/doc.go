// Package match has the matches of rules, one file for each: the struct with what the kernel holds, its options, its texts and the
// kernel's checks. Find looks a match up by its name after -m. Package packetsim evaluates matches for packets.
package match
