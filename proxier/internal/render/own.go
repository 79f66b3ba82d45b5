package render

// OwnChains returns the chains of a table that are this program's or
// kube-proxy's, of those that iptables-save printed, in its order. The
// kubelet's are not among them.
func OwnChains(table string, save []byte) []string {
	shared := map[string]bool{CanaryChain: true}
	for _, jump := range Jumps() {
		if jump.Table == table && jump.Target != firewallChain {
			shared[jump.Target] = true
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
