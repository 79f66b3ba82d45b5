package ipt

import (
	"bytes"

	"github.com/chainwalk/chainwalk/internal/mark"
	"github.com/chainwalk/chainwalk/proxier/internal/changes"
	"github.com/chainwalk/chainwalk/proxier/internal/model"
)

// partial holds what one partialInput has to write.
type partial struct {
	// dirty are the shared chains whose lines are other ones now.
	dirty [sharedChains]bool
	// chainLines and rules belong to service ports' own chains.
	chainLines, rules []byte
	// held are the endpoints whose chains the kernel holds as they must be.
	held map[hashText]struct{}
	// input and key are scratch memory.
	input, key []byte
}

// partialInput returns the input of iptables-restore --noflush that turns what the
// kernel holds after the last input into what it must hold for the changed
// service ports, and nil if that is the same. The cost is that of the changed
// service ports; only a shared chain whose lines change is written whole. All
// endpoints' rules are taken to follow the Model of the last fullInput, apart from
// nodePorts.
//
// Chains that are out of use are deleted, but in a large cluster only if
// deleteUnused is set; else they wait for a call that does. The result is valid
// until the next call. If the kernel does not take it, fullInput must follow.
func (r *renderer) partialInput(
	gone []changes.ServicePortName, changed []model.Service, nodePorts model.NodePorts, deleteUnused bool,
) []byte {
	p := &r.partial
	p.begin()
	if !nodePorts.Equal(r.node.NodePorts) {
		r.options.Marks.Hit(mark.RenderNodePortsMoved)
		r.rules.nat += len(nodePorts.Addresses) - len(r.node.NodePorts.Addresses)
		r.node.NodePorts = nodePorts
		p.dirty[natServices] = true
	}
	r.service.commented = r.endpointsAfter(gone, changed) <= r.options.LargeCluster
	for i := range gone {
		if old := r.book.remove(&gone[i]); old != nil {
			r.options.Marks.Hit(mark.RenderPortGone)
			p.compareLines(&sharedLines{}, &old.lines)
			old.chains(r.leftover.add)
			r.count(old, -1)
		}
	}
	for i := range changed {
		r.change(&changed[i])
	}
	var stale []string
	if deleteUnused || !r.large() {
		stale = r.leftover.take()
		r.options.Marks.HitIf(mark.RenderUnusedDeleted, len(stale) > 0)
	} else {
		r.options.Marks.HitIf(mark.RenderUnusedKept, len(r.leftover) > 0)
	}
	return r.assemble(stale)
}

func (p *partial) begin() {
	p.dirty = [sharedChains]bool{}
	p.chainLines, p.rules = p.chainLines[:0], p.rules[:0]
	if p.held == nil {
		p.held = map[hashText]struct{}{}
	}
}

// endpointsAfter returns the number of endpoints in the cluster once the
// changes are in the book.
func (r *renderer) endpointsAfter(gone []changes.ServicePortName, changed []model.Service) int {
	endpoints := r.totals.Endpoints
	for i := range gone {
		endpoints -= r.book.known(&gone[i])
	}
	for i := range changed {
		endpoints += changed[i].Endpoints.Known - r.book.known(&changed[i].Port.Name)
	}
	return endpoints
}

// compareLines notes the shared chains in which the lines differ.
func (p *partial) compareLines(now, before *sharedLines) {
	for chain := range sharedChains {
		if !bytes.Equal(now.in(chain), before.in(chain)) {
			p.dirty[chain] = true
		}
	}
}

