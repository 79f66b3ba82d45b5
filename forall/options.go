package forall

import (
	"fmt"

	"github.com/chainwalk/chainwalk/netfilter"
	"github.com/chainwalk/chainwalk/packetsim"
)

// Class is what packets are to conntrack when they come to the host.
type Class uint8

// The classes.
const (
	// New are the first packets of connections: there is no entry.
	New Class = iota
	// Established are further packets of the sender of a connection that was answered and that NAT does not translate.
	Established
	// Replying are packets in answer to such a connection.
	Replying
	// Related are ICMP errors about such a connection. First packets of connections that one expects (of FTP, say) are none of them: NAT's
	// chains see those (nf_nat_inet_fn in net/netfilter/nf_nat_core.c).
	Related
	// Invalid are packets that conntrack does not understand.
	Invalid
	// Untracked are packets that conntrack never looks at, as of neighbour discovery.
	Untracked
)

var classNames = [...]string{New: "new", Established: "established", Replying: "replying", Related: "related", Invalid: "invalid",
	Untracked: "untracked"}

// String is the class's name.
func (c Class) String() string {
	if int(c) < len(classNames) {
		return classNames[c]
	}
	return fmt.Sprintf("class %d", c)
}

// ParseClass is the class of a name.
func ParseClass(name string) (Class, error) {
	for c, n := range classNames {
		if n == name {
			return Class(c), nil
		}
	}
	return 0, fmt.Errorf("class %q: want new, established, replying, related, invalid or untracked", name)
}

// State is how a walk takes packets of the class.
func (c Class) State() packetsim.PacketState {
	return [...]packetsim.PacketState{New: packetsim.StateFound, Established: packetsim.StateEstablished, Replying: packetsim.StateReplying,
		Related: packetsim.StateRelated, Invalid: packetsim.StateInvalid, Untracked: packetsim.StateUntracked}[c]
}

// Chance is how probabilities are read.
type Chance uint8

// The readings.
const (
	// Ideal reads a draw that is as near to 1/n as a rule can say it as 1/n: the order of a service's endpoints makes no difference then.
	Ideal Chance = iota
	// Exact reads each draw as it is, a multiple of 2^-31.
	Exact
)

// Part is a part of fates that comparisons may leave out.
type Part uint8

// The parts.
const (
	Mark   Part = 1 << iota // the mark at the end
	Source                  // what the source is translated to
	Detail                  // everything but the verdict and where the packet goes: translations, words of REJECT, marks
)

// Options say which fates are worked out, and how.
type Options struct {
	// Families are those of the packets; empty: both.
	Families []netfilter.Family
	// Classes are those of the packets; empty: New.
	Classes []Class
	Chance  Chance
	// Ignore is what fates do not say.
	Ignore Part
	// Replies asks also what becomes of the reply to each packet (Fate.Back). The class must be New.
	Replies bool
	// Through are the hosts that packets may go on through, if they leave by a device on one network with one of theirs. Name is what the
	// host itself is called in the ways of fates then (Fate.Way).
	Name    string
	Through []Node
	// Against are fates that the new ones will be compared with. They share memory with them, and what both have in common is worked out
	// once.
	Against *Fates
	// Memory is how many bytes may be needed on the way for the packets to one destination, beside those that the fates need in the end; 0:
	// 1 GiB. The fates of packets that need more are not known (Fate.Unmodelled). With Replies or Through it is for all packets of a family
	// together, and Of fails if they need more.
	Memory int

	generation int  // how many nodes a builder makes before it forgets them; 0: defaultGeneration
	alone      bool // endpoints are not walked in groups
	indexed    int  // from how many rules on a chain has an index by destinations; 0: longIndexed
}
