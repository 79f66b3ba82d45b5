package packetsim

import "github.com/chainwalk/chainwalk/netfilter"

// hook is a place where netfilter looks at a packet.
type hook uint8

const (
	preRouting hook = iota
	input
	forward
	output
	postRouting
)

var hookNames = [...]string{"PREROUTING", "INPUT", "FORWARD", "OUTPUT", "POSTROUTING"}

// String is the name of the hook's built-in chains.
func (h hook) String() string { return hookNames[h] }

// Hooks is a set of hooks of both families.
type Hooks uint16

// Has says whether a hook, by the name of its built-in chains, is in the set.
func (s Hooks) Has(family netfilter.Family, name string) bool {
	for at, is := range hookNames {
		if is == name {
			return s&hook(at).in(family == netfilter.IPv6) != 0
		}
	}
	return false
}

// in is the hook of one family as a set.
func (h hook) in(six bool) Hooks {
	if six {
		return 1 << (int(h) + len(hookNames))
	}
	return 1 << h
}

// stage is one thing that a hook does: a table's built-in chain, or a part of conntrack.
type stage uint8

const (
	rawTable stage = iota
	trackStage
	mangleTable
	natDst
	natSrc
	filterTable
	securityTable
	confirmStage
)

// hookStages is the order of the hooks' priorities (include/uapi/linux/netfilter_ipv4.h, enum nf_ip_hook_priorities):
// raw -300, conntrack -200, mangle -150, destination NAT -100, filter 0, security 50, source NAT 100, confirm last.
var hookStages = [...][]stage{
	preRouting:  {rawTable, trackStage, mangleTable, natDst},
	input:       {mangleTable, filterTable, securityTable, natSrc, confirmStage},
	forward:     {mangleTable, filterTable, securityTable},
	output:      {rawTable, trackStage, mangleTable, natDst, filterTable, securityTable},
	postRouting: {mangleTable, natSrc, confirmStage},
}

var stageTables = [confirmStage + 1]string{
	rawTable: "raw", mangleTable: "mangle", natDst: "nat", natSrc: "nat", filterTable: "filter", securityTable: "security",
}