// change replaces one service port.
func (r *renderer) change(service *model.Service) {
	p, t := &r.partial, &r.service
	hashes := make([]hashText, 0, 1+len(service.Endpoints.Reachable))
	hashes, p.key = appendHashes(hashes, p.key, service)
	t.set(service, hashes)
	now := &entry{}
	t.describe(now, make([]byte, 0, linesPerService))
	old := r.book.put(now)
	if old == nil {
		old = &entry{}
	}
	p.compareLines(&now.lines, &old.lines)
	r.hold(now, old)

	p.chainLines = t.appendPolicyChainLines(p.chainLines)
	start := len(p.rules)
	p.rules = t.appendPolicyChains(p.rules)
	now.rules = count(p.rules[start:]) + rulesPerEndpoint*len(now.endpoints)
	for i := range t.endpoints {
		if _, ok := p.held[t.endpoints[i].hash]; !ok {
			r.options.Marks.HitIf(mark.RenderUsedAgain, r.leftover.has(endpointPrefix, t.endpoints[i].hash))
			p.chainLines = appendHashedChainLine(p.chainLines, endpointPrefix, t.endpoints[i].hash)
			p.rules = t.appendEndpointChain(p.rules, &t.endpoints[i])
		} else {
			r.options.Marks.Hit(mark.RenderEndpointHeld)
		}
	}
	old.chains(r.leftover.add)
	now.chains(r.leftover.remove)
	r.count(old, -1)
	r.count(now, 1)
}

// rulesPerEndpoint is the number of rules in each endpoint's chain.
const rulesPerEndpoint = 2

// hold notes the endpoints' chains that need not be written again.
func (r *renderer) hold(now, old *entry) {
	p := &r.partial
	clear(p.held)
	if now.style != old.style {
		r.options.Marks.HitIf(mark.RenderEndpointRestyled, len(old.endpoints) > 0)
		return
	}
	for _, hash := range old.endpoints {
		p.held[hash] = struct{}{}
	}
}

// assemble puts the input together, or returns nil where nothing is to do.
func (r *renderer) assemble(stale []string) []byte {
	p := &r.partial
	dst := p.input[:0]
	r.hitMarks()
	if p.anyDirty(filterServices, filterNodePorts) {
		dst = append(dst, "*filter\n"...)
		dst = r.appendDirtyChainLines(dst, filterServices, filterNodePorts)
		dst = r.appendDirtyLines(dst, filterServices, filterNodePorts)
		dst = append(dst, "COMMIT\n"...)
	}
	if len(p.chainLines) > 0 || len(stale) > 0 || p.anyDirty(natServices, natNodePorts) {
		dst = append(dst, "*nat\n"...)
		dst = r.appendDirtyChainLines(dst, natServices, natNodePorts)
		dst = append(dst, p.chainLines...)
		dst = appendChainLines(dst, stale...)
		dst = r.appendDirtyLines(dst, natServices, natNodePorts)
		dst = append(dst, p.rules...)
		dst = appendDeletions(dst, stale)
		if p.dirty[natServices] {
			dst = appendNodePortJumps(dst, r.node.NodePorts)
		}
		dst = append(dst, "COMMIT\n"...)
	}
	p.input = dst
	if len(dst) == 0 {
		r.options.Marks.Hit(mark.RenderNothing)
		return nil
	}
	return dst
}

func (r *renderer) hitMarks() {
	p := &r.partial
	shared := p.anyDirty(filterServices, natNodePorts)
	r.options.Marks.HitIf(mark.RenderSharedChain, shared)
	r.options.Marks.HitIf(mark.RenderOwnChainsOnly, !shared && len(p.chainLines) > 0)
}

func (p *partial) anyDirty(first, last sharedChain) bool {
	for chain := first; chain <= last; chain++ {
		if p.dirty[chain] {
			return true
		}
	}
	return false
}

func (r *renderer) appendDirtyChainLines(dst []byte, first, last sharedChain) []byte {
	for chain := first; chain <= last; chain++ {
		if r.partial.dirty[chain] {
			dst = appendChainLines(dst, chain.name())
		}
	}
	return dst
}

// appendDirtyLines writes the lines of all service ports in each dirty chain.
func (r *renderer) appendDirtyLines(dst []byte, first, last sharedChain) []byte {
	for chain := first; chain <= last; chain++ {
		if !r.partial.dirty[chain] {
			continue
		}
		for _, e := range r.book.entries {
			dst = append(dst, e.lines.in(chain)...)
		}
	}
	return dst
}
