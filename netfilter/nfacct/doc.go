// Package nfacct is the accounting objects of one network namespace, pairs of counters with names that rules count packets in
// (-m nfacct), and the command nfacct (1.0.2) that makes, lists and deletes them.
//
// It stands below fakeipt, which runs Tool as one of its programs, and packetsim counts in a Table. Rules are not known here:
// which objects they name is asked of whoever has the rules.
//
// Refused is "nfacct monitor".
package nfacct
