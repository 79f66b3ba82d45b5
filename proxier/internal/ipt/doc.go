// Package ipt writes the decisions of a model.Model as rules of iptables. Its
// renderer spells them as the input of iptables-restore, and the jumps from the
// kernel's own chains as arguments of iptables; its Writer has the tools take
// them, looks whether they are still there, and removes them. It decides nothing:
// whatever it writes follows from the Model and the Config.
//
// It stands between proxier/internal/model and proxier/iptables, behind the seam
// of package proxier, which knows a writer of rules and not their language. The
// names of chains, the order of rules and the spelling of their options are
// kube-proxy's, so that both programs leave the same rules on a node and either
// may take over from the other. Equal models give equal bytes.
package ipt
