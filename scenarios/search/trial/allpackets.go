package trial

import (
	"fmt"
	"hash/fnv"
	"io"

	"github.com/chainwalk/chainwalk/forall"
	"github.com/chainwalk/chainwalk/scenarios/spec/oracle"
)

// packetsBefore is what becomes of all first packets on a node, by the rules that it has before its proxier starts anew. It takes half as
// long as the rest of a case, so it is worked out for one node in eight, drawn by its rules, and for nodes whose rules are not compared by
// their texts; otherwise it is nil.
func (r *run) packetsBefore(n *nodeState, rules []saved) (*forall.Fates, error) {
	h := fnv.New64a()
	for _, s := range rules {
		for i := range s.lines {
			_, _ = io.WriteString(h, s.lines[i].text) // never fails
		}
	}
	if !n.large && !r.options.allPackets && mutated == nil && h.Sum64()%sampleOne != 0 {
		return nil, nil
	}
	return r.allPackets(n, nil)
}

// packetsMemory is how much memory the packets to one destination may need. With 64 MB some services of large nodes of mode iptables are
// left out, of which nothing but this comparison is held.
const packetsMemory = 256 << 20

func (r *run) allPackets(n *nodeState, beside *forall.Fates) (*forall.Fates, error) {
	fates, err := forall.Of(r.world.Host(n.name), forall.Options{Against: beside, Memory: packetsMemory})
	if err != nil {
		return nil, fmt.Errorf("all packets of %s: %w", n.name, err)
	}
	return fates, nil
}

// asAfterFullSync holds what became of all packets before a proxier started anew, and wrote everything, against what becomes of them now.
// The texts of rules leave open in which order they stand within a chain, and in a large cluster what is out of use may wait.
func (r *run) asAfterFullSync(n *nodeState, before *forall.Fates) error {
	if before == nil {
		return nil
	}
	after, err := r.allPackets(n, before)
	if err != nil || before.Equal(after) {
		return err
	}
	for d := range before.Diff(after) {
		return r.add(Violation{
			Clause: oracle.PartialEqualsFull, Node: n.name, Got: d.Here.String(),
			Want: fmt.Sprintf("what becomes of packets such as %s after a full sync: %s", d.Witness, d.There),
		})
	}
	return nil
}
