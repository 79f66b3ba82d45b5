package packetsim

import (
	"github.com/chainwalk/chainwalk/fakeipt/xtables"
	"github.com/chainwalk/chainwalk/netfilter/nftables"
)

// missedLooks are the rules that a host's packets did not match, as traces have them, by what K says of a rule and of what in it failed.
// The next packet misses most of them in the same way, and to spell a rule takes far longer than to ask it. The zero value has none.
type missedLooks[K comparable] struct {
	known map[K]*RuleLook
}

// keptLooks is how many are kept: several thousand, since a packet misses far more rules than it meets.
const keptLooks = 1 << 13

// keep keeps a look, which is not to be written to from now on.
func (m *missedLooks[K]) keep(key K, look *RuleLook) {
	if m.known == nil {
		m.known = map[K]*RuleLook{}
	}
	if len(m.known) >= keptLooks {
		clear(m.known)
	}
	m.known[key] = look
}

// missedRule is a rule of a table of iptables, and what in it failed. A commit that changes another rule of its chain leaves it.
type missedRule struct {
	rule  *xtables.Rule
	part  rulePart
	kind  rulesKind
	table string
	mixed bool // the backend is told
}

// nftMissedRule is a rule of nf_tables, and which of its operations failed. A commit that changes another rule of its chain leaves it.
type nftMissedRule struct {
	rule *nftables.Rule
	op   int
}
