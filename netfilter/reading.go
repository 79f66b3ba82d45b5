package netfilter

// Reading is what a condition or an action looks at beside the addresses, the protocol and the ports of a packet as it is now, as bits.
// Each match and target of iptables and each expression of nf_tables says so itself: the index of long chains, conntrack, and whoever works
// out the fates of all packets go by it.
type Reading uint32

// What can be read.
const (
	ReadsHeader     Reading = 1 << iota // other bytes of the packet, which rules may change on its way
	ReadsMark                           // the packet's mark
	ReadsConnection                     // what conntrack knows of it: rules that read this make conntrack look at packets
	ReadsTranslated                     // whether NAT has changed a side of it
	ReadsFirst                          // the destination that the first packet of its connection had
	ReadsHook                           // at which hook it is
	ReadsDevices                        // by which device it came and by which it leaves
	ReadsRoute                          // where routing sends it
	ReadsHost                           // whose the destination is: an address of the host or of others
	ReadsDraw                           // chance
	ReadsShared                         // what other packets have left under a name: lists, sets, accounts
	ReadsCount                          // what other packets have left with the rule itself
	ReadsElse                           // sockets, clocks, processors, what the host does beside the packet
	ReadsUnknown                        // nobody knows what
	// ChangesDst is no reading: it makes the destination another one.
	ChangesDst
)

// Has says whether some of that is read.
func (r Reading) Has(some Reading) bool { return r&some != 0 }

// Compares says whether nothing else is done than comparing a packet with what the rule says, so that it makes no difference whether a rule
// is asked that another condition of it excludes.
func (r Reading) Compares() bool {
	return !r.Has(ReadsHeader | ReadsDraw | ReadsShared | ReadsCount | ReadsElse | ReadsUnknown)
}
