// Package ruleset is what the kernel holds: the tables of one family with their chains and rules, and how they are changed. A Ruleset is
// immutable. An Edit changes one table of it, for one command or for all lines of a restore, and its commit makes the kernel's checks: of
// each rule for itself, of the chains that hooks reach, and of circles. Every chain that did not change is shared with the table before.
//
// What rules say is package xtables', what tools print is fakeipt's; but for the text of iptables-save (Table.Save) and the form in which
// tables are kept between runs of the tools (StateTable), which both go through everything that a table is.
package ruleset
