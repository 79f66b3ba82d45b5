package fakeipt

import "github.com/chainwalk/chainwalk/fakeipt/nfacct"

// runNFAcct is nfacct.
func (p *program) runNFAcct() int {
	k := p.kernel
	t := nfacct.Tool{Objects: k.objects, Used: k.usedObjects, Rules: k.lock, Clock: k.clock, Stdin: p.stdin, Stdout: p.stdout, Stderr: p.stderr}
	return t.Run(p.args)
}

// usedObjects are the accounting objects that rules name.
func (k *Kernel) usedObjects() map[string]bool {
	used := map[string]bool{}
	for _, rs := range k.allRulesets() {
		for _, t := range rs.Tables() {
			for c := range t.Chains() {
				for _, r := range c.Rules {
					for _, m := range r.Matches {
						if n, ok := m.(*MatchNFAcct); ok {
							used[n.Object] = true
						}
					}
				}
			}
		}
	}
	return used
}
