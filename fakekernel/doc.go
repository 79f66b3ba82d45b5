// Package fakekernel is the fake kernel of a node: the tools of every rule language over one netfilter.Namespace, and
// the rules that they have written, as facts.
//
// Packages above packetsim take their kernels from here and depend on no rule language. They run tools by name (Kernel.Exec), as a proxier
// does, read rules as facts (Kernel.Rules), and read saved rules (LoadTexts, ReadSave). fakeipt is the language behind the names iptables,
// iptables-save and the like.
package fakekernel
