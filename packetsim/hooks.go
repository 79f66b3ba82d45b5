package packetsim

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
