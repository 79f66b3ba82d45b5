// Package translate has the form that iptables-nft 1.8.9 gives a rule: the expressions of nf_tables for the kernel, and the words in which
// nft shows matches and targets of x_tables, which libxtables translates. Both were recorded from the real tools.
package translate
