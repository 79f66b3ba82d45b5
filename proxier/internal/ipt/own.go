package ipt

// ownChains returns the chains of a table that are this program's or
// kube-proxy's, of those that iptables-save printed, in its order. The
// kubelet's are not among them.
func ownChains(table string, save []byte) []string {
	shared := map[string]bool{canaryChain: true}
	for _, jump := range jumps() {
		if string(jump.Table) == table && jump.target != firewallChain {
			shared[string(jump.target)] = true
		}
	}
	nat := table == "nat"
	if nat {
		shared[markMasqChain] = true
		shared[nodePortsChain] = true
	}
	var own []string
	for name := range chainNames(save) {
		if shared[string(name)] || nat && isServiceChain(name) {
			own = append(own, string(name))
		}
	}
	return own
}
