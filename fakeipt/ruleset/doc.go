// Package ruleset has the tables of one family as the kernel holds them, with their chains and rules, and the edits that change them. A
// Ruleset is immutable. An Edit changes one table of it, for one command or for all lines of a restore. Its commit makes the kernel's
// checks: of each rule by itself, of the chains that hooks reach, and of loops. The new table shares every chain that did not change with
// the old one.
//
// Package xtables defines what rules say, and fakeipt what tools print. The exceptions are the text of iptables-save (Table.Save) and the
// form in which tables are kept between runs of the tools (StateTable), since both go through a whole table.
package ruleset
