// Package compile makes the changes of the kernel's nf_tables of commands that package check has given types: what nft 1.0.6 sends by
// netlink for them, expression by expression, register by register (src/netlink_linearize.c, src/intervals.c and src/mnl.c have the same
// work to do). What it does not know it refuses by name.
package compile
