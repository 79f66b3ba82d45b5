// Package icmp has the names of ICMP types and codes, which -m icmp, -m icmp6 and the elements of sets share.
package icmp
