// Package translate says what iptables-nft 1.8.9 makes of a rule: the expressions of nf_tables that it gives the kernel, and the words in
// which nft shows those that are matches and targets of x_tables, which libxtables translates. Both were asked of the real tools.
package translate
