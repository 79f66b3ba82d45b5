// Package nfacct has the accounting objects of one network namespace, named pairs of counters in which rules count packets
// (-m nfacct), and the command nfacct (1.0.2) that creates, lists and deletes them.
//
// It stands below fakeipt, which runs Tool as one of its programs; packetsim counts in a Table. The package does not see rules;
// it asks the owner of the rules which objects they name.
//
// The tool refuses "nfacct monitor".
package nfacct
