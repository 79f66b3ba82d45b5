// Package fakekernel gives a node its kernel: the tools of every language that rules are written in, over one netfilter.Namespace, and
// the rules that they have given it, in netfilter's words.
//
// Who works above packetsim takes kernels from here and knows no language: it runs tools by name (Kernel.Exec), as a proxier does, reads
// rules as facts (Kernel.Rules), and has saved rules read (LoadTexts, ReadSave). fakeipt is the language behind the names iptables,
// iptables-save and the like.
package fakekernel
