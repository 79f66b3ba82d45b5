// Package render spells a model.Model as the input of iptables-restore, and
// the jumps from the kernel's own chains as arguments of iptables. It decides
// nothing: whatever it writes follows from the Model and the Options.
//
// It stands between proxier/internal/model and proxier/iptables. The names of
// chains, the order of rules and the spelling of their options are kube-proxy's,
// so that both programs leave the same rules on a node and either may take over
// from the other. Equal models give equal bytes.
package render
